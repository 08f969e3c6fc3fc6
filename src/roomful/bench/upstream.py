"""The raw gateway's way to the model: kept connections, and each delta decoded as it comes."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeAlias, cast

import msgspec

from roomful.bench import wire

DONE: Final = b"[DONE]"


class Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class ToolCall(msgspec.Struct):
    index: int
    id: str | None = None
    function: Function | None = None


class Delta(msgspec.Struct):
    content: str | None = None
    tool_calls: list[ToolCall] | None = None


class Choice(msgspec.Struct):
    delta: Delta
    finish_reason: str | None = None


class Chunk(msgspec.Struct):
    choices: list[Choice]


Heard: TypeAlias = Callable[[Delta], None]
_decode = msgspec.json.Decoder(Chunk).decode
_encode = msgspec.json.Encoder().encode


class Upstream:
    def __init__(self, port: int) -> None:
        self._port = port
        self._free: list[_Line] = []

    async def ask(self, body: Any, heard: Heard) -> None:
        """Returns at the end of the answer."""
        line = await self._line()
        await line.ask(wire.request("POST", "/v1/chat/completions", _encode(body)), heard)
        self._free.append(line)

    async def _line(self) -> "_Line":
        while self._free:
            line = self._free.pop()
            if not line.is_lost:
                return line
        _, line = await asyncio.get_running_loop().create_connection(_Line, "127.0.0.1", self._port)
        return line


class _Line(asyncio.Protocol):
    is_lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._ended: asyncio.Future[None] | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        if self._ended is not None and not self._ended.done():
            self._ended.set_exception(exc or ConnectionResetError("the model hung up"))

    async def ask(self, request: bytes, heard: Heard) -> None:
        self._heard, self._data, self._has_head = heard, b"", False
        self._ended = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        await self._ended

    def data_received(self, data: bytes) -> None:
        data, at = self._data + data, 0
        if not self._has_head:
            at = data.find(b"\r\n\r\n") + 4
            self._has_head = at > 3
        while self._has_head and (end := data.find(b"\r\n", at)) >= 0:
            size = int(data[at:end], 16)
            behind = end + 4 + size
            if len(data) < behind:
                break
            if not size:
                self._end()
                return
            self._event(data[end + 2 : behind - 2])
            at = behind
        self._data = data[max(at, 0) :] if self._has_head else data

    def _event(self, event: bytes) -> None:
        """This model writes one event in each chunk."""
        payload = event[6:-2]
        if payload != DONE:
            for choice in _decode(payload).choices:
                self._heard(choice.delta)

    def _end(self) -> None:
        self._data = b""
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)
