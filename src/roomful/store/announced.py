"""Pages that agree with what has been announced.

Every batch of commits has a number, stored with it; here stands the number of the batch announced last. A
page is read together with the number of the last batch in it, and its `at` is taken at the moment when
exactly that batch has been announced. That is when the page arrives, or soon, when its batch is yet to be
announced. When others were announced while the page was on its way, it was earlier: `at` was noted then.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from roomful.domain.errors import Unavailable

P = TypeVar("P")
T = TypeVar("T")


class Announced:
    """Lives on the event loop. `at` may be called more than once: it should only look."""

    def __init__(self) -> None:
        self.number = 0
        self._watches: set[_Watch[Any]] = set()

    def before_next(self) -> None:
        """A batch is about to be announced."""
        for watch in tuple(self._watches):
            watch.note(self.number)

    def reached(self, number: int) -> None:
        """All of this batch has been announced."""
        self.number = number
        for watch in tuple(self._watches):
            watch.reached(number)

    async def exactly(
        self, read: Callable[[], Awaitable[tuple[P, int | None]]], at: Callable[[], T]
    ) -> tuple[P, T]:
        """`read` answers with a page and the number of its last batch, or None when there never was one."""
        watch = _Watch(at)
        began = self.number
        self._watches.add(watch)
        try:
            page, number = await read()
            return page, await watch.value(began if number is None else number, self.number)
        finally:
            self._watches.discard(watch)


class _Watch(Generic[T]):
    """One page on its way."""

    def __init__(self, at: Callable[[], T]) -> None:
        self._at = at
        self._loop = asyncio.get_running_loop()
        self._noted: dict[int, asyncio.Future[T]] = {}
        self._awaited: tuple[int, asyncio.Future[T]] | None = None

    def note(self, number: int) -> None:
        if self._awaited is None:
            self._noted[number] = self._taken(self._loop.create_future())

    def reached(self, number: int) -> None:
        if self._awaited and self._awaited[0] <= number and not self._awaited[1].done():
            self._taken(self._awaited[1])

    async def value(self, number: int, announced: int) -> T:
        if number == announced:
            return self._at()
        if number < announced:
            if number not in self._noted:
                raise Unavailable("The database answered with an older state than it had before; try again.")
            return self._noted[number].result()
        future: asyncio.Future[T] = self._loop.create_future()
        self._awaited = (number, future)
        return await future

    def _taken(self, future: asyncio.Future[T]) -> asyncio.Future[T]:
        try:
            future.set_result(self._at())
        except Exception as error:  # noqa: BLE001 - a stranger's function: its own reader hears of it, nobody else
            future.set_exception(error)
            future.exception()  # nobody may ever ask for this one
        return future
