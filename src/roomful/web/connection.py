"""One client's connection, light while nothing happens: thousands of them may be open."""

import asyncio
from collections.abc import Callable
from typing import Literal

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from roomful.web.line import ABORT, IS_CLEAR, WHEN_GONE, WRITE

HEAD_SECONDS = 10.0
HEAD_LIMIT = 64 * 1024


class Connection(HttpToolsProtocol):
    """The client has ten seconds and 64 KiB to say what it wants, and streams can cut it short."""

    _waiting: asyncio.TimerHandle | None = None
    _head = 0
    _on_gone: Callable[[], None] | None = None
    _ways: dict[str, object] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as in uvicorn
        super().connection_made(transport)
        self.flow = Flow(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)
        if self._on_gone is not None:
            self._on_gone()
        if self._ways is not None:
            self._ways.clear()  # They lead back here: now all of it goes without the garbage collector.

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._waiting is not None:
            self._head += len(data)
            if self._head > HEAD_LIMIT:
                self.transport.abort()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._ways = self.scope.setdefault("state", {})
        self._ways.update(
            {
                ABORT: self.transport.abort,
                WHEN_GONE: self._when_gone,
                IS_CLEAR: self._is_clear,
                WRITE: self._write,
            }
        )
        self._expect_head()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        before = self.cycle
        super().on_headers_complete()
        if self.cycle is not before:
            self.cycle.message_event = Bell()
            self.cycle.transport = Answering(self.cycle)

    def _when_gone(self, call: Callable[[], None] | None) -> None:
        self._on_gone = call
        if call is not None and self.cycle.disconnected:
            call()

    def _is_clear(self) -> bool:
        cycle = self.cycle
        is_over = cycle.disconnected or cycle.response_complete
        return not is_over and not self.flow.write_paused and bool(cycle.chunked_encoding)

    def _write(self, data: bytes) -> None:
        if data:
            self.transport.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _expect_head(self) -> None:
        self._stop_waiting()
        self._head = 0
        self._waiting = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class Answering(asyncio.Transport):
    """The connection as one answer writes to it. A head waits for its body, and both are one write."""

    def __init__(self, cycle: RequestResponseCycle) -> None:
        super().__init__()
        self._transport = cycle.transport
        self._cycle: RequestResponseCycle | None = cycle
        """Until the head is written: then they let go of each other."""
        self._head = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        cycle = self._cycle
        if cycle is not None and cycle.response_started:
            self._cycle = None
            if _has_body(cycle):
                self._head = bytes(data)
                return
        if self._head:
            self._transport.writelines((self._head, data))
            self._head = b""
        else:
            self._transport.write(data)

    def close(self) -> None:
        self._transport.close()

    def is_closing(self) -> bool:
        return self._transport.is_closing()


def _has_body(cycle: RequestResponseCycle) -> bool:
    """Of a length that its head tells. A stream has none, and its head goes out at once."""
    return cycle.expected_content_length > 0 and cycle.scope["method"] != "HEAD"


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
