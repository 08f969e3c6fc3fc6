"""How the servers of a measurement run: each is a process that ends with the one that started it."""

import asyncio
import contextlib
import sys
from collections.abc import Callable

import uvloop


def serve(protocol: Callable[[], asyncio.Protocol]) -> None:
    """Says its port on stdout, and serves until stdin ends."""
    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(_serve(protocol))


async def _serve(protocol: Callable[[], asyncio.Protocol]) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(protocol, "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    left = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), left.set)
    await left.wait()
