"""Several equal processes on one port: started together, started anew when one dies, and stopped together."""

import asyncio
import contextlib
import logging
import signal
import socket
import sys
import time
from asyncio.subprocess import Process
from collections.abc import Callable

import msgspec

from roomful.app.child import READY
from roomful.app.gateway import Gateway
from roomful.domain.errors import Invalid, Unavailable
from roomful.settings import Settings

BACKLOG = 2048
STOP_SECONDS = 30.0
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
HEALTHY_SECONDS = 10.0
"""One that lived so long is replaced at once; one that did not, after a pause that grows."""

log = logging.getLogger("roomful")


async def prepare(settings: Settings) -> str | None:
    """Does once what belongs to a start: the schema, the admin key, which it answers with if it is new, the
    agents and the demo world. What is wrong with the settings is said here, by one process."""
    _check_shared(settings)
    gateway = await Gateway.open(settings)
    await gateway.close()
    return gateway.new_admin_key


async def supervise(settings: Settings, on_started: Callable[[], None]) -> int:
    """Answers with the exit code when SIGTERM or SIGINT came and the processes have ended."""
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    with contextlib.ExitStack() as opened:
        sockets = [opened.enter_context(each) for each in _listening(settings.host, settings.port)]
        ready = _Countdown(settings.workers, on_started)
        seats = [_Seat(settings, sockets, ready) for _ in range(settings.workers)]
        kept = [asyncio.create_task(seat.keep()) for seat in seats]
        await asyncio.wait([*kept, asyncio.create_task(stopping.wait())], return_when="FIRST_COMPLETED")
    for seat in seats:
        seat.stop()
    _, late = await asyncio.wait(kept, timeout=STOP_SECONDS)
    for seat in seats:
        seat.kill()
    await asyncio.gather(*kept)
    return 0 if not late and all(seat.ended_well for seat in seats) else 1


class _Countdown:
    def __init__(self, count: int, then: Callable[[], None]) -> None:
        self._left = count
        self._then = then

    def __call__(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._then()


class _Seat:
    """A place that a process has until it is stopped: when one dies, the next one takes it."""

    def __init__(
        self, settings: Settings, sockets: list[socket.socket], on_ready: Callable[[], None]
    ) -> None:
        self._settings = settings
        self._sockets = sockets
        self._on_ready = on_ready
        self._was_ready = False
        self._process: Process | None = None
        self._stopping = asyncio.Event()
        self._pause = 0.0

    async def keep(self) -> None:
        while not self._stopping.is_set():
            began = time.monotonic()
            how = await self._one_life()
            if self._stopping.is_set():
                return
            self._process = None
            lived = time.monotonic() - began
            self._pause = 0.0 if lived >= HEALTHY_SECONDS else _longer(self._pause)
            log.warning("a process ended (%s); the next one starts in %g s", how, self._pause)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), self._pause)

    def stop(self) -> None:
        """Always by SIGTERM: Ctrl-C has reached the processes by itself, and twice would be a hurry."""
        self._stopping.set()
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    @property
    def ended_well(self) -> bool:
        """One that had not begun to serve may end by the signal itself."""
        return self._process is None or self._process.returncode in (0, -signal.SIGTERM)

    def _signal(self, number: int) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def _one_life(self) -> str:
        """From a start to an end, which is answered in words."""
        ours, theirs = socket.socketpair()
        with ours:
            try:
                with theirs:
                    self._process = await self._started(ours, theirs)
            except OSError as error:
                return f"it could not be started: {error}"
            if self._stopping.is_set():
                self._signal(signal.SIGTERM)
            ours.setblocking(False)
            if await self._hears(ours):
                self._note_ready(self._process.pid)
            return f"exit code {await self._process.wait()}"

    def _note_ready(self, pid: int) -> None:
        log.info("process %d serves", pid)
        if not self._was_ready:
            self._was_ready = True
            self._on_ready()

    async def _started(self, ours: socket.socket, theirs: socket.socket) -> Process:
        """A fresh interpreter. The settings, which hold keys, are not on its command line."""
        ours.sendall(msgspec.json.encode(self._settings) + b"\n")
        handles = [theirs.fileno(), *(each.fileno() for each in self._sockets)]
        command = [sys.executable, "-m", "roomful.app.child", *map(str, handles)]
        return await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, pass_fds=handles
        )

    async def _hears(self, line: socket.socket) -> bool:
        """Whether the process said that it serves, before it ended."""
        with contextlib.suppress(ConnectionError):
            return await asyncio.get_running_loop().sock_recv(line, 1) == READY
        return False


def _longer(pause: float) -> float:
    return min(max(2 * pause, FIRST_PAUSE), LONGEST_PAUSE)


def _listening(host: str, port: int) -> list[socket.socket]:
    """One socket for each address that the host has."""
    made: list[socket.socket] = []
    try:
        for family, _, _, _, address in socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            made.append(socket.create_server(address[:2], family=family, backlog=BACKLOG))
    except OSError as error:
        for each in made:
            each.close()
        raise Unavailable(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    return made


def _check_shared(settings: Settings) -> None:
    many = f"--workers {settings.workers}"
    if settings.database.startswith("sqlite:"):
        raise Invalid(f"{many}: a SQLite file has only one process. Use --database postgresql://… with it.")
    if settings.bus.startswith("memory:"):
        raise Invalid(
            f"{many}: processes hear of each other by a bus they share. Use --bus redis://… with it."
        )
