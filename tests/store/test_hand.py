"""What the writing thread takes together."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from roomful.store import hand
from roomful.store.hand import ThreadHand


class Batches:
    """Everything that was taken, and a way to wait for the next batch."""

    def __init__(self) -> None:
        self.taken: list[list[str]] = []
        self._loop = asyncio.get_running_loop()
        self._came = asyncio.Event()

    def work(self, batch: list[str]) -> None:
        self.taken.append(batch)
        self._loop.call_soon_threadsafe(self._came.set)

    async def next(self) -> None:
        async with asyncio.timeout(10):
            await self._came.wait()
        self._came.clear()


def handing(story: Callable[[ThreadHand[str], Batches], Awaitable[None]]) -> list[list[str]]:
    async def main() -> list[list[str]]:
        batches, threaded = Batches(), ThreadHand[str]()
        threaded.start(batches.work)
        await story(threaded, batches)
        await threaded.close()
        return batches.taken

    return asyncio.run(main())


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """So long that a test which waited for it would fail."""
    monkeypatch.setattr(hand, "GATHER_SECONDS", 100.0)


def test_what_is_given_in_one_turn_of_the_event_loop_is_taken_together() -> None:
    async def story(threaded: ThreadHand[str], batches: Batches) -> None:
        for item in "abc":
            threaded.give(item)
        await batches.next()

    assert handing(story) == [["a", "b", "c"]]


def test_after_several_at_once_more_are_waited_for_and_at_the_end_nothing_is() -> None:
    async def story(threaded: ThreadHand[str], batches: Batches) -> None:
        threaded.give("a")
        threaded.give("b")
        await batches.next()
        for item in "cde":
            threaded.give(item)
            await asyncio.sleep(0.01)

    assert handing(story) == [["a", "b"], ["c", "d", "e"]]


def test_what_comes_alone_is_taken_at_once() -> None:
    async def story(threaded: ThreadHand[str], batches: Batches) -> None:
        for item in "abc":
            threaded.give(item)
            await batches.next()

    assert handing(story) == [["a"], ["b"], ["c"]]


def test_a_batch_has_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hand, "MOST_IN_A_BATCH", 2)
    monkeypatch.setattr(hand, "GATHER_SECONDS", 0.0)

    async def story(threaded: ThreadHand[str], batches: Batches) -> None:
        for item in "abcde":
            threaded.give(item)
        await batches.next()

    assert handing(story) == [["a", "b"], ["c", "d"], ["e"]]
