"""A gateway served inside a program that goes on beside it."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Generator

from roomful.app.callbacks import Callbacks
from roomful.settings import Settings, address
from roomful.web import WebApp
from roomful.web.server import Server


class _Beside(Server):
    """Leaves signals to the program."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


@contextlib.asynccontextmanager
async def served(app: WebApp, settings: Settings, callbacks: Callbacks) -> AsyncGenerator[str]:
    """Its address, where it answers until this ends; then open streams are told first."""
    host = settings.host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, settings.port), family=family) as listening:
        port = listening.getsockname()[1]
        url = address(host, port)
        callbacks.served_at(url)
        answers = asyncio.Event()
        server = _Beside(app, host, port, answers.set, proxies=settings.proxies)
        serving = asyncio.create_task(server.serve([listening]))
        try:
            await answers.wait()
            yield url
        finally:
            server.stop()
            await serving
