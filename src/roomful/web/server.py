"""Serves the web application, and stops without leaving anybody hanging: open streams are told first."""

import asyncio
import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Generator
from types import FrameType

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from roomful.web.app import WebApp
from roomful.web.sse import ABORT

HEAD_SECONDS = 10.0
HEAD_LIMIT = 64 * 1024
STOP_SECONDS = 5
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Connection(HttpToolsProtocol):
    """One client. It has ten seconds and 64 KiB to say what it wants, and streams can cut it short."""

    _waiting: asyncio.TimerHandle | None = None
    _head = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - as in uvicorn
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._waiting is not None:
            self._head += len(data)
            if self._head > HEAD_LIMIT:
                self.transport.abort()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope.setdefault("state", {})[ABORT] = self.transport.abort
        self._expect_head()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def _expect_head(self) -> None:
        self._stop_waiting()
        self._head = 0
        self._waiting = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class Server(uvicorn.Server):
    def __init__(
        self,
        app: WebApp,
        host: str,
        port: int,
        on_started: Callable[[], None] | None = None,
        on_stopping: Callable[[], None] | None = None,
        *,
        proxies: str = "127.0.0.1",
    ) -> None:
        """`proxies` are those whose word is taken for where a request comes from."""
        super().__init__(
            uvicorn.Config(
                app,
                host=host,
                port=port,
                http=Connection,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                forwarded_allow_ips=proxies,
                timeout_graceful_shutdown=STOP_SECONDS,
            )
        )
        self._app = app
        self._on_started = on_started
        self._on_stopping = on_stopping

    def stop(self) -> None:
        """Serves no more as soon as everybody was served or told."""
        if not self.should_exit:
            self.should_exit = True
            if self._on_stopping is not None:
                self._on_stopping()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.stop()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self._on_started is not None:
            self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.drain()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """A signal is a request to stop, and stopping as asked is success: it is not raised again."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
