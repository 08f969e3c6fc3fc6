"""Serves the web application, and stops without leaving anybody hanging: open streams are told first."""

import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Generator
from types import FrameType

import uvicorn

from roomful.web.app import WebApp
from roomful.web.connection import Connection

STOP_SECONDS = 5
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


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
