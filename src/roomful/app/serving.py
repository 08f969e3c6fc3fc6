"""One process that serves: from the first run it takes to the last one it hands over, and never longer."""

import asyncio
import gc
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType

from roomful.app.gateway import Gateway
from roomful.settings import Settings
from roomful.web.server import Server

STOP_SECONDS = 20.0
"""How long stopping may take at most, whoever does not answer."""
THREAD_SECONDS = 1.0
"""How long a thread of a tool may take after that, when nothing waits for its result any more."""

log = logging.getLogger("roomful")


async def serve(
    gateway: Gateway,
    settings: Settings,
    on_started: Callable[[], None],
    *,
    sockets: list[socket.socket] | None = None,
    lifeline: socket.socket | None = None,
) -> None:
    """Returns when SIGTERM or SIGINT came, or the other end of `lifeline` is gone, and everybody was served
    or told. `sockets` listen already; without them the settings say where to."""
    leave = partial(_leave_in, STOP_SECONDS)
    warming: list[asyncio.Task[None]] = []

    def started() -> None:
        on_started()
        warming.append(asyncio.create_task(_warm(gateway)))

    server = Server(gateway.app, settings.host, settings.port, started, leave, proxies=settings.proxies)
    if lifeline is not None:
        asyncio.get_running_loop().add_reader(lifeline, server.stop)
    _answer_signals(server.handle_exit)
    try:
        await gateway.start()
        _collect_rarely()
        await server.serve(sockets)
    finally:
        if lifeline is not None:
            asyncio.get_running_loop().remove_reader(lifeline)
        for failure in await asyncio.gather(*warming, return_exceptions=True):
            if failure is not None:
                log.error("what the first model and tool need was not ready ahead", exc_info=failure)
        await gateway.close()
        _answer_signals(signal.SIG_IGN)
        _leave_in(THREAD_SECONDS)


async def _warm(gateway: Gateway) -> None:
    await gateway.warm()
    gc.freeze()


def _collect_rarely() -> None:
    """What is there when serving begins stays. Nearly all that comes later goes without the collector, which
    holds everybody up while it walks: so it walks a little at a time, and rarely through everything."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(1_000, 5, 40)


def _answer_signals(how: Callable[[int, FrameType | None], None] | signal.Handlers) -> None:
    """To the end of the process: one that is asked again while it ends still ends with 0."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, how)


def _leave_in(seconds: float) -> None:
    """A thread of its own: what does not end may be the event loop, or a thread that Python waits for."""
    timer = threading.Timer(seconds, _leave)
    timer.daemon = True
    timer.start()


def _leave() -> None:
    """Nothing that was confirmed is lost by it, and what was not handed over is found by its lease."""
    log.warning("something does not end: the process stops without waiting for it")
    logging.shutdown()
    os._exit(0)
