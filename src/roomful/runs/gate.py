"""Runs begin one by one, however many come at once: whoever is speaking is heard in between."""

import asyncio
from collections import deque
from collections.abc import Callable

QUICK_SECONDS = 0.0005
"""A turn of the event loop that took no longer had little to do."""
PATIENCE_SECONDS = 0.005


class Gate:
    """Nobody holds it: the next one passes as soon as the event loop has caught up with everything else, and
    when it could not for so long, all the same."""

    def __init__(self, steady: Callable[[], float]) -> None:
        self._steady = steady
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_looking = False
        self._turned_at = 0.0
        self._passed_at = 0.0

    async def passed(self) -> None:
        loop = asyncio.get_running_loop()
        if self._is_looking:
            waiter = loop.create_future()
            self._waiting.append(waiter)
            await waiter
        else:
            self._is_looking = True
            self._turned_at = self._passed_at = self._steady()
            loop.call_soon(self._look)

    def _look(self) -> None:
        """Once a turn, as long as somebody passed in the last one or waits."""
        now = self._steady()
        was_quick = now - self._turned_at <= QUICK_SECONDS
        self._turned_at = now
        while self._waiting and self._waiting[0].done():
            self._waiting.popleft()
        if self._waiting and (was_quick or now - self._passed_at >= PATIENCE_SECONDS):
            self._passed_at = now
            self._waiting.popleft().set_result(None)
        elif not self._waiting and was_quick:
            self._is_looking = False
            return
        asyncio.get_running_loop().call_soon(self._look)
