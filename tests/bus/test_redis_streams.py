"""What only the bus on Redis has: a server that goes away, comes back, and is used by others."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from redis import Redis

from roomful.bus import BusMessage, RedisBus, redis_streams
from roomful.domain.errors import Unavailable
from tests.servers.redis import RedisServer, redis_server


def test_two_processes_would_meet_since_a_topic_is_a_stream_of_that_name(redis: RedisServer) -> None:
    one, two = RedisBus(redis.url), RedisBus(redis.url)
    id = one.publish("chat:c", BusMessage("chat:c", {"a": 1}))
    assert two.read("chat:c") == [BusMessage("chat:c", {"a": 1}, id)]
    with Redis.from_url(redis.url) as client:
        assert client.xrange("chat:c") == [(id.encode(), {b"payload": b'{"a":1}'})]
    one.close()
    two.close()


def test_what_another_program_wrote_in_another_form_is_handed_on(redis: RedisServer) -> None:
    bus = RedisBus(redis.url)
    with Redis.from_url(redis.url) as client:
        client.xadd("chat:c", {"payload": '{"a":1}', "id": "f2c1"})
        client.xadd("chat:c", {"payload": "[1]"})
        client.xadd("chat:c", {"payload": "{not json"})
        client.xadd("chat:c", {"other": b"\xff"})
    assert [message.payload for message in bus.read("chat:c")] == [
        {"a": 1},
        {"payload": "[1]"},
        {"payload": "{not json"},
        {"other": "\ufffd"},
    ]
    bus.close()


def test_a_server_that_is_gone_is_unavailable_and_one_that_is_back_is_used_again() -> None:
    with redis_server() as server:
        bus = RedisBus(server.url)
        first = bus.publish("chat:c", BusMessage("chat:c", {"n": 1}))
        server.kill()
        with pytest.raises(Unavailable, match="The bus does not answer"):
            bus.publish("chat:c", BusMessage("chat:c", {"n": 2}))
        with pytest.raises(Unavailable, match="The bus does not answer"):
            bus.read_blocking("chat:c", first, block_ms=60_000)
        server.start()
        second = bus.publish("chat:c", BusMessage("chat:c", {"n": 3}))
        assert bus.read("chat:c", first) == [BusMessage("chat:c", {"n": 3}, second)]
        server.stop()
        server.forget()
        server.start()
        with pytest.raises(ValueError, match="is beyond the end of chat:c"):
            bus.read("chat:c", second)
        bus.close()


def test_who_waits_hears_that_the_server_went_away() -> None:
    with redis_server() as server, ThreadPoolExecutor(1) as pool:
        bus = RedisBus(server.url)
        waiting = pool.submit(bus.read_blocking, "chat:c", None, 100, 60_000)
        with Redis.from_url(server.url) as client:
            while not client.info("clients")["blocked_clients"]:
                pass
        server.kill()
        with pytest.raises(Unavailable):
            waiting.result(10)
        bus.close()


def test_a_server_that_says_nothing_is_given_up_and_nothing_is_sent_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(redis_streams, "ANSWER_SECONDS", 0.2)
    with redis_server() as server:
        bus = RedisBus(server.url)
        first = bus.publish("chat:c", BusMessage("chat:c", {}))
        server.pause()
        try:
            begun = time.monotonic()
            with pytest.raises(Unavailable):
                bus.publish("chat:c", BusMessage("chat:c", {}))
            assert time.monotonic() - begun < 4
        finally:
            server.resume()
        assert len(bus.read("chat:c", first)) <= 1
        bus.close()


def test_a_wrong_address_is_refused_without_repeating_it() -> None:
    with pytest.raises(ValueError, match="has an address like") as caught:
        RedisBus("redis://me:hun/ter2@host:6379/0")
    assert "hun" not in str(caught.value)
    with pytest.raises(ValueError, match="has an address like"):
        RedisBus("http://host")


def test_without_the_package_it_says_which_one_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(ImportError, match=r"pip install 'roomful\[redis\]'"):
        RedisBus("redis://localhost")
