"""Pages that agree with what has been announced here.

Every process that writes numbers its batches of commits and stores the number with each. Here stands, for
this writer and for all others that are heard of, the number of the batch announced last. A page is read
together with all these numbers, and its `at` is taken at the moment when exactly those batches have been
announced that the page reflects. That is when the page arrives, or soon, when some are yet to be announced.
When others were announced while the page was on its way, it was earlier: `at` was noted then. And when there
was no such moment, because two writers were announced in another order than they wrote, the page is read
again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

from roomful.domain.errors import Unavailable

TRIES = 20
"""How often a page is read anew for which there was no moment. The last one may be a moment ahead."""
HEARD_SECONDS = 0.5
"""How long a page waits for what another process wrote and did not tell yet."""

P = TypeVar("P")
T = TypeVar("T")
Numbers: TypeAlias = Mapping[str, int]


class Announced:
    """Lives on the event loop. `at` may be called more than once: it should only look."""

    def __init__(self, writer: str) -> None:
        self.writer = writer
        self.numbers: dict[str, int] = {writer: 0}
        self.hears_others = False
        """Whether others tell what they write. If not, nobody waits for it."""
        self.on_begin: Callable[[int], None] | None = None
        self.on_reached: Callable[[int], None] | None = None
        self._watches: dict[_Watch[Any], None] = {}
        """In the order in which they came: so the order in which they go on is the same every time."""

    def before_next(self, number: int) -> None:
        """This writer's next batch is about to be announced."""
        self.before(self.writer, number, None)
        if self.on_begin is not None:
            self.on_begin(number)

    def after(self, number: int) -> None:
        """All of it has been announced."""
        self.reached(self.writer, number)
        if self.on_reached is not None:
            self.on_reached(number)

    def before(self, writer: str, number: int, space_id: str | None) -> None:
        """Something of a writer's batch is about to be announced in a space; without one, anywhere."""
        for watch in tuple(self._watches):
            if space_id is None or watch.space_id == space_id:
                watch.note(writer, number)

    def reached(self, writer: str, number: int) -> None:
        """All of this batch, and whatever the writer wrote before, has been announced here."""
        self.numbers[writer] = max(number, self.numbers.get(writer, 0))
        for watch in tuple(self._watches):
            watch.look(self.numbers)

    async def exactly(
        self, space_id: str, read: Callable[[], Awaitable[tuple[P, Numbers]]], at: Callable[[], T]
    ) -> tuple[P, T]:
        """`read` answers with a page of the space and the number of each writer's last batch."""
        for last in range(TRIES, -1, -1):
            watch = _Watch(space_id, at)
            began = self.numbers[self.writer]
            self._watches[watch] = None
            try:
                page, read_at = await read()
                wanted = {self.writer: began, **read_at}
                if wanted[self.writer] < began:
                    raise Unavailable(
                        "The database answered with an older state than it had before; try again."
                    )
                await self._told(watch, wanted)
                moment = watch.moment(wanted)
            finally:
                self._watches.pop(watch, None)
            if moment is not None or not last:
                return page, at() if moment is None else moment.result()
        raise AssertionError("unreachable")

    async def _told(self, watch: "_Watch[Any]", wanted: Numbers) -> None:
        """Returns when all that was written is announced; for what others wrote, it waits but a moment."""
        own = {self.writer: wanted[self.writer]}
        await watch.reached(own, self.numbers)
        if self.hears_others and len(wanted) > 1:
            try:
                async with asyncio.timeout(HEARD_SECONDS):
                    await watch.reached(wanted, self.numbers)
            except TimeoutError:
                return


class _Watch(Generic[T]):
    """One page on its way."""

    def __init__(self, space_id: str, at: Callable[[], T]) -> None:
        self.space_id = space_id
        self._at = at
        self._loop = asyncio.get_running_loop()
        self._noted: dict[tuple[str, int], asyncio.Future[T]] = {}
        """For every batch that was announced meanwhile, in this order, what was just before it."""
        self._awaited: tuple[Numbers, asyncio.Future[None]] | None = None

    def note(self, writer: str, number: int) -> None:
        if (writer, number) not in self._noted:
            self._noted[writer, number] = self._taken()

    def look(self, numbers: Numbers) -> None:
        if self._awaited and _covers(numbers, self._awaited[0]) and not self._awaited[1].done():
            self._awaited[1].set_result(None)

    async def reached(self, wanted: Numbers, numbers: Numbers) -> None:
        if not _covers(numbers, wanted):
            self._awaited = (wanted, self._loop.create_future())
            await self._awaited[1]

    def moment(self, wanted: Numbers) -> "asyncio.Future[T] | None":
        """When exactly the wanted batches had been announced; None when there was no such moment."""
        beyond: asyncio.Future[T] | None = None
        for (writer, number), before in self._noted.items():
            is_wanted = number <= wanted.get(writer, -1)
            if is_wanted and beyond is not None:
                return None
            if not is_wanted and beyond is None:
                beyond = before
        return beyond or self._taken()

    def _taken(self) -> "asyncio.Future[T]":
        future: asyncio.Future[T] = self._loop.create_future()
        try:
            future.set_result(self._at())
        except Exception as error:  # noqa: BLE001 - a stranger's function: its own reader hears of it, nobody else
            future.set_exception(error)
            future.exception()  # nobody may ever ask for this one
        return future


def _covers(numbers: Numbers, wanted: Numbers) -> bool:
    return all(numbers.get(writer, 0) >= number for writer, number in wanted.items())
