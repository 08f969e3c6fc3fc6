"""A way to a server on which connections break."""

import asyncio
import contextlib
import itertools
import re
import socket
import struct
from collections.abc import Callable, Sequence
from typing import Self, TypeAlias

from tests.servers.loopback import listening_at

Place: TypeAlias = Callable[[bytes], int | None]
"""Of all that the server has said on a connection: where it ends, once that is known."""


def after(pattern: bytes, times: int = 1) -> Place:
    """Behind the `times`-th match."""

    def place(said: bytes) -> int | None:
        match = next(itertools.islice(re.finditer(pattern, said), times - 1, None), None)
        return match.end() if match else None

    return place


class Breaking:
    """Ends each connection after so many bytes of what the server says, or at a place in it; when the list is
    used up, none. `breaks` counts the ends that were made; with `resets` each is a reset."""

    def __init__(self, port: int, cuts: Sequence[int | Place] = (), *, resets: bool = False) -> None:
        self._target = port
        self.cuts = list(cuts)
        self.connections = 0
        self.breaks = 0
        self._resets = resets
        self._listening = contextlib.AsyncExitStack()
        self.url = ""

    async def __aenter__(self) -> Self:
        port = await self._listening.enter_async_context(listening_at(self._accept))
        self.url = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._listening.aclose()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        cut = _place(self.cuts.pop(0)) if self.cuts else None
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        try:
            await self._join(reader, writer, there, back, cut)
        finally:
            back.transport.abort()
            if self._resets:
                _reset(writer)

    async def _join(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        there: asyncio.StreamReader,
        back: asyncio.StreamWriter,
        cut: Place | None,
    ) -> None:
        """Until one side ends, or the cut."""
        ways = [
            asyncio.create_task(self._pass(reader, back, None)),
            asyncio.create_task(self._pass(there, writer, cut)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cut: Place | None
    ) -> None:
        said = b""
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                end = None
                if cut is not None:
                    said += data
                    end = cut(said)
                if end is not None:
                    data = data[: max(0, len(data) - (len(said) - end))]
                writer.write(data)
                await writer.drain()
                if end is not None:
                    self.breaks += 1
                    return


def _place(cut: int | Place) -> Place:
    return cut if callable(cut) else lambda said: cut if len(said) >= cut else None


def _reset(writer: asyncio.StreamWriter) -> None:
    """Closing it now sends RST."""
    sock: socket.socket = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
