"""The straight way to one reader: what goes there is as if it were published, or it does not go there."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from roomful.bus.channel import FRAME_BYTES, WINDOW_EVENTS, MemorySubscription
from roomful.bus.lane import MemoryLane
from roomful.bus.memory import MemoryBus
from roomful.domain.arguments import Arguments, Growth
from roomful.domain.events import Announcement, CallInput, Position
from roomful.domain.ports import Entry, Tell
from roomful.domain.wire import Form, frame, growth_frame
from tests.servers.inhouse import MovableClock

GROWTH = Growth("run_1", "call_1", "/title")


def _word(text: str, run_id: str = "run_1") -> Announcement:
    event = CallInput("call_1", (("append", "/title", text),), Arguments(), (0, len(text)))
    return Announcement(event, "s", run_id)


def _text(entry: Entry) -> str:
    event = entry.announcement.event
    assert isinstance(event, CallInput)
    [(_, _, text)] = event.ops
    return text


class Reader:
    """Follows the channel from its head, waits, and notes what it hears and by which way."""

    def __init__(self, bus: MemoryBus, *run_ids: str, knows_lanes: bool = True) -> None:
        subscription = bus.subscribe("s", bus.position("s"))
        assert subscription is not None
        self.subscription: MemorySubscription = subscription
        if run_ids:
            subscription.narrow(run_ids)
        subscription.ear = self
        self.heard: list[str] = []
        self.is_clear = True
        self.fails = False
        self._knows_lanes = knows_lanes
        self._waiting = asyncio.create_task(subscription.wait(10))

    def pass_on(self, word: Entry | None) -> bool:
        entries = [word] if word is not None else self.subscription.take()
        self.heard += [f"{entry.offset} {_text(entry)}" for entry in entries]
        return True

    def lane(self, growth: Growth) -> Tell | None:
        assert growth == GROWTH
        return self._tell if self._knows_lanes else None

    def _tell(self, offset: int, text: str) -> bool:
        if self.fails:
            raise RuntimeError("a reader that is broken")
        if self.is_clear:
            self.heard.append(f"{offset} {text}, straight")
        return self.is_clear

    async def leave(self) -> None:
        self.subscription.close()
        await self._waiting


def _bus() -> MemoryBus:
    epochs = iter(f"epoch{number}" for number in range(100))
    return MemoryBus(MovableClock(), lambda: next(epochs))


def _lane(bus: MemoryBus) -> MemoryLane:
    lane = bus.lane("s", GROWTH)
    assert lane is not None
    return lane


def _run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(story)


@pytest.mark.parametrize("narrowed", [(), ("run_1",)], ids=["a space's", "a post's"])
def test_what_goes_straight_is_in_the_log_as_if_it_were_published(narrowed: tuple[str, ...]) -> None:
    async def story() -> None:
        bus = _bus()
        reader = Reader(bus, *narrowed)
        await asyncio.sleep(0)
        lane = _lane(bus)
        for text in ("one", "two"):
            assert lane.say(_word(text), text)
        bus.publish("s", [_word("three")])
        assert lane.say(_word("four"), "four")
        assert reader.heard == ["1 one, straight", "2 two, straight", "3 three", "4 four, straight"]
        assert reader.subscription.take() == []
        late = bus.subscribe("s", Position("epoch0", 1))
        assert late is not None
        told = [(entry.offset, _text(entry), entry.size) for entry in late.take()]
        assert told == [
            (2, "two", FRAME_BYTES + 3),
            (3, "three", FRAME_BYTES + 5),
            (4, "four", FRAME_BYTES + 4),
        ]
        await reader.leave()

    _run(story())


def test_the_log_of_what_goes_straight_is_bounded_too() -> None:
    async def story() -> None:
        bus = _bus()
        reader = Reader(bus)
        await asyncio.sleep(0)
        lane = _lane(bus)
        for _ in range(WINDOW_EVENTS + 10):
            assert lane.say(_word("x"), "x")
        assert bus.subscribe("s", Position("epoch0", 9)) is None
        assert bus.subscribe("s", Position("epoch0", 10)) is not None
        await reader.leave()

    _run(story())


def _another_reader(bus: MemoryBus, _: Reader) -> None:
    bus.subscribe("s", bus.position("s"))


def _another_of_the_run(bus: MemoryBus, _: Reader) -> None:
    another = bus.subscribe("s", bus.position("s"))
    assert another is not None
    another.narrow(["run_1"])


def _relay(bus: MemoryBus, _: Reader) -> None:
    bus.relay("s", "person")


def _full_line(_: MemoryBus, reader: Reader) -> None:
    reader.is_clear = False


def _news_to_take(bus: MemoryBus, reader: Reader) -> None:
    reader.subscription.ear = None
    bus.publish("s", [_word("before")])


def _gone(_: MemoryBus, reader: Reader) -> None:
    reader.subscription.close()


def _anew(bus: MemoryBus, _: Reader) -> None:
    bus.renew(["s"])


@pytest.mark.parametrize("narrowed", [(), ("run_1",)], ids=["a space's", "a post's"])
@pytest.mark.parametrize(
    "change", [_another_reader, _another_of_the_run, _relay, _full_line, _news_to_take, _gone, _anew]
)
def test_nothing_goes_straight_once_there_is_more_to_do(
    change: Callable[[MemoryBus, Reader], None], narrowed: tuple[str, ...]
) -> None:
    async def story() -> None:
        bus = _bus()
        reader = Reader(bus, *narrowed)
        await asyncio.sleep(0)
        lane = _lane(bus)
        assert lane.say(_word("one"), "one")
        change(bus, reader)
        before = bus.position("s")
        assert not lane.say(_word("two"), "two")
        assert bus.position("s") == before
        assert reader.heard == ["1 one, straight"]
        await reader.leave()

    _run(story())


def test_there_is_no_lane_to_nobody_or_several_or_who_knows_none() -> None:
    async def story() -> None:
        bus = _bus()
        assert bus.lane("s", GROWTH) is None
        deaf = Reader(bus, knows_lanes=False)
        assert bus.lane("s", GROWTH) is None
        await deaf.leave()
        first = Reader(bus)
        assert bus.lane("s", GROWTH) is not None
        second = Reader(bus, "run_1")
        assert bus.lane("s", GROWTH) is None
        await first.leave()
        assert bus.lane("s", GROWTH) is not None
        another = Reader(bus, "run_2")
        assert bus.lane("s", GROWTH) is not None, "who reads another run hears nothing of this one"
        for one in (second, another):
            await one.leave()

    _run(story())


def test_a_broken_reader_is_cut_and_the_word_is_published(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        bus = _bus()
        reader = Reader(bus)
        await asyncio.sleep(0)
        lane = _lane(bus)
        reader.fails = True
        with caplog.at_level(logging.CRITICAL, "roomful.bus"):
            assert not lane.say(_word("one"), "one")
        assert reader.subscription.cut == "slow"
        assert bus.position("s").offset == 0
        await reader.leave()

    _run(story())


def test_a_reader_who_hears_straight_needs_no_heartbeat() -> None:
    async def story() -> None:
        bus = _bus()
        reader = Reader(bus)
        await asyncio.sleep(0)
        reader.subscription.until = 0.0
        assert _lane(bus).say(_word("one"), "one")
        assert reader.subscription.until >= asyncio.get_running_loop().time() + 9
        await reader.leave()

    _run(story())


@pytest.mark.parametrize("text", ["a", "Grüße, 東京 🎉", " ", "x" * 1000])
def test_frames_around_a_text_are_those_of_the_event(text: str) -> None:
    around = growth_frame(Growth("run_1", 'call"1', "/a~1b\\"), Form.OPS)
    assert around is not None
    event = CallInput('call"1', (("append", "/a~1b\\", text),), Arguments(), (0, 1))
    told = frame(Announcement(event, "s", "run_1"), Form.OPS)
    assert told.startswith(around[0])
    assert told.endswith(around[1])
    assert told.removeprefix(around[0]).removesuffix(around[1]).decode() == f'"{text}"'


@pytest.mark.parametrize("form", [Form.PLAIN, Form.MANY, Form.OPS | Form.MANY, Form.V1])
def test_other_forms_have_no_such_frames(form: int) -> None:
    assert growth_frame(GROWTH, form) is None


def test_older_names_of_events_make_no_difference_to_words() -> None:
    assert growth_frame(GROWTH, Form.OPS | Form.V1) == growth_frame(GROWTH, Form.OPS)
