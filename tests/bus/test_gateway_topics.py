"""The gateway's end of the bus: what is received is received again until it is done."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from redis import Redis

from roomful.bus import Bus, BusMessage, InMemoryBus, MemoryTopics, RedisBus, RedisTopics, redis_topics
from roomful.domain.envelopes import Delivery, Topics
from roomful.domain.errors import Invalid, Unavailable
from roomful.domain.shape import Json, encode_json
from tests.servers.redis import RedisServer, redis_server

PATIENCE = 20.0


@pytest.fixture(params=["memory", "redis"])
def tell(request: pytest.FixtureRequest) -> Callable[[Callable[[Topics, Bus], Awaitable[None]]], None]:
    """Runs a story with the gateway's end of a bus and an agent's."""

    def run(story: Callable[[Topics, Bus], Awaitable[None]]) -> None:
        async def on_memory() -> None:
            bus = InMemoryBus()
            topics = MemoryTopics(bus)
            await story(topics, bus)
            await topics.close()

        async def on_redis() -> None:
            server: RedisServer = request.getfixturevalue("redis")
            bus = RedisBus(server.url)
            async with opened(server) as topics:
                await story(topics, bus)
            bus.close()

        asyncio.run(on_memory() if request.param == "memory" else on_redis())

    return run


@asynccontextmanager
async def opened(server: RedisServer) -> AsyncIterator[RedisTopics]:
    topics = RedisTopics(server.url)
    try:
        yield topics
    finally:
        await topics.close()


async def received(topics: Topics, *names: str, count: int = 1) -> list[Delivery]:
    """What comes, once there are so many, whatever happens to the server meanwhile."""
    found: list[Delivery] = []
    async with asyncio.timeout(PATIENCE):
        while len(found) < count:
            try:
                found += await topics.receive(names)
            except Unavailable:
                await asyncio.sleep(0.05)
    return found


def publish(bus: Bus, topic: str, **payload: Json) -> str:
    return bus.publish(topic, BusMessage(topic, payload))


def test_what_was_published_before_and_while_somebody_waits_comes_in_order(
    tell: Callable[[Callable[[Topics, Bus], Awaitable[None]]], None],
) -> None:
    async def story(topics: Topics, bus: Bus) -> None:
        ids = [publish(bus, "chat:a", n=1), publish(bus, "chat:a", n=2)]
        first = await received(topics, "chat:a", "chat:b", count=2)
        for delivery in first:
            await topics.done(delivery)
        waiting = asyncio.create_task(received(topics, "chat:a", "chat:b"))
        await asyncio.sleep(0)
        other = await asyncio.to_thread(publish, bus, "chat:b", n=3)

        assert first == [Delivery("chat:a", ids[0], {"n": 1}), Delivery("chat:a", ids[1], {"n": 2})]
        assert await waiting == [Delivery("chat:b", other, {"n": 3})]

    tell(story)


def test_what_is_not_done_comes_again_and_what_is_done_does_not(
    tell: Callable[[Callable[[Topics, Bus], Awaitable[None]]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_topics, "CLAIM_SECONDS", 0.05)

    async def story(topics: Topics, bus: Bus) -> None:
        publish(bus, "chat:a", n=1)
        publish(bus, "chat:a", n=2)
        one, two = await received(topics, "chat:a", count=2)
        await topics.done(one)
        again = await received(topics, "chat:a")
        await topics.done(two)

        assert again == [two]
        assert await topics.receive(["chat:a"]) == []

    tell(story)


def test_what_is_published_is_read_by_agents_and_a_topic_can_be_forgotten(
    tell: Callable[[Callable[[Topics, Bus], Awaitable[None]]], None],
) -> None:
    async def story(topics: Topics, bus: Bus) -> None:
        await topics.publish([("stream:a", encode_json({"n": n})) for n in range(3)])
        read = bus.read("stream:a")
        await topics.publish([("stream:a", b'{"n":3}')], ["stream:a"])

        assert [message.payload["n"] for message in read] == [0, 1, 2]
        assert [message.payload["n"] for message in bus.read("stream:a")] == [3]
        with pytest.raises(ValueError, match="stream:a"):
            bus.read("stream:a", read[-1].id)

    tell(story)


def test_one_gateway_reads_at_a_time_and_another_goes_on_at_once_when_it_stops(redis: RedisServer) -> None:
    async def story() -> None:
        bus = RedisBus(redis.url)
        async with opened(redis) as second:
            async with opened(redis) as first:
                await first.receive(["chat:a"])
                for n in range(5):
                    publish(bus, "chat:a", n=n)
                assert await second.receive(["chat:a"]) == []
                deliveries = await received(first, "chat:a", count=5)
                for delivery in deliveries[:3]:
                    await first.done(delivery)
            publish(bus, "chat:a", n=5)
            rest = await received(second, "chat:a", count=2)
            for delivery in rest:
                await second.done(delivery)
            rest += await received(second, "chat:a")
        bus.close()
        assert [delivery.payload["n"] for delivery in rest] == [3, 4, 5]

    asyncio.run(story())


def test_what_a_gateway_had_that_was_killed_is_taken_up_by_another(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_topics, "LEASE_SECONDS", 0.2)

    async def story() -> None:
        bus = RedisBus(redis.url)
        dead = RedisTopics(redis.url)
        publish(bus, "chat:a", n=1)
        [had] = await received(dead, "chat:a")
        async with opened(redis) as other:
            assert await received(other, "chat:a") == [had]
        await dead.close()
        bus.close()

    asyncio.run(story())


def test_a_server_that_dies_or_comes_back_empty_is_waited_for() -> None:
    async def story(server: RedisServer) -> None:
        bus = RedisBus(server.url)
        async with opened(server) as topics:
            await topics.receive(["chat:a"])
            waiting = asyncio.create_task(received(topics, "chat:a"))
            await asyncio.sleep(0)
            await asyncio.to_thread(server.kill)
            with pytest.raises(Unavailable):
                await topics.publish([("stream:a", b"{}")])
            server.forget()
            await asyncio.to_thread(server.start)
            publish(bus, "chat:a", n=1)
            [delivery] = await waiting
            await topics.done(delivery)
            with Redis.from_url(server.url) as client:
                client.flushall()
                publish(bus, "chat:a", n=2)
                [after] = await received(topics, "chat:a")
                await topics.done(after)
                client.xgroup_destroy("chat:a", "roomful")
            known = await received(topics, "chat:a")
        bus.close()
        assert (delivery.payload, after.payload) == ({"n": 1}, {"n": 2})
        assert known == [after]

    with redis_server() as server:
        asyncio.run(story(server))


def test_a_topic_that_holds_something_else_stops_no_other(redis: RedisServer) -> None:
    async def story() -> None:
        bus = RedisBus(redis.url)
        with Redis.from_url(redis.url) as client:
            client.set("chat:bad", "x")
            client.set("stream:bad", "x")
            client.xadd("chat:a", {"other": b"\xff"})
        async with opened(redis) as topics:
            [odd] = await received(topics, "chat:bad", "chat:a")
            await topics.publish([("stream:bad", b"{}"), ("stream:a", b"{}")])
            with Redis.from_url(redis.url) as client:
                client.delete("chat:bad")
            publish(bus, "chat:bad", n=1)
            [mended] = await received(topics, "chat:bad", "chat:a")
        assert (odd.payload, mended.payload) == ({"other": "\ufffd"}, {"n": 1})
        assert len(bus.read("stream:a")) == 1
        bus.close()

    asyncio.run(story())


def test_a_wrong_address_is_refused_without_repeating_it() -> None:
    with pytest.raises(Invalid, match="the address is like") as caught:
        RedisTopics("redis://me:hun/ter2@host:6379/0")
    assert "hun" not in str(caught.value)


def test_without_the_package_it_says_which_one_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "redis.asyncio", None)
    with pytest.raises(Invalid, match=r"pip install 'roomful\[redis\]'"):
        RedisTopics("redis://localhost")
