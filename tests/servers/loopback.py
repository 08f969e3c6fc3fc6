"""The listening side of every double that speaks on sockets: when it ends, no connection is left open."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

Handle: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening_at(
    handle: Handle, *, host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncGenerator[int]:
    """Gives the port. A connection is closed when `handle` returns, and aborted when its peer breaks it or
    this ends."""
    handling: set[asyncio.Task[Any]] = set()

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        handling.add(task)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await handle(reader, writer)
                writer.close()
                await writer.wait_closed()
        finally:
            handling.discard(task)
            writer.transport.abort()

    server = await asyncio.start_server(accepted, host, port, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        for listening in server.sockets:
            asyncio.get_running_loop().remove_reader(listening)
        await _turns(10)  # who was let in just now begins; closing the server before that would lose them
        server.close()
        for task in handling:
            task.cancel()
        await asyncio.gather(*handling, return_exceptions=True)
        await _turns(3)  # an aborted connection is closed in one of the next
        await server.wait_closed()


async def _turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)
