"""Those who ask: as light as they can be, for they share a core with the model."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Final, cast

from roomful.bench import wire
from roomful.bench.marks import END, Watch
from roomful.bench.processes import CannotMeasure

ANSWER_SECONDS: Final = 60.0


@dataclass
class Answer:
    status: int = 0
    size: int = 0
    """Bytes of the body, as they came over the wire."""
    deltas: int = 0
    """How often the end of one was seen, which a server may tell several times."""
    body: bytes = b""
    watch: Watch | None = None


class Line(asyncio.Protocol):
    """A connection that is kept from one request to the next."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._transport: asyncio.Transport | None = None
        self._ended: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._ended is not None and not self._ended.done():
            self._ended.set_exception(exc or ConnectionResetError("a server hung up"))

    async def ask(self, request: bytes, *, timed: bool = False, keeps: bool = False) -> Answer:
        """The whole answer. `timed`: with how long each delta took; `keeps`: with its body."""
        loop = asyncio.get_running_loop()
        if self._transport is None:
            await loop.create_connection(lambda: self, "127.0.0.1", self._port)
            assert self._transport is not None
        self._answer = Answer(watch=Watch() if timed else None)
        self._keeps, self._head, self._left, self._tail = keeps, b"", None, b""
        self._ended = loop.create_future()
        self._transport.write(request)
        async with asyncio.timeout(ANSWER_SECONDS):
            await self._ended
        return self._answer

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if not self._answer.status:
            data = self._begin(data)
        answer = self._answer
        answer.size += len(data)
        answer.deltas += data.count(END)
        if answer.watch is not None:
            answer.watch.see(data)
        if self._keeps:
            answer.body += data
        self._tail = (self._tail + data)[-7:]
        if answer.status and self._ended is not None and not self._ended.done() and self._is_over():
            self._ended.set_result(None)

    def _begin(self, data: bytes) -> bytes:
        """What follows the head, once all of that is there."""
        self._head += data
        end = self._head.find(b"\r\n\r\n")
        if end < 0:
            return b""
        head, behind = self._head[:end], self._head[end + 4 :]
        self._answer.status = int(head[9:12])
        self._left = wire.content_length(head)
        return behind

    def _is_over(self) -> bool:
        if self._left is not None:
            return self._answer.size >= self._left
        return self._tail.endswith(b"\r\n" + wire.LAST_CHUNK) or self._tail == wire.LAST_CHUNK


@dataclass
class Load:
    """What came of many requests."""

    seconds: float = 0.0
    runs: int = 0
    sizes: list[int] = field(default_factory=list[int])
    deltas: int = 0
    milliseconds: list[float] = field(default_factory=list[float])


async def ask_often(
    port: int,
    request: bytes,
    *,
    at_once: int,
    most: int,
    seconds: float,
    spread: float = 0.0,
    timed: bool = False,
) -> Load:
    """`at_once` askers, each with its next request as soon as it has its answer; at least one each.

    `spread`: the seconds within which they begin, one after the other.
    """
    load = Load()
    began = time.monotonic()
    left = most

    async def asker(number: int) -> None:
        nonlocal left
        await asyncio.sleep(spread * number / at_once)
        line = Line(port)
        is_first = True
        while left > 0 and (is_first or time.monotonic() - began < seconds):
            left -= 1
            is_first = False
            _count(load, await line.ask(request, timed=timed))
        line.close()

    try:
        async with asyncio.TaskGroup() as group:
            for number in range(at_once):
                group.create_task(asker(number))
    except ExceptionGroup as several:
        raise several.exceptions[0] from None
    load.seconds = time.monotonic() - began
    return load


def _count(load: Load, answer: Answer) -> None:
    if answer.status not in (200, 201) or not answer.deltas:
        raise CannotMeasure(f"a server answered with {answer.status} and {answer.deltas} deltas")
    load.runs += 1
    load.sizes.append(answer.size)
    load.deltas += answer.deltas
    if answer.watch is not None:
        load.milliseconds += answer.watch.milliseconds
