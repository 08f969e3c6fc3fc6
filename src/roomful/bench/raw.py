"""The limit: a gateway that does nothing but the work that none can leave out.

`POST /run` asks the model, decodes each delta, makes an event of it, encodes that once and writes it: to the
asker, or as the same bytes to all readers of a space. `GET /readers` is such a reader, `GET /page` reads
messages from a database as they stand in it. Nothing is stored, routed, checked or redacted.
"""

import asyncio
import itertools
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final, cast
from urllib.parse import parse_qs

import msgspec

from roomful.bench import wire
from roomful.bench.serving import serve
from roomful.bench.upstream import Delta, Function, Upstream

TOOL: Final = {
    "name": "show_card",
    "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}
PAGE: Final = "SELECT body FROM messages WHERE space_id = ? ORDER BY seq DESC LIMIT ?"
_encode = msgspec.json.Encoder().encode


class Wanted(msgspec.Struct):
    """One run. Without a space its events go to whoever asks."""

    model: str
    space: str | None = None
    gather_ms: float = 0.0
    """For so long a space's events are gathered into one write."""


class Event(msgspec.Struct, omit_defaults=True):
    type: str
    number: int
    call: str = ""
    delta: str = ""


class Space:
    def __init__(self) -> None:
        self.readers: set[asyncio.Transport] = set()
        self.last = b""
        self._gathered: list[bytes] = []

    def tell(self, data: bytes, gather_ms: float) -> None:
        self.last = data
        if not gather_ms:
            self._write(wire.chunk(data))
            return
        if not self._gathered:
            asyncio.get_running_loop().call_later(gather_ms / 1000, self._flush)
        self._gathered.append(data)

    def _flush(self) -> None:
        data, self._gathered = b"".join(self._gathered), []
        self._write(wire.chunk(data))

    def _write(self, data: bytes) -> None:
        for reader in self.readers:
            reader.write(data)


class Step:
    """One answer of the model."""

    def __init__(self, number: Iterator[int], tell: Callable[[Event], None]) -> None:
        self.calls: dict[int, tuple[str, str, list[str]]] = {}
        self._number = number
        self._tell = tell

    def hear(self, delta: Delta) -> None:
        if delta.content:
            self._tell(Event("text-delta", next(self._number), delta=delta.content))
        for call in delta.tool_calls or ():
            function = call.function or Function()
            if call.id:
                self.calls[call.index] = (call.id, function.name or "", [])
            id, _, pieces = self.calls[call.index]
            piece = function.arguments or ""
            pieces.append(piece)
            self._tell(Event("tool-input-delta", next(self._number), id, piece))

    def told(self) -> list[dict[str, Any]]:
        """What the model is told of it next."""
        calls = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": "".join(pieces)}}
            for id, name, pieces in self.calls.values()
        ]
        results = [{"role": "tool", "tool_call_id": call["id"], "content": "ok"} for call in calls]
        return [{"role": "assistant", "content": None, "tool_calls": calls}, *results]


class Raw(asyncio.Protocol):
    """One connection."""

    spaces: defaultdict[str, Space] = defaultdict(Space)
    databases: dict[str, sqlite3.Connection] = {}
    upstream: Upstream

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._data = b""
        self._space: Space | None = None
        self._run: asyncio.Task[None] | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._space is not None:
            self._space.readers.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (taken := wire.take_request(self._data)) is not None:
            asked, self._data = taken
            path, _, query = asked.line.split(b" ")[1].partition(b"?")
            if path == b"/run":
                self._run = asyncio.ensure_future(self._drive(msgspec.json.decode(asked.body, type=Wanted)))
            elif path == b"/readers":
                self._read(query.decode())
            else:
                self._page({name: values[0] for name, values in parse_qs(query.decode()).items()})

    def _read(self, query: str) -> None:
        """`?SPACE`, or `?SPACE+again` of one who is owed the last event."""
        name, again, _ = query.partition("+again")
        self._space = self.spaces[name]
        self._space.readers.add(self._transport)
        self._transport.write(wire.STREAM + (wire.chunk(self._space.last) if again else b""))

    def _page(self, query: dict[str, str]) -> None:
        if "fresh" in query:
            self.databases.pop(query["file"], None)
        db = self.databases.get(query["file"])
        if db is None:
            db = sqlite3.connect(f"file:{query['file']}?mode=ro", uri=True, isolation_level=None)
            self.databases[query["file"]] = db
        rows = db.execute(PAGE, (query["space"], int(query["limit"]))).fetchall()
        self._transport.write(wire.answer(b"[%b]" % b",".join(body.encode() for (body,) in reversed(rows))))

    async def _drive(self, wanted: Wanted) -> None:
        self._transport.write(wire.STREAM)
        messages: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
        number = itertools.count()
        while True:
            step = Step(number, lambda event: self._tell(wanted, event))
            body = {"model": wanted.model, "stream": True, "messages": messages, "tools": [TOOL]}
            await self.upstream.ask(body, step.hear)
            if not step.calls:
                break
            messages += step.told()
        self._transport.write(wire.LAST_CHUNK)

    def _tell(self, wanted: Wanted, event: Event) -> None:
        data = wire.frame(_encode(event))
        if wanted.space is None:
            self._transport.write(wire.chunk(data))
        else:
            self.spaces[wanted.space].tell(data, wanted.gather_ms)


if __name__ == "__main__":
    Raw.upstream = Upstream(int(sys.argv[1]))
    serve(Raw)
