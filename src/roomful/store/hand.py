"""What does a writer's work: a thread of its own, which takes whatever waits at once."""

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

MOST_IN_A_BATCH = 256
GATHER_SECONDS = 0.003
"""The least time between two batches, if several came together in the first: then more are about to come."""

T = TypeVar("T")


class Hand(Protocol[T]):
    """Does work in the order in which it is handed in, a batch at a time. `start` comes first, on the event
    loop, as do `give` and `close`; `work` uses the rest."""

    def start(self, work: Callable[[list[T]], None]) -> None: ...
    def give(self, item: T) -> None: ...
    async def close(self) -> None:
        """Does what is waiting, then ends."""
        ...

    def tell(self, loop: asyncio.AbstractEventLoop, tell: Callable[[], None]) -> None:
        """Has the event loop call this, in the order of the telling. RuntimeError when the loop is closed."""
        ...

    def waiting(self) -> Iterator[T]:
        """Takes everything that is waiting now."""
        ...

    def pause(self, seconds: float) -> bool:
        """Returns after so long; True, and at once, when it is to end."""
        ...


class ThreadHand(Generic[T]):
    """What is given in one turn of the event loop is taken together; until then it disturbs nobody."""

    def __init__(self) -> None:
        self._given: list[T] = []
        self._queue: queue.SimpleQueue[T | None] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._took_at = 0.0
        self._came_together = False
        self._thread: threading.Thread | None = None

    def start(self, work: Callable[[list[T]], None]) -> None:
        self._thread = threading.Thread(target=self._serve, args=(work,), name="roomful-writer", daemon=True)
        self._thread.start()

    def give(self, item: T) -> None:
        if not self._given:
            asyncio.get_running_loop().call_soon(self._hand_over)
        self._given.append(item)

    def _hand_over(self) -> None:
        given, self._given = self._given, []
        for item in given:
            self._queue.put(item)

    async def close(self) -> None:
        if not self._closing.is_set():
            self._hand_over()
            self._closing.set()
            self._queue.put(None)
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)

    def tell(self, loop: asyncio.AbstractEventLoop, tell: Callable[[], None]) -> None:
        loop.call_soon_threadsafe(tell)

    def waiting(self) -> Iterator[T]:
        for _ in range(self._queue.qsize()):
            item = self._queue.get()
            if item is None:
                self._queue.put(None)
            else:
                yield item

    def pause(self, seconds: float) -> bool:
        return self._closing.wait(seconds)

    def _serve(self, work: Callable[[list[T]], None]) -> None:
        while batch := self._take():
            work(batch)

    def _take(self) -> list[T]:
        """What is waiting, at least one; empty at the end."""
        item = self._queue.get()
        if self._came_together:
            self._closing.wait(max(0.0, self._took_at + GATHER_SECONDS - time.monotonic()))
        batch: list[T] = []
        while item is not None:
            batch.append(item)
            if len(batch) == MOST_IN_A_BATCH or self._queue.empty():
                break
            item = self._queue.get()
        else:
            self._queue.put(None)
        self._took_at, self._came_together = time.monotonic(), len(batch) > 1
        return batch
