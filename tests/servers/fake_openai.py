"""A real HTTP server on loopback that answers like an OpenAI-compatible one, word by word as a test says.

    with FakeOpenAI([Answer([*call("showCard", {"a": 1}, size=3), usage(10, 5)])]) as server:
        ...                                 # ask server.base_url; also from another process
        server.requests[0].body             # what was asked

It runs in a thread of its own. Answers are given in order, one per request; a function instead of a list
gets each `Asked` and returns its `Answer`; when none is left the server answers with HTTP 500.

The words for answers are those of `tests.models.openai_answers`; all of them can be had from here.
"""

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeAlias

from tests.models.openai_answers import (
    CUT,
    HANG,
    Answer,
    Hold,
    Pause,
    Piece,
    call,
    chunk,
    comment,
    delta,
    endless,
    error,
    finish,
    hold,
    html,
    interleave,
    pause,
    raw,
    reasoning,
    status,
    text,
    usage,
)
from tests.servers.loopback import listening_at

__all__ = [
    "CUT",
    "HANG",
    "Answer",
    "Asked",
    "FakeOpenAI",
    "call",
    "chunk",
    "comment",
    "delta",
    "endless",
    "error",
    "finish",
    "hold",
    "html",
    "interleave",
    "pause",
    "raw",
    "reasoning",
    "status",
    "text",
    "usage",
]

PATIENCE = 30.0
"""No wait of the server is longer than this many seconds."""


@dataclass
class Asked:
    """A request as the server got it. `gone` is set when the asker left before the answer's end."""

    number: int
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    gone: threading.Event = field(default_factory=threading.Event)
    gone_at: float = 0.0
    """`time.monotonic()` of that."""
    answered: threading.Event = field(default_factory=threading.Event)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body["messages"]


Answers: TypeAlias = Sequence[Answer] | Callable[[Asked], Answer]


class FakeOpenAI:
    """`base_url` is ready to be a model's `baseUrl`. `connections` counts those that were made."""

    def __init__(self, answers: Answers = ()) -> None:
        self.requests: list[Asked] = []
        self.connections = 0
        self._function = answers if callable(answers) else None
        self._answers = [] if callable(answers) else list(answers)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="fake-openai", daemon=True)
        self._holds: dict[str, asyncio.Semaphore] = {}
        self._changed = threading.Condition()
        self._ready = threading.Event()
        self._stopping: asyncio.Event | None = None
        self.port = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def answer(self, *answers: Answer) -> None:
        """Adds to what the coming requests are answered."""
        self._answers.extend(answers)

    def release(self, name: str = "", times: int = 1) -> None:
        """Lets `times` holds of that name go, now or when they are reached."""

        def let_go() -> None:
            for _ in range(times):
                self._hold(name).release()

        self._loop.call_soon_threadsafe(let_go)

    def wait_for_requests(self, count: int, seconds: float = 10.0) -> list[Asked]:
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.requests) >= count, seconds):
                raise TimeoutError(f"{len(self.requests)} of {count} requests came in {seconds:g} s")
            return list(self.requests)

    def start(self) -> Self:
        self._thread.start()
        if not self._ready.wait(PATIENCE):
            raise TimeoutError("the fake model server did not start")
        return self

    def stop(self) -> None:
        stopping = self._stopping
        if stopping is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(stopping.set)
        self._thread.join(PATIENCE)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        self._stopping = asyncio.Event()
        async with listening_at(self._accept) as self.port:
            self._ready.set()
            await self._stopping.wait()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while (asked := await self._read_request(reader)) is not None:
            if not await _Reply(self, asked, reader, writer).send(self._next(asked)):
                break
        writer.transport.abort()

    def _next(self, asked: Asked) -> Answer:
        if self._function is not None:
            return self._function(asked)
        return self._answers.pop(0) if self._answers else status(500, "no answer is left")

    async def _read_request(self, reader: asyncio.StreamReader) -> Asked | None:
        head = await reader.readuntil(b"\r\n\r\n")
        request_line, *lines = head.decode("latin-1").split("\r\n")[:-2]
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if headers.get("transfer-encoding") == "chunked":
            content = await _read_chunked(reader)
        else:
            content = await reader.readexactly(int(headers.get("content-length", "0")))
        body: dict[str, Any] = json.loads(content) if content else {}
        with self._changed:
            asked = Asked(len(self.requests), request_line.split(" ")[1], headers, body)
            self.requests.append(asked)
            self._changed.notify_all()
        return asked

    def _hold(self, name: str) -> asyncio.Semaphore:
        return self._holds.setdefault(name, asyncio.Semaphore(0))

    async def wait_at(self, name: str) -> None:
        await self._hold(name).acquire()


async def _read_chunked(reader: asyncio.StreamReader) -> bytes:
    content = b""
    while size := int(await reader.readline(), 16):
        content += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return content


class _Reply:
    """One answer on one connection."""

    def __init__(
        self, server: FakeOpenAI, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._server = server
        self._asked = asked
        self._writer = writer
        self._left = asyncio.create_task(self._watch(reader))

    async def send(self, answer: Answer) -> bool:
        """True when the connection can be used again."""
        try:
            self._writer.write(_head(answer))
            for piece in answer.steps():
                if not await self._do(piece):
                    return False
            self._writer.write(b"0\r\n\r\n")
            await self._writer.drain()
            self._asked.answered.set()
            return True
        except OSError:
            self._note_gone()
            return False
        finally:
            self._left.cancel()
            await asyncio.gather(self._left, return_exceptions=True)

    async def _do(self, piece: Piece) -> bool:
        if isinstance(piece, bytes):
            self._writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await self._writer.drain()
            await asyncio.sleep(0)
            return not self._left.done()
        if piece == CUT:
            self._writer.close()
            await self._writer.wait_closed()
            return False
        if isinstance(piece, Hold):
            return await self._until_left_or(self._server.wait_at(piece.name))
        if isinstance(piece, Pause):
            return await self._until_left_or(asyncio.sleep(piece.seconds))
        await self._until_left_or(asyncio.sleep(PATIENCE))
        return False

    async def _until_left_or(self, waited: Any) -> bool:
        task = asyncio.ensure_future(waited)
        try:
            await asyncio.wait({task, self._left}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
            return task.done() and not self._left.done()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _watch(self, reader: asyncio.StreamReader) -> None:
        """Ends when the asker leaves; it sends nothing before it has the whole answer."""
        with contextlib.suppress(OSError):
            await reader.read(1)
        self._note_gone()

    def _note_gone(self) -> None:
        if not self._asked.gone.is_set():
            self._asked.gone_at = time.monotonic()
            self._asked.gone.set()


def _head(answer: Answer) -> bytes:
    headers = {"content-type": answer.content_type, "transfer-encoding": "chunked", **answer.headers}
    lines = [f"HTTP/1.1 {answer.status} Said", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")
