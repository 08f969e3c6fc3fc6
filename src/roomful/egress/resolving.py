"""Names to addresses, in threads of their own: a slow name server holds up nothing but other look-ups."""

import asyncio
import functools
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Host and port to addresses. Raises OSError when there are none."""


class SystemResolver:
    """What the machine's own resolver says. It also reads `127.1`, `0x7f000001` and their like."""

    def __init__(self, threads: int = 8) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="resolve")

    async def __call__(self, host: str, port: int) -> list[str]:
        look_up = functools.partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        infos = await asyncio.get_running_loop().run_in_executor(self._threads, look_up)
        return [str(info[4][0]) for info in infos]

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
