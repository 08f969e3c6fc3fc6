"""A server of somebody else's, in the test's own loop, and what a process has open."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp

PATIENCE = 30.0


class _Server(uvicorn.Server):
    def __init__(self, app: ASGIApp, on_stopping: Callable[[], None]) -> None:
        super().__init__(uvicorn.Config(app, log_config=None, lifespan="on"))
        self.is_up = asyncio.Event()
        self._on_stopping = on_stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_up.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_stopping()
        await super().shutdown(sockets)


@contextlib.asynccontextmanager
async def served(app: ASGIApp, on_stopping: Callable[[], None] = lambda: None) -> AsyncGenerator[str]:
    """Where it is served until this ends; that waits for every open connection, as uvicorn does."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = _Server(app, on_stopping)
        serving = asyncio.create_task(server.serve([listening]))
        try:
            await server.is_up.wait()
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving


def run(story: Coroutine[Any, Any, None]) -> None:
    async def within() -> None:
        async with asyncio.timeout(PATIENCE):
            await story

    asyncio.run(within())


def open_things() -> tuple[set[str], set[str], set[str]]:
    """The tasks, threads and databases of this process, but for the loop's own threads for blocking calls."""
    tasks = {str(task.get_coro()) for task in asyncio.all_tasks()}
    threads = {one.name for one in threading.enumerate() if not one.name.startswith("asyncio_")}
    files: set[str] = set()
    for link in Path("/proc/self/fd").glob("*"):
        with contextlib.suppress(OSError):
            files.add(str(link.readlink()))
    return tasks, threads, {file for file in files if file.endswith(".db") or "/roomful-" in file}
