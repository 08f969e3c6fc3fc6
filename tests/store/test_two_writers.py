"""Two processes write to one database, and each hears of the other's writing a little later: what a page
holds is exactly what its own process has announced by then."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable

from roomful.domain.changes import AddMessage, SaveMessage
from roomful.domain.messages import Message, ToolCallPart
from roomful.domain.ports import Store
from roomful.store import open_store
from tests.store.things import HandClock, message, settle_in


class Process:
    """One who writes, announces what it wrote, and hears the other one, in order and late."""

    def __init__(self, store: Store, rng: random.Random) -> None:
        self.store = store
        self.announced: list[str] = []
        self._rng = rng
        self._batch: list[str] = []
        self._post: asyncio.Queue[tuple[int, list[str]]] = asyncio.Queue()
        self.hears: Process | None = None
        store.moments.hears_others = True
        store.moments.on_reached = self._reached

    def _reached(self, number: int) -> None:
        batch, self._batch = self._batch, []
        self._post.put_nowait((number, batch))

    def announce(self, id: str) -> None:
        self.announced.append(id)
        self._batch.append(id)

    async def hear(self) -> None:
        """What the other one announced; some batches are of other spaces and say nothing here."""
        assert self.hears is not None
        other, moments = self.hears, self.store.moments
        while True:
            number, batch = await other._post.get()
            await asyncio.sleep(self._rng.random() * 0.004)
            if batch:
                moments.before(other.store.moments.writer, number, "s")
                self.announced += batch
            moments.reached(other.store.moments.writer, number)


async def _together(url: str, work: Callable[[Process, Process], AsyncIterator[None]]) -> None:
    clock, rng = HandClock(), random.Random(3)
    stores = [await open_store(url, clock) for _ in range(2)]
    one, two = (Process(store, rng) for store in stores)
    one.hears, two.hears = two, one
    hearing = [asyncio.ensure_future(process.hear()) for process in (one, two)]
    try:
        async for _ in work(one, two):
            pass
    finally:
        for task in hearing:
            task.cancel()
        for store in stores:
            await store.close()


async def test_a_page_holds_exactly_what_this_process_has_announced(postgres_url: str) -> None:
    async def work(one: Process, two: Process) -> AsyncIterator[None]:
        await settle_in(one.store)
        producing = True

        async def produce(process: Process, name: str) -> None:
            for number in range(40):
                id = f"m-{name}-{number}"
                added = AddMessage(message(id, "a word"))
                await process.store.commit([added], lambda _, id=id: process.announce(id))
                await asyncio.sleep(random.random() * 0.01)

        async def read(process: Process) -> int:
            pages = 0
            while producing:
                rows, _, _, heard = await process.store.history("s", limit=1000, at=process.announced.copy)
                assert sorted(row.id for row in rows) == sorted(heard)
                pages += 1
                await asyncio.sleep(0)
            return pages

        readers = [asyncio.ensure_future(read(process)) for process in (one, two, one, two)]
        await asyncio.gather(produce(one, "a"), produce(two, "b"), produce(one, "c"), produce(two, "d"))
        producing = False
        assert min(await asyncio.gather(*readers)) > 10
        yield

    await _together(postgres_url, work)


async def test_what_was_written_and_never_told_delays_a_page_but_a_moment(postgres_url: str) -> None:
    """The other process was killed after its commit."""

    async def work(one: Process, two: Process) -> AsyncIterator[None]:
        await settle_in(one.store)
        one.hears = None
        two.store.moments.on_reached = None
        await two.store.commit([AddMessage(message("m", "a word"))])
        rows, _, _, _ = await one.store.history("s", at=lambda: None)
        assert [row.id for row in rows] == ["m"]
        numbers = await one.store.writers()
        writer = two.store.moments.writer
        assert one.store.moments.numbers.get(writer, 0) < numbers[writer]
        yield

    await _together(postgres_url, work)


async def test_an_answer_that_another_process_stored_is_kept_and_told_to_the_writer(store: Store) -> None:
    await settle_in(store)
    open_card = _message(ToolCallPart(id="p", tool_call_id="c", tool_name="ask", status="waiting"))
    answered = _message(
        ToolCallPart(
            id="p", tool_call_id="c", tool_name="ask", status="complete", result=1, answered_at="2026-01-01"
        )
    )
    await store.commit([AddMessage(open_card)])

    [before] = await store.commit([SaveMessage(open_card)])
    await store.commit([SaveMessage(answered)])
    [after] = await store.commit([SaveMessage(open_card)])
    [again] = await store.commit([SaveMessage(answered)])

    assert (before, again) == ([], [])
    assert after == answered.parts
    stored = await store.message("s", "m")
    assert stored is not None
    assert stored.parts == answered.parts


def _message(part: ToolCallPart) -> Message:
    made = message("m", "")
    made.parts = [part]
    return made
