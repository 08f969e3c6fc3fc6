"""How many bytes of blobs are in hand at once, for all and for one caller; whoever comes later waits."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from roomful.domain.errors import Unavailable

FOR_ALL = 256 * 1024 * 1024
FOR_ONE = 64 * 1024 * 1024
WAIT_SECONDS = 20.0


class Transfers:
    def __init__(
        self, for_all: int = FOR_ALL, for_one: int = FOR_ONE, wait_seconds: float = WAIT_SECONDS
    ) -> None:
        self._for_all = for_all
        self._for_one = for_one
        self._wait_seconds = wait_seconds
        self._held: dict[str, int] = {}
        self._freed = asyncio.Event()

    @asynccontextmanager
    async def room_for(self, caller: str, size: int) -> AsyncGenerator[None]:
        """Raises Unavailable."""
        try:
            async with asyncio.timeout(self._wait_seconds):
                while not self._fits(caller, size):
                    self._freed.clear()
                    await self._freed.wait()
        except TimeoutError:
            raise Unavailable("too many files are on their way already: try again in a moment") from None
        self._held[caller] = self._held.get(caller, 0) + size
        try:
            yield
        finally:
            self._held[caller] -= size
            if not self._held[caller]:
                del self._held[caller]
            self._freed.set()

    def _fits(self, caller: str, size: int) -> bool:
        mine = self._held.get(caller, 0)
        return mine + size <= self._for_one and sum(self._held.values()) + size <= self._for_all
