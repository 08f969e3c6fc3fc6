"""The contract of a Bus, on both of them."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from roomful.bus import Bus, BusMessage, InMemoryBus, chat_topic, in_memory, stream_topic
from roomful.bus.topics import LARGEST, START
from tests.requirements import requirement

MakeBus = Callable[[int], Bus]
FAR = "18446744073709551615-0"


def put(bus: Bus, *texts: str, topic: str = "chat:c") -> list[str]:
    return [bus.publish(topic, BusMessage(topic, {"text": text})) for text in texts]


def texts(messages: list[BusMessage]) -> list[str]:
    return [message.payload["text"] for message in messages]


@requirement("B-02")
def test_what_is_published_is_read_with_the_id_that_publish_answered(bus: Bus) -> None:
    payload: dict[str, Any] = {"text": "häj ✓ \x00", "n": [1, 2.5, None, True, {"a": {}}]}
    id = bus.publish("chat:c", BusMessage(topic="chat:c", payload=payload))
    assert bus.read("chat:c") == [BusMessage(topic="chat:c", payload=payload, id=id)]


@requirement("B-02")
def test_without_a_cursor_the_last_ones_are_read_oldest_first(bus: Bus) -> None:
    put(bus, "a", "b", "c")
    assert texts(bus.read("chat:c", limit=2)) == ["b", "c"]
    assert texts(bus.read("chat:c")) == ["a", "b", "c"]


@requirement("B-02")
def test_after_a_cursor_the_first_ones_are_read_until_there_are_no_more(bus: Bus) -> None:
    put(bus, *"abcde")
    seen, last_id = [], START
    while page := bus.read("chat:c", last_id, limit=2):
        seen.append(texts(page))
        last_id = page[-1].id
    assert seen == [["a", "b"], ["c", "d"], ["e"]]


def test_topics_do_not_mix(bus: Bus) -> None:
    put(bus, "one", topic="chat:c")
    put(bus, "two", topic="stream:c")
    assert texts(bus.read("chat:c")) == ["one"]
    assert bus.read("chat:other") == []


@requirement("B-09")
def test_topics_are_named_after_conversations_and_agents() -> None:
    assert (chat_topic("conv1"), chat_topic("DevAgent")) == ("chat:conv1", "chat:DevAgent")
    assert stream_topic("conv1") == "stream:conv1"


@pytest.mark.parametrize(
    "cursor", ["", "abc", "1", "-", "$", "+", "1-", "1-2-3", "-1-0", "\u0661-0", f"{2**64}-0", "1-x"]
)
def test_a_malformed_cursor_is_refused(bus: Bus, cursor: str) -> None:
    put(bus, "a")
    with pytest.raises(ValueError, match="is not the id of a message"):
        bus.read("chat:c", cursor)


def test_a_cursor_that_was_trimmed_is_refused_and_a_kept_one_is_not(make_bus: MakeBus) -> None:
    bus = make_bus(3)
    ids = put(bus, *"abcdefgh")
    assert texts(bus.read("chat:c", ids[5])) == ["g", "h"]
    with pytest.raises(ValueError, match=f"{ids[4]} is no longer kept on chat:c"):
        bus.read("chat:c", ids[4])
    assert texts(bus.read("chat:c", START)) == ["f", "g", "h"]


def test_a_cursor_beyond_the_end_is_refused(bus: Bus) -> None:
    [id] = put(bus, "a")
    assert bus.read("chat:c", id) == []
    for topic in ("chat:c", "chat:nothing"):
        with pytest.raises(ValueError, match=f"{FAR} is beyond the end of {topic}"):
            bus.read(topic, FAR)


def test_a_cursor_between_messages_is_refused(make_bus: MakeBus) -> None:
    bus = make_bus(100_000)
    [id] = put(bus, "a")
    millisecond = id.partition("-")[0]
    while put(bus, "more")[0].startswith(f"{millisecond}-"):
        pass
    between = f"{millisecond}-999999"
    with pytest.raises(ValueError, match=f"{between} is the id of no message on chat:c"):
        bus.read("chat:c", between)


def test_a_wait_ends_at_once_when_there_is_something(bus: Bus) -> None:
    [id] = put(bus, "a")
    put(bus, "b")
    assert texts(bus.read_blocking("chat:c", id, block_ms=60_000)) == ["b"]
    assert texts(bus.read_blocking("chat:c", limit=1, block_ms=60_000)) == ["b"]


@requirement("B-02")
def test_who_waits_is_woken_by_what_is_published_on_that_topic(bus: Bus) -> None:
    def play(mine: str, other: str, begins: bool) -> list[str]:
        heard: list[BusMessage] = []
        for turn in range(20):
            if begins or turn:
                put(bus, f"{mine} {turn}", topic=mine)
            [next_one] = bus.read_blocking(other, heard[-1].id if heard else None, limit=1, block_ms=10_000)
            heard.append(next_one)
        if not begins:
            put(bus, "the end", topic=mine)
        return texts(heard)

    with ThreadPoolExecutor(2) as pool:
        ping = pool.submit(play, "chat:ping", "chat:pong", True)
        pong = pool.submit(play, "chat:pong", "chat:ping", False)
        assert pong.result(30) == [f"chat:ping {turn}" for turn in range(20)]
        assert ping.result(30) == [*(f"chat:pong {turn}" for turn in range(1, 20)), "the end"]


def test_a_wait_in_vain_ends_with_nothing(bus: Bus) -> None:
    begun = time.monotonic()
    assert bus.read_blocking("chat:c", block_ms=50) == []
    assert 0.04 <= time.monotonic() - begun < 5


def test_a_wait_refuses_a_bad_cursor_as_a_read_does(bus: Bus) -> None:
    with pytest.raises(ValueError, match="beyond the end"):
        bus.read_blocking("chat:c", FAR, block_ms=60_000)


def test_a_limit_below_one_and_a_negative_wait_are_refused(bus: Bus, make_bus: MakeBus) -> None:
    with pytest.raises(ValueError, match="limit is 0"):
        bus.read("chat:c", limit=0)
    with pytest.raises(ValueError, match="block_ms is -1"):
        bus.read_blocking("chat:c", block_ms=-1)
    with pytest.raises(ValueError, match="max_length is 0"):
        make_bus(0)


def test_a_message_for_another_topic_or_that_is_no_json_or_too_large_is_not_published(bus: Bus) -> None:
    for topic, payload, words in (
        ("chat:other", {}, "The message is for 'chat:other'"),
        ("chat:c", {"x": object()}, "cannot be written as JSON"),
        ("chat:c", {"x": "\ud800"}, "cannot be written as JSON"),
        ("chat:c", {"x": "y" * LARGEST}, f"{LARGEST} are allowed"),
    ):
        with pytest.raises(ValueError, match=words):
            bus.publish("chat:c", BusMessage(topic, payload))
    with pytest.raises(ValueError, match="A topic has a name"):
        bus.publish("", BusMessage("", {}))
    assert bus.read("chat:c") == []


def test_what_is_changed_after_publishing_or_reading_changes_nothing_on_the_bus(bus: Bus) -> None:
    payload = {"text": "as it was"}
    bus.publish("chat:c", BusMessage("chat:c", payload))
    payload["text"] = "changed"
    bus.read("chat:c")[0].payload["text"] = "changed"
    assert texts(bus.read("chat:c")) == ["as it was"]


@requirement("B-02")
def test_threads_share_a_bus_and_every_reader_sees_one_order(bus: Bus) -> None:
    def write(name: str) -> None:
        for number in range(25):
            put(bus, f"{name}{number}")

    def follow() -> list[str]:
        seen: list[BusMessage] = []
        while len(seen) < 100 and (
            page := bus.read_blocking("chat:c", seen[-1].id if seen else START, limit=7, block_ms=10_000)
        ):
            seen += page
        return texts(seen)

    with ThreadPoolExecutor(6) as pool:
        readers = [pool.submit(follow) for _ in range(2)]
        for name in "abcd":
            pool.submit(write, name)
        one, two = (reader.result(30) for reader in readers)
    assert one == two
    for name in "abcd":
        assert [text for text in one if text[0] == name] == [f"{name}{number}" for number in range(25)]


def test_the_memory_forgets_the_topic_that_was_silent_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_memory, "MOST_TOPICS", 2)
    bus = InMemoryBus()
    for topic in ("chat:a", "chat:b", "chat:a", "chat:c"):
        put(bus, "x", topic=topic)
    assert [len(bus.read(topic)) for topic in ("chat:a", "chat:b", "chat:c")] == [2, 0, 1]


def test_ids_in_memory_grow_when_the_clock_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([5_000_000, 4_000_000, 4_000_000, 9_000_000])
    monkeypatch.setattr(in_memory.time, "time_ns", lambda: next(times))
    assert put(InMemoryBus(), *"abcd") == ["5-0", "5-1", "5-2", "9-0"]
