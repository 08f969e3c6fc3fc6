"""Many readers of one stream, who only count."""

import asyncio
import re
import time
from collections.abc import Callable
from typing import Final, cast

from roomful.bench.marks import END, Watch
from roomful.bench.processes import CannotMeasure

AT_ONCE: Final = 200
PATIENCE: Final = 60.0
WATCHED: Final = 20
"""So many of them measure how long deltas take; for all of them it would cost too much."""
_POSITION: Final = re.compile(rb"\nid: (\S+)\n")


class Reader(asyncio.Protocol):
    """One who may be connected several times, one after the other."""

    def __init__(self, crowd: "Crowd") -> None:
        self.count = 0
        self.is_open = False
        self.position = ""
        """The id of the event that it began with."""
        self.watch: Watch | None = None
        self._crowd = crowd
        self._begin = b""
        self._tail = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._crowd.request(self))

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None

    def data_received(self, data: bytes) -> None:
        if not self.is_open:
            self._open(data)
        if self._tail:
            data = self._tail + data
        self.count += data.count(self._crowd.sought)
        self._tail = data[-self._crowd.overlap :] if self._crowd.overlap else b""
        if self.watch is not None:
            self.watch.see(data)

    def _open(self, data: bytes) -> None:
        self._begin += data
        if self._crowd.opening in self._begin:
            found = _POSITION.search(self._begin)
            self.position = found[1].decode() if found else ""
            self.is_open, self._begin = True, b""

    def hang_up(self) -> None:
        self._tail = b""
        if self._transport is not None:
            self._transport.abort()
            self._transport = None


class Crowd:
    """Each asks with `request`, is there once it was told `opening`, and counts `sought`."""

    def __init__(
        self, port: int, request: Callable[[Reader], bytes], *, opening: bytes, sought: bytes = END
    ) -> None:
        self.request = request
        self.opening = opening
        self.sought = sought
        self.overlap = len(sought) - 1
        self.readers: list[Reader] = []
        self._port = port

    async def open(self, count: int) -> None:
        self.readers = [Reader(self) for _ in range(count)]
        for reader in self.readers[:: max(1, count // WATCHED)]:
            reader.watch = Watch()
        await self.connect()
        await self._until(lambda: all(reader.is_open for reader in self.readers), "opened")

    async def connect(self) -> None:
        """All of them, some at a time."""
        loop = asyncio.get_running_loop()
        for first in range(0, len(self.readers), AT_ONCE):
            some = self.readers[first : first + AT_ONCE]
            await asyncio.gather(
                *[
                    loop.create_connection(lambda reader=reader: reader, "127.0.0.1", self._port)
                    for reader in some
                ]
            )

    async def wait(self, each: int, seconds: float = PATIENCE) -> None:
        """Until every one has counted so many."""
        await self._until(
            lambda: all(reader.count >= each for reader in self.readers), "was told all", seconds
        )

    def leave(self) -> None:
        for reader in self.readers:
            reader.hang_up()

    @property
    def milliseconds(self) -> list[float]:
        """How long deltas took to those who measure it."""
        return [
            each for reader in self.readers if reader.watch is not None for each in reader.watch.milliseconds
        ]

    async def _until(self, holds: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
        limit = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > limit:
                raise CannotMeasure(
                    f"within {seconds:g} s not every one of {len(self.readers)} readers {what}"
                )
            await asyncio.sleep(0.005)
