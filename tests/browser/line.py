"""A line between a window and the gateway that can be cut: streams break, and requests get nowhere."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from typing import Self

from tests.servers.loopback import listening_at
from tests.servers.roomful import PATIENCE, Roomful, free_port


class Line:
    """`window("ada", "finance", at=line)` goes over it; inside of `with line.cut():` nothing does."""

    def __init__(self, house: Roomful) -> None:
        self._house = house
        self._port = free_port()
        self._is_cut = False
        self._ends: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._is_open = threading.Event()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._is_open.wait(PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(PATIENCE)

    @contextlib.contextmanager
    def cut(self) -> Iterator[None]:
        self._is_cut = True
        self._loop.call_soon_threadsafe(self._break)
        yield
        self._is_cut = False

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        async with listening_at(self._relay, port=self._port):
            self._is_open.set()
            await self._over.wait()
            self._break()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._ends.add(writer)
        with contextlib.suppress(OSError):
            there = await asyncio.open_connection("127.0.0.1", self._house.port)
            self._ends.add(there[1])
            if self._is_cut:
                self._break()
            await asyncio.gather(self._pump(reader, there[1]), self._pump(there[0], writer))
            self._ends.discard(there[1])
        writer.transport.abort()
        self._ends.discard(writer)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Either end's going is the other's: a page that leaves is missed by the gateway at once."""
        with contextlib.suppress(OSError):
            while some := await reader.read(65_536):
                writer.write(some)
                await writer.drain()
        writer.transport.abort() if self._is_cut else writer.close()

    def _break(self) -> None:
        for end in self._ends:
            end.transport.abort()
