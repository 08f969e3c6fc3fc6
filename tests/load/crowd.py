"""Many readers in a process of their own, who do nothing but count.

    with Crowd() as crowd:
        crowd.open("all", house.port, [Seat(space_id, token)] * 1000)
        ...
        crowd.wait("all", 20)               # until each of them was told so many more events
        crowd.tally("all")                  # what came since the last tally

Each reader checks that the numbers of its events follow each other. What somebody says with `stamp()` in it
first tells how long its way to a reader took: all processes of a machine share the monotonic clock.
"""

import asyncio
import contextlib
import json
import re
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, cast

import uvloop

from tests.load.measuring import raise_file_limit

AT_ONCE = 50
PATIENCE = 120.0
_IDS = re.compile(rb"(?:\A|\n)id: ([^.\n]+)\.(\d+)\n")
_STAMPS = re.compile(rb'\nevent: (?:text-delta|smartSpace\.message)\ndata: [^\n]*"(?:delta|text)":"@(\d+)@')


def stamp() -> str:
    return f"@{time.monotonic_ns()}@"


class Seat(NamedTuple):
    """Where one reader reads, and after which event; without one it begins with a snapshot."""

    space_id: str
    token: str
    last: str | None = None


@dataclass
class Tally:
    streams: int = 0
    """Open now."""
    events: int = 0
    fewest: int = 0
    most: int = 0
    """Events of the reader who had the fewest, and the most."""
    gaps: int = 0
    """Events whose number did not follow the one before."""
    ends: int = 0
    """Streams that ended by themselves."""
    milliseconds: dict[str, int] = field(default_factory=dict[str, int])
    """How many stamped events took so many tenths of a millisecond."""

    def quantile(self, share: float) -> float:
        """In milliseconds."""
        counts = sorted((int(tenths), count) for tenths, count in self.milliseconds.items())
        left = share * sum(count for _, count in counts)
        for tenths, count in counts:
            left -= count
            if left <= 0:
                return tenths / 10
        return 0.0


class Crowd:
    """The process, as the test sees it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.load.crowd"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.communicate()

    def open(self, group: str, port: int, seats: Iterable[Seat]) -> None:
        """Returns when all of them have been told where they are."""
        self._ask("open", group, port, list(seats))

    def wait(self, group: str, events: int) -> None:
        """Until each has had so many events since it opened."""
        self._ask("wait", group, events)

    def tally(self, group: str) -> Tally:
        return Tally(**self._ask("tally", group))

    def positions(self, group: str) -> list[str]:
        """Where each reader is."""
        return self._ask("positions", group)

    def come_back(self, group: str, count: int) -> None:
        """So many of them hang up and go on behind the last event that they had."""
        self._ask("come_back", group, count)

    def close(self, group: str) -> None:
        self._ask("close", group)

    def _ask(self, *words: Any) -> Any:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the crowd is gone"
        answer = json.loads(line)
        assert "failed" not in answer, answer["failed"]
        return answer["is"]


# What follows runs in the other process.


class _Chunk(NamedTuple):
    """What bytes say; many readers get the same."""

    numbers: list[int]
    epoch: str
    stamps: list[int]


def _read(data: bytes) -> _Chunk:
    ids = _IDS.findall(data)
    epoch = ids[-1][0].decode() if ids else ""
    return _Chunk([int(number) for _, number in ids], epoch, [int(each) for each in _STAMPS.findall(data)])


class _Group:
    def __init__(self) -> None:
        self.readers: list[_Reader] = []
        self.tenths: Counter[int] = Counter()
        self.port = 0
        self.gaps = 0
        self.ends = 0
        self.changed = asyncio.Event()
        self._recent: deque[bytes] = deque()
        self._read: dict[bytes, _Chunk] = {}

    def read(self, data: bytes) -> _Chunk:
        found = self._read.get(data)
        if found is None:
            found = self._read[data] = _read(data)
            self._recent.append(data)
            if len(self._recent) > 64:
                del self._read[self._recent.popleft()]
        return found


class _Reader(asyncio.Protocol):
    """One who may be connected several times, one after the other."""

    def __init__(self, group: _Group) -> None:
        self.events = 0
        self.told = 0
        self.epoch = ""
        self.number: int | None = None
        self._group = group
        self._transport: asyncio.Transport | None = None

    def begin(self, seat: Seat) -> None:
        self.seat = seat
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lost = asyncio.Event()
        self._left = b""
        if seat.last:
            self.epoch, _, number = seat.last.partition(".")
            self.number = int(number)

    async def hang_up(self) -> None:
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
            await self._lost.wait()

    @property
    def position(self) -> str:
        return f"{self.epoch}.{self.number}"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        last = f"Last-Event-ID: {self.seat.last}\r\n" if self.seat.last else ""
        self._transport.write(
            f"GET /api/spaces/{self.seat.space_id}/stream HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {self.seat.token}\r\n{last}\r\n".encode()
        )

    def data_received(self, data: bytes) -> None:
        if self._left:
            data = self._left + data
            self._left = b""
        if not data.endswith(b"\n\n\r\n"):
            end = data.rfind(b"\n\n\r\n") + 4
            self._left = data[end:] if end > 3 else data
            data = data[:end] if end > 3 else b""
        if not self.opened.done():
            self._open(data or self._left)
        if data:
            self._take(self._group.read(data))

    def _open(self, data: bytes) -> None:
        if not data.startswith(b"HTTP/1.1 200"):
            self.opened.set_exception(ConnectionRefusedError(data[:500].decode(errors="replace")))
        elif self.seat.last is not None or b"event: snapshot" in data:
            self.opened.set_result(None)

    def _take(self, chunk: _Chunk) -> None:
        group, now = self._group, time.monotonic_ns()
        for number in chunk.numbers:
            if self.number is None:
                self.epoch, self.number = chunk.epoch, number
                continue
            if number != self.number + 1 or chunk.epoch != self.epoch:
                group.gaps += 1
                self.epoch = chunk.epoch
            self.number = number
            self.events += 1
        for each in chunk.stamps:
            group.tenths[(now - each) // 100_000] += 1
        group.changed.set()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.opened.done():
            self.opened.set_exception(ConnectionResetError("closed before it was told anything"))
        if self._transport is not None:
            self._group.ends += 1
        self._lost.set()


class _Service:
    def __init__(self) -> None:
        self._groups: dict[str, _Group] = {}

    async def open(self, name: str, port: int, seats: list[list[Any]]) -> None:
        group = self._groups.setdefault(name, _Group())
        group.port = port
        for some in _batches(seats):
            group.readers += await asyncio.gather(*[self._sit(group, Seat(*seat)) for seat in some])

    async def come_back(self, name: str, count: int) -> None:
        group = self._groups[name]
        for reader in group.readers[:count]:
            await reader.hang_up()
            await self._sit(group, reader.seat._replace(last=reader.position), reader)

    async def _sit(self, group: _Group, seat: Seat, before: "_Reader | None" = None) -> "_Reader":
        loop = asyncio.get_running_loop()
        reader = before or _Reader(group)
        reader.begin(seat)
        await loop.create_connection(lambda: reader, "127.0.0.1", group.port)
        await reader.opened
        return reader

    async def wait(self, name: str, events: int) -> None:
        group = self._groups[name]
        async with asyncio.timeout(PATIENCE):
            while any(reader.events < events for reader in group.readers):
                group.changed.clear()
                await group.changed.wait()
                await asyncio.sleep(0.01)

    async def tally(self, name: str) -> dict[str, Any]:
        group = self._groups[name]
        counts = [reader.events - reader.told for reader in group.readers]
        for reader in group.readers:
            reader.told = reader.events
        tenths, group.tenths = group.tenths, Counter[int]()
        return {
            "streams": len(group.readers) - group.ends,
            "events": sum(counts),
            "fewest": min(counts, default=0),
            "most": max(counts, default=0),
            "gaps": group.gaps,
            "ends": group.ends,
            "milliseconds": {str(each): count for each, count in tenths.items()},
        }

    async def positions(self, name: str) -> list[str]:
        return [reader.position for reader in self._groups[name].readers]

    async def close(self, name: str) -> None:
        for reader in self._groups.pop(name).readers:
            await reader.hang_up()


def _batches(seats: list[list[Any]]) -> Iterator[list[list[Any]]]:
    for first in range(0, len(seats), AT_ONCE):
        yield seats[first : first + AT_ONCE]


async def _serve() -> None:
    service, loop = _Service(), asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        verb, *words = json.loads(line)
        answer: dict[str, Any]
        try:
            answer = {"is": await getattr(service, verb)(*words)}
        except (OSError, TimeoutError) as error:
            answer = {"failed": f"{verb} {words[0]}: {error!r}"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    raise_file_limit()
    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(_serve())
