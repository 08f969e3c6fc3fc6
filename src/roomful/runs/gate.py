"""Runs that come at once begin some time apart: whoever is speaking is heard in between."""

import asyncio
from collections import deque

FEW = 4
"""As long as fewer runs are under way, the next one begins at once."""
APART_SECONDS = 0.003
"""To begin a run, and later to end it, takes the event loop about as long as fifty words of others do. Those
who began together end together too."""
FOR_EACH_SECONDS = 0.0001
"""How much longer it is for each run that is under way, since each of them may be speaking."""
APART_AT_MOST_SECONDS = 0.01


class Gate:
    """`async with gate:` holds whoever is to begin until it is its turn, and counts it as under way until it
    leaves."""

    def __init__(self) -> None:
        self._under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._shut: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> None:
        if self._is_open:
            self._let_in()
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():  # It was let in at the same moment.
                self._leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    @property
    def _is_open(self) -> bool:
        return self._shut is None or self._under_way < FEW

    def _let_in(self) -> None:
        self._under_way += 1
        if self._shut is not None:
            self._shut.cancel()
        apart = min(APART_SECONDS + FOR_EACH_SECONDS * self._under_way, APART_AT_MOST_SECONDS)
        self._shut = asyncio.get_running_loop().call_later(apart, self._open)

    def _open(self) -> None:
        self._shut = None
        self._let_in_more()

    def _leave(self) -> None:
        self._under_way -= 1
        self._let_in_more()

    def _let_in_more(self) -> None:
        while self._waiting and self._is_open:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                self._let_in()
