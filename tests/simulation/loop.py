"""An event loop without a clock, a socket or a thread: when nothing is ready, it is already the next timer's
time. What takes time in the world takes as long as the seed says.

Whatever runs belongs to the node in whose context it was begun. A node that crashes is never run again: no
`except` and no `finally` of it is.
"""

import asyncio
import contextvars
import heapq
import random
import sys
from asyncio import events
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
MOST_STEPS = 3_000_000


class Node:
    """A machine, or the people outside."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_dead = False

    def context(self) -> contextvars.Context:
        context = contextvars.copy_context()
        context.run(_NODE.set, self)
        return context


_NODE: contextvars.ContextVar[Node | None] = contextvars.ContextVar("node", default=None)


class SimLoop(asyncio.AbstractEventLoop):
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._now = 0.0
        self._ready: deque[tuple[Node | None, asyncio.Handle]] = deque()
        self._timers: list[tuple[float, int, Node | None, asyncio.TimerHandle]] = []
        self._dead: list[tuple[Node | None, asyncio.Handle]] = []
        self._count = 0
        self._is_closed = False
        self._tasks: list[asyncio.Task[Any]] = []
        self.steps = 0
        self.errors: list[str] = []
        """What nobody caught."""

    def lag(self, most: float = 0.02) -> float:
        """How long something takes: mostly little."""
        return self._chance.random() ** 3 * most

    # Time and turns.

    def time(self) -> float:
        return self._now

    def call_soon(
        self, callback: Callable[..., Any], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        context = contextvars.copy_context() if context is None else context
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append((context.get(_NODE), handle))
        return handle

    call_soon_threadsafe = call_soon

    def call_later(
        self,
        delay: float,
        callback: Callable[..., Any],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[..., Any],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        context = contextvars.copy_context() if context is None else context
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._count += 1
        heapq.heappush(self._timers, (when, self._count, context.get(_NODE), handle))
        return handle

    def run(self, main: Coroutine[Any, Any, T], *, until: float) -> T:
        """To the end of `main`, which has to come before that time."""
        before = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(finalizer=self._finalize)
        events._set_running_loop(self)
        try:
            task = self.create_task(main)
            while not task.done():
                self._turn(until)
            return task.result()
        finally:
            events._set_running_loop(None)
            sys.set_asyncgen_hooks(*before)

    def _turn(self, until: float) -> None:
        if not self._ready:
            assert self._timers, "everybody waits, and for nothing"
            self._now = max(self._now, self._timers[0][0])
            assert self._now <= until, f"it is not over at {until:g} s"
        while self._timers and self._timers[0][0] <= self._now:
            _, _, node, handle = heapq.heappop(self._timers)
            if not handle.cancelled():
                self._ready.append((node, handle))
        for _ in range(len(self._ready)):
            node, handle = self._ready.popleft()
            if handle.cancelled():
                continue
            if node is not None and node.is_dead:
                self._dead.append((node, handle))
                continue
            self.steps += 1
            handle._run()
        assert self.steps < MOST_STEPS, "it turns in a circle"

    # Futures, tasks, threads.

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def create_task(
        self, coro: Any, *, name: str | None = None, context: contextvars.Context | None = None
    ) -> "asyncio.Task[Any]":
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        self._tasks.append(task)
        if len(self._tasks) % 1000 == 0:
            self._tasks = [each for each in self._tasks if not each.done()]
        return task

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> "asyncio.Future[T]":
        """Done at once, known after a moment."""
        future: asyncio.Future[T] = self.create_future()
        try:
            known = future.set_result, func(*args)
        except Exception as error:  # noqa: BLE001 - it is the waiting one's
            known = future.set_exception, error
        self.call_later(self.lag(), _unless_done, future, *known)
        return future

    def leftover(self) -> "list[asyncio.Task[Any]]":
        return [task for task in self._tasks if not task.done()]

    def raise_the_dead(self) -> None:
        """What nodes that are alive again had before them when they crashed."""
        self._ready += self._dead
        self._dead = []

    def _finalize(self, agen: AsyncGenerator[Any, Any]) -> None:
        if not self._is_closed:
            self.create_task(agen.aclose())

    # What asyncio asks of a loop besides.

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It is dropped when its time has come."""

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.errors.append(f"{context.get('message')}: {context.get('exception')!r}")

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        self._is_closed = True


def _unless_done(future: "asyncio.Future[Any]", tell: Callable[[Any], None], what: Any) -> None:
    if not future.done():
        tell(what)
