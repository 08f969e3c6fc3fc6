"""One client's connection, light while nothing happens: thousands of them may be open."""

import asyncio
from collections.abc import Callable
from typing import Literal

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from roomful.web.line import ABORT, WHEN_GONE, WRITE

HEAD_SECONDS = 10.0
HEAD_LIMIT = 64 * 1024


class Connection(HttpToolsProtocol):
    """The client has ten seconds and 64 KiB to say what it wants, and streams can cut it short."""

    _waiting: asyncio.TimerHandle | None = None
    _head = 0
    _on_gone: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as in uvicorn
        super().connection_made(transport)
        self.flow = Flow(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)
        if self._on_gone is not None:
            self._on_gone()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._waiting is not None:
            self._head += len(data)
            if self._head > HEAD_LIMIT:
                self.transport.abort()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope.setdefault("state", {}).update(
            {ABORT: self.transport.abort, WHEN_GONE: self._when_gone, WRITE: self._write}
        )
        self._expect_head()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        before = self.cycle
        super().on_headers_complete()
        if self.cycle is not before:
            self.cycle.message_event = Bell()

    def _when_gone(self, call: Callable[[], None] | None) -> None:
        self._on_gone = call
        if call is not None and self.cycle.disconnected:
            call()

    def _write(self, make: Callable[[], bytes]) -> bool:
        cycle = self.cycle
        if self.flow.write_paused or cycle.disconnected or cycle.response_complete:
            return False
        if not cycle.chunked_encoding:
            return False
        if data := make():
            self.transport.write(b"%x\r\n%b\r\n" % (len(data), data))
        return True

    def _expect_head(self) -> None:
        self._stop_waiting()
        self._head = 0
        self._waiting = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class Bell(asyncio.Event):
    """An event that has no room for those who wait until somebody does: most never do."""

    def __init__(self) -> None:
        self._is_rung = False
        self._event: asyncio.Event | None = None

    def is_set(self) -> bool:
        return self._is_rung

    def set(self) -> None:
        self._is_rung = True
        if self._event is not None:
            self._event.set()

    def clear(self) -> None:
        self._is_rung = False
        if self._event is not None:
            self._event.clear()

    async def wait(self) -> Literal[True]:
        if not self._is_rung:
            self._event = self._event or asyncio.Event()
            await self._event.wait()
        return True


class Flow(FlowControl):
    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__(transport)
        self._is_writable_event = Bell()
        self._is_writable_event.set()
