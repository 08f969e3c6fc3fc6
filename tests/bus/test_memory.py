"""The in-process bus: order, windows, slow readers."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from roomful.bus import channel
from roomful.bus.channel import CROWD, LAG_BYTES, LAG_EVENTS, WINDOW_EVENTS, MemorySubscription
from roomful.bus.memory import FOLLOWED_SECONDS, SWEEP, MemoryBus
from roomful.domain.arguments import Growth
from roomful.domain.events import Announcement, MessageChanged, Position, RunChanged, TextDelta
from roomful.domain.messages import Message
from roomful.domain.ports import Entry
from roomful.domain.runs import Trigger
from roomful.domain.shape import UNSET, Unset
from roomful.domain.wire import Form, frame


class Hands:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.time = 1000.0

    def now(self) -> float:
        return self.time

    def iso(self) -> str:
        return ""


class Hearing:
    """An ear that is told of news and knows no shorter way."""

    def __init__(self, hear: Callable[[Entry | None], bool]) -> None:
        self._hear = hear

    def pass_on(self, word: Entry | None) -> bool:
        return self._hear(word)

    def lane(self, growth: Growth) -> None:
        """None."""


def _bus() -> tuple[MemoryBus, Hands]:
    clock = Hands()
    epochs = iter(f"epoch{number}" for number in range(10_000))
    return MemoryBus(clock, lambda: next(epochs)), clock


def _words(*texts: str) -> list[Announcement]:
    return [Announcement(event=TextDelta(part_id="p", delta=t, offset=0), space_id="s") for t in texts]


def _taken(subscription: MemorySubscription) -> list[str]:
    events = [entry.announcement.event for entry in subscription.take()]
    return [event.delta for event in events if isinstance(event, TextDelta)]


def test_every_reader_hears_everything_in_order_from_its_position() -> None:
    bus, _ = _bus()
    start = bus.position("s")
    bus.publish("s", _words("a", "b"))
    middle = bus.position("s")
    bus.publish("s", _words("c"))
    early, late = bus.subscribe("s", start), bus.subscribe("s", middle)
    assert early is not None
    assert late is not None
    assert _taken(early) == ["a", "b", "c"]
    assert _taken(late) == ["c"]
    bus.publish("s", _words("d"))
    assert _taken(early) == _taken(late) == ["d"]
    assert early.take() == []


def test_unknown_and_trimmed_positions_are_refused() -> None:
    bus, _ = _bus()
    start = bus.position("s")
    assert bus.subscribe("s", Position("another", 0)) is None
    assert bus.subscribe("s", Position(start.epoch, 1)) is None
    bus.publish("s", _words(*["x"] * (WINDOW_EVENTS + 1)))
    assert bus.subscribe("s", start) is None
    assert bus.subscribe("s", Position(start.epoch, 1)) is not None


def test_a_reader_that_is_too_many_events_behind_is_cut_and_others_are_not() -> None:
    bus, _ = _bus()
    slow, quick = bus.subscribe("s", bus.position("s")), bus.subscribe("s", bus.position("s"))
    assert slow is not None
    assert quick is not None
    cuts: list[str] = []
    slow.on_cut = lambda: cuts.append("slow")
    for _ in range(LAG_EVENTS + 1):
        bus.publish("s", _words("x"))
        quick.take()
    assert slow.cut == "slow"
    assert cuts == ["slow"]
    assert quick.cut is None


def test_a_reader_that_is_too_many_bytes_behind_is_cut() -> None:
    bus, _ = _bus()
    slow = bus.subscribe("s", bus.position("s"))
    assert slow is not None
    bus.publish("s", _words("x" * (LAG_BYTES // 2)))
    assert slow.cut is None
    bus.publish("s", _words("x" * (LAG_BYTES // 2)))
    assert slow.cut == "slow"


def test_a_cut_reader_can_resume_by_its_position() -> None:
    bus, _ = _bus()
    reader = bus.subscribe("s", bus.position("s"))
    assert reader is not None
    bus.publish("s", _words("first"))
    [entry] = reader.take()
    bus.publish("s", _words(*["x"] * (LAG_EVENTS + 1)))
    assert reader.cut == "slow"
    again = bus.subscribe("s", Position(bus.position("s").epoch, entry.offset))
    assert again is not None
    assert len(again.take()) == LAG_EVENTS + 1


def test_a_relay_carries_everything_on_to_another_channel() -> None:
    bus, _ = _bus()
    bus.relay("s", "me")
    reader = bus.subscribe("me", bus.position("me"))
    assert reader is not None
    bus.publish("s", _words("a"))
    bus.end_relay("s", "me")
    bus.publish("s", _words("b"))
    assert _taken(reader) == ["a"]


def test_a_channel_that_nobody_follows_any_more_keeps_nothing() -> None:
    bus, clock = _bus()
    start = bus.position("s")
    assert bus.is_followed("s")
    clock.time += FOLLOWED_SECONDS + 1
    bus.publish("s", _words("a"))
    assert not bus.is_followed("s")
    assert bus.subscribe("s", start) is None


def test_channels_that_are_never_published_to_again_are_forgotten() -> None:
    bus, clock = _bus()
    reader = bus.subscribe("kept", bus.position("kept"))
    bus.relay("kept", "me")
    for number in range(SWEEP - 2):
        bus.position(f"run:{number}")
    clock.time += FOLLOWED_SECONDS + 1
    bus.position("one more")
    assert not any(bus.is_followed(f"run:{number}") for number in range(SWEEP))
    assert bus.is_followed("kept")
    assert bus.is_followed("me")
    assert reader is not None
    assert reader.cut is None


def test_waiting_ends_with_news_with_a_cut_and_with_time() -> None:
    async def story() -> None:
        bus, _ = _bus()
        reader = bus.subscribe("s", bus.position("s"))
        assert reader is not None
        assert await reader.wait(0.01) is False
        waiting = asyncio.create_task(reader.wait(30))
        await asyncio.sleep(0)
        bus.publish("s", _words("a"))
        assert await waiting is True
        reader.take()
        waiting = asyncio.create_task(reader.wait(30))
        await asyncio.sleep(0)
        bus.close("draining")
        assert await waiting is True
        assert reader.cut == "draining"

    asyncio.run(story())


def test_a_wait_is_as_long_as_it_says_whatever_was_waited_for_before() -> None:
    async def story() -> None:
        bus, _ = _bus()
        loop = asyncio.get_running_loop()
        reader = bus.subscribe("s", bus.position("s"))
        assert reader is not None
        for seconds in (30.0, 0.02, 0.04):
            waiting = asyncio.create_task(reader.wait(seconds))
            await asyncio.sleep(0)
            bus.publish("s", _words("a"))
            assert await waiting is True
            reader.take()
        for seconds in (0.05, 0.01):
            began = loop.time()
            async with asyncio.timeout(20):
                assert await reader.wait(seconds) is False
            assert loop.time() - began > seconds * 0.9

    asyncio.run(story())


def test_many_waits_set_one_timer_and_a_closed_reader_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        bus, _ = _bus()
        loop = asyncio.get_running_loop()
        timers: list[asyncio.TimerHandle] = []
        call_at = loop.call_at

        def counting(when: float, *more: Any, **named: Any) -> asyncio.TimerHandle:
            timers.append(call_at(when, *more, **named))
            return timers[-1]

        monkeypatch.setattr(loop, "call_at", counting)
        reader = bus.subscribe("s", bus.position("s"))
        assert reader is not None
        for _ in range(100):
            waiting = asyncio.create_task(reader.wait(30))
            await asyncio.sleep(0)
            bus.publish("s", _words("a"))
            assert await waiting is True
            reader.take()
        assert [timer.cancelled() for timer in timers] == [False]
        reader.close()
        assert [timer.cancelled() for timer in timers] == [True]

    asyncio.run(story())


def _crowd(bus: MemoryBus, size: int) -> list[MemorySubscription]:
    found = [bus.subscribe("s", bus.position("s")) for _ in range(size)]
    return [one for one in found if one is not None]


async def _heard(reader: MemorySubscription, most: int) -> list[list[str]]:
    """What it took each time it was woken, until it has so much."""
    heard: list[list[str]] = []
    while sum(map(len, heard)) < most:
        assert await reader.wait(10)
        assert reader.cut is None
        heard.append(_taken(reader))
    return heard


@pytest.mark.parametrize(("size", "wakings"), [(CROWD - 1, 10), (CROWD, 2)])
def test_many_readers_are_told_at_once_then_of_what_came_together(
    monkeypatch: pytest.MonkeyPatch, size: int, wakings: int
) -> None:
    monkeypatch.setattr(channel, "CROWD_SECONDS", 0.01)

    async def story() -> None:
        bus, _ = _bus()
        listening = [asyncio.create_task(_heard(one, 10)) for one in _crowd(bus, size)]
        for number in range(10):
            await asyncio.sleep(0)
            bus.publish("s", _words(str(number)))
            await asyncio.sleep(0)
        for heard in await asyncio.gather(*listening):
            assert len(heard) == wakings
            assert [word for words in heard for word in words] == [str(number) for number in range(10)]

    asyncio.run(story())


def _ended(run_id: str) -> Announcement:
    event = RunChanged(
        space_id="s", run_id=run_id, entity_id="e", status="completed", trigger=Trigger(type="call")
    )
    return Announcement(event=event, space_id="s", run_id=run_id)


@pytest.mark.parametrize(("size", "at_once"), [(1, 1), (CROWD - 1, 1), (CROWD, 0)])
def test_a_few_readers_hear_a_word_before_whoever_said_it_goes_on(size: int, at_once: int) -> None:
    """And of all else, when the turn is over."""

    async def story() -> None:
        bus, _ = _bus()
        readers, told = _crowd(bus, size), [0]
        waiting = [asyncio.create_task(one.wait(10)) for one in readers]
        await asyncio.sleep(0)

        def count(_: Entry | None) -> bool:
            told[0] += 1
            return True

        for one in readers:
            one.ear = Hearing(count)
        bus.publish("s", [_ended("r1")])
        bus.publish("s", [_ended("r2")])
        assert told == [0]
        bus.publish("s", _words("hello"))
        assert told == [at_once * size]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert told == [size]
        for one in readers:
            one.close()
        assert all(await asyncio.gather(*waiting))

    asyncio.run(story())


def test_no_reader_of_a_crowd_is_slow_because_it_was_not_told() -> None:
    async def story() -> None:
        bus, _ = _bus()
        count = 3 * LAG_EVENTS
        listening = [asyncio.create_task(_heard(one, count)) for one in _crowd(bus, CROWD)]
        for number in range(count):
            bus.publish("s", _words(str(number)))
            if number % 100 == 0:
                await asyncio.sleep(0)
        assert [sum(map(len, heard)) for heard in await asyncio.gather(*listening)] == [count] * CROWD

    asyncio.run(story())


def _said_by(run_id: str | None, text: str) -> Announcement:
    return Announcement(event=TextDelta(part_id="p", delta=text, offset=0), space_id="s", run_id=run_id)


def test_a_narrowed_reader_hears_its_runs_those_they_call_and_what_is_of_no_run() -> None:
    bus, _ = _bus()
    narrow, wide = _crowd(bus, 2)
    bus.publish("s", [_said_by("run_2", "before")])
    assert _taken(narrow) == ["before"]
    narrow.narrow(["run_1"])
    called = RunChanged(
        space_id="s", run_id="run_3", entity_id="e", status="running", trigger=Trigger(type="call"),
        root_run_id="run_1",
    )  # fmt: skip
    bus.publish("s", [_said_by("run_1", "ours"), _said_by("run_2", "theirs"), _said_by("run_3", "early")])
    bus.publish("s", [Announcement(event=called, space_id="s", run_id="run_3")])
    bus.publish("s", [_said_by("run_3", "called"), _said_by(None, "everybody")])

    assert _taken(narrow) == ["ours", "called", "everybody"]
    assert _taken(wide) == ["before", "ours", "theirs", "early", "called", "everybody"]


def test_a_narrowed_reader_hears_of_its_messages_and_of_no_others() -> None:
    bus, _ = _bus()
    narrow, wide = _crowd(bus, 2)
    narrow.narrow(["run_1"], ["m1"])
    written = [_written("m1"), _written("m2"), _written("m3", "run_1"), _written("m4", "run_2")]
    bus.publish("s", [Announcement(event=event, space_id="s") for event in written])

    def ids(reader: MemorySubscription) -> list[str]:
        events = [entry.announcement.event for entry in reader.take()]
        return [event.message.id for event in events if isinstance(event, MessageChanged)]

    assert (ids(narrow), ids(wide)) == (["m1", "m3"], ["m1", "m2", "m3", "m4"])


def _written(id: str, run_id: str | Unset = UNSET) -> MessageChanged:
    message = Message(
        id=id, space_id="s", entity_id="e", seq=1, status="final", role="user", parts=[], created_at="",
        updated_at="", run_id=run_id,
    )  # fmt: skip
    return MessageChanged(space_id="s", message=message)


def test_a_narrowed_reader_who_waits_is_told_a_word_and_need_not_take_it() -> None:
    async def story() -> None:
        bus, _ = _bus()
        [narrow] = _crowd(bus, 1)
        narrow.narrow(["run_1"])
        told: list[str] = []
        is_clear = True

        def hear(word: Entry | None) -> bool:
            if is_clear:
                told.append(_said(word) if word is not None else f"took {_taken(narrow)}")
            return is_clear

        narrow.ear = Hearing(hear)
        waiting = asyncio.create_task(narrow.wait(10))
        await asyncio.sleep(0)
        bus.publish("s", [_said_by("run_1", "one")])
        assert (told, narrow.take()) == (["one"], [])
        bus.publish("s", [Announcement(event=_ended("r1").event, space_id="s", run_id="run_1")])
        bus.publish("s", [_said_by("run_1", "two")])
        assert told == ["one", "took ['two']"], "with what was before it"
        is_clear = False
        bus.publish("s", [_said_by("run_1", "three")])
        assert await waiting
        bus.publish("s", [_said_by("run_1", "four")])
        assert _taken(narrow) == ["three", "four"]
        late = bus.subscribe("s", Position("epoch0", 0))
        assert late is not None
        assert _taken(late) == ["one", "two", "three", "four"]

    asyncio.run(story())


def _said(entry: Entry) -> str:
    event = entry.announcement.event
    return event.delta if isinstance(event, TextDelta) else ""


def test_what_was_made_of_a_word_is_kept_for_others_if_there_are_any() -> None:
    bus, _ = _bus()
    narrow, wide = _crowd(bus, 2)
    narrow.narrow(["run_1"])
    for_both, for_one = _said_by("run_1", "two read it"), _said_by("run_1", "one does")
    bus.publish("s", [for_both])
    wide.close()
    bus.publish("s", [for_one])
    first = frame(for_both, Form.PLAIN)
    assert frame(for_both, Form.PLAIN) is first
    assert for_one.encoded is None
    assert frame(for_one, Form.PLAIN) == first.replace(b"two read it", b"one does")


def test_narrowed_readers_who_do_not_read_are_cut_and_nobody_else_is_disturbed() -> None:
    bus, _ = _bus()
    *asleep, awake = _crowd(bus, 4)
    for reader in (*asleep, awake):
        reader.narrow(["run_1"])
    for number in range(LAG_EVENTS + 1):
        bus.publish("s", [_said_by("run_1", str(number))])
        assert _taken(awake) == [str(number)]
    assert [reader.cut for reader in asleep] == ["slow"] * 3


def test_a_narrowed_reader_is_cut_and_forgotten_as_any_other() -> None:
    bus, clock = _bus()
    [narrow] = _crowd(bus, 1)
    narrow.narrow(["run_1"])
    clock.time += FOLLOWED_SECONDS + 1
    bus.publish("s", [_said_by("run_1", "still followed")])
    assert _taken(narrow) == ["still followed"]
    bus.renew(["s"])
    assert narrow.cut == "renewed"
    bus.publish("s", [_said_by("run_1", "nobody")])
    assert not bus.is_followed("s")
