"""Agents outside, while processes die: nothing accepted is lost or doubled, and nobody waits for the bus."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from redis import Redis

from roomful.bus import RedisBus
from tests.http.outside import Outside, furnish, texts, wait, wait_for_texts
from tests.requirements import requirement
from tests.servers.inhouse import InHouse
from tests.servers.postgres import postgres_server
from tests.servers.redis import RedisServer, redis_server
from tests.servers.roomful import Caller, Roomful

pytestmark = requirement("B-10")

SOON = 1.0
"""Seconds in which a request is answered, whatever the bus does."""


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture
def scout(redis: RedisServer) -> Iterator[Outside]:
    bus = RedisBus(redis.url)
    yield Outside(bus)
    bus.close()


@pytest.fixture
def house(tmp_path: Path, redis: RedisServer) -> Iterator[Roomful]:
    with Roomful(tmp_path, "--bus", redis.url) as house:
        yield house


def say_soon(ada: Caller, text: str) -> None:
    begun = time.monotonic()
    ada.say("room", text)
    assert time.monotonic() - begun < SOON


def test_what_is_said_while_no_gateway_runs_is_read_at_the_next_start(house: Roomful, scout: Outside) -> None:
    ada = furnish(house)
    scout.say("one")
    wait_for_texts(ada, "one")
    house.kill()
    scout.say("two")
    scout.say("three")
    house.start()
    wait_for_texts(ada, "three")

    assert texts(ada) == ["one", "two", "three"]


def test_what_was_read_and_not_acknowledged_is_read_again_and_said_once(
    house: Roomful, scout: Outside, redis: RedisServer
) -> None:
    """The gateway dies between its commit and its acknowledgement, and before its commit: both at once."""
    ada = furnish(house)
    first = scout.say("one")
    wait_for_texts(ada, "one")
    house.kill()
    scout.say("two")
    with Redis.from_url(redis.url) as client:
        [group] = [each["name"] for each in client.xinfo_groups("chat:room")]
        client.xgroup_setid("chat:room", group, "0")
        client.xreadgroup(group, "gateway", {"chat:room": ">"})
        assert client.xpending("chat:room", group)["pending"] == 2
        house.start()
        wait_for_texts(ada, "two")
        wait(lambda: not client.xpending("chat:room", group)["pending"])

    assert texts(ada) == ["one", "two"]
    assert ada.messages("room")[0]["clientMessageId"] == first.id


def test_without_the_bus_people_talk_on_and_letters_come_when_it_is_back(
    house: Roomful, scout: Outside, redis: RedisServer
) -> None:
    ada = furnish(house)
    ada.say("room", "@scout before")
    scout.told()
    redis.kill()
    for number in range(5):
        say_soon(ada, f"@scout {number}")
    redis.start()
    letters = scout.told(6)
    scout.say("I am back")
    wait_for_texts(ada, "I am back")

    assert [letter["content"] for letter in letters] == ["@scout before", *(f"@scout {n}" for n in range(5))]


def test_a_bus_that_says_nothing_delays_nobody(house: Roomful, scout: Outside, redis: RedisServer) -> None:
    ada = furnish(house)
    scout.say("one")
    wait_for_texts(ada, "one")
    redis.pause()
    try:
        for number in range(5):
            say_soon(ada, f"@scout {number}")
    finally:
        redis.resume()
    scout.say("two")
    wait_for_texts(ada, "two")

    assert {letter["content"] for letter in scout.told(5)} == {f"@scout {n}" for n in range(5)}


def test_whoever_follows_the_stream_learns_that_something_is_missing(
    house: Roomful, scout: Outside, redis: RedisServer
) -> None:
    ada = furnish(house)
    ada.say("room", "before")
    scout.read("stream:room")
    cursor = scout.bus.read("stream:room")[-1].id
    redis.kill()
    ada.say("room", "lost")
    wait(lambda: "agents outside have to wait" in house.log.read_text())
    redis.start()
    ada.say("room", "after")
    events = wait(lambda: [event for event in scout.read("stream:room") if event["text"] == "after"])

    assert events
    with pytest.raises(ValueError, match="stream:room"):
        scout.bus.read("stream:room", cursor)


def test_a_bus_that_came_back_empty_is_used_anew(house: Roomful, scout: Outside, redis: RedisServer) -> None:
    ada = furnish(house)
    scout.say("one")
    wait_for_texts(ada, "one")
    redis.kill()
    redis.forget()
    redis.start()
    scout.say("two")
    wait_for_texts(ada, "two")
    ada.say("room", "@scout hello")

    assert texts(ada) == ["one", "two", "@scout hello"]
    assert scout.told()[-1]["content"] == "@scout hello"


@pytest.mark.parametrize("dies", [False, True], ids=["lives", "dies"])
def test_while_the_database_is_away_envelopes_wait_also_for_another_gateway(
    tmp_path: Path, redis: RedisServer, scout: Outside, dies: bool
) -> None:
    with (
        postgres_server() as postgres,
        Roomful(tmp_path, "--bus", redis.url, database=postgres.url) as house,
    ):
        ada = furnish(house)
        scout.say("one")
        wait_for_texts(ada, "one")
        postgres.stop()
        for text in ("two", "three", "four"):
            scout.say(text)
        wait(lambda: "envelopes have to wait" in house.log.read_text())
        if dies:
            house.kill()
        postgres.start()
        if dies:
            house.start()
        wait(lambda: "four" in ada.request("GET", "/api/spaces/room/messages").text)

        assert texts(ada) == ["one", "two", "three", "four"]
        assert scout.bus.read("dlq:room") == []


def test_several_gateways_say_everything_once_and_in_order_also_when_one_dies(
    tmp_path: Path, redis: RedisServer, scout: Outside
) -> None:
    with ExitStack() as servers:
        postgres = servers.enter_context(postgres_server())
        houses: list[Roomful] = []
        for name in ("one", "two", "three"):
            (tmp_path / name).mkdir()
            house = Roomful(tmp_path / name, "--bus", redis.url, database=postgres.url)
            houses.append(servers.enter_context(house))
        ada = furnish(houses[0])
        spoken = [f"number {number}" for number in range(150)]
        for text in spoken[:50]:
            scout.say(text)
        wait(lambda: len(texts(ada)) >= 20)
        for text in spoken[50:100]:
            scout.say(text)
        houses[1].kill()
        for text in spoken[100:]:
            scout.say(text)
        wait_for_texts(ada, spoken[-1])
        assert texts(ada) == spoken

        houses[2].space("hall", "ada", "scout")
        ada.say("hall", "@scout at once")
        scout.say("Who is here?", to="chat:hall", conversation_id="hall")
        wait(lambda: "Who is here?" in texts(ada, "hall"))

        elsewhere = Caller(houses[2], ada.token)
        elsewhere.say("room", "@scout once")
        houses[0].kill()
        scout.say("last")
        wait_for_texts(elsewhere, "last")
        assert [letter["content"] for letter in scout.told(2)] == ["@scout at once", "@scout once"]
        stream = [event["text"] for event in scout.read("stream:room", 100)]
        assert stream.count("@scout once") == 1


def test_in_one_process_agents_share_its_memory(tmp_path: Path) -> None:
    with InHouse(tmp_path) as house:
        ada = furnish(house)
        scout = Outside(house.outside_bus)
        ada.say("room", "@scout hello")
        letter = scout.told()[0]
        scout.say("hello yourself")
        wait_for_texts(ada, "hello yourself")
        scout.publish({"no": "envelope"})

        assert letter["content"] == "@scout hello"
        assert scout.read("dlq:room")[0]["payload"] == {"no": "envelope"}
        assert [event["event"] for event in scout.read("stream:room", 2)] == ["user_message", "user_message"]
