"""Servers in processes of their own, each ended by its id whatever happens."""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Final

from roomful.bench import gauge
from roomful.settings import without_settings

PATIENCE: Final = 30.0
GRACE: Final = 10.0


class CannotMeasure(Exception):
    """Says why, in a sentence for people."""


class Child:
    """`python -m MODULE WORDS` in `folder`. Ctrl-C at the terminal does not reach it: `stop` ends it."""

    def __init__(self, folder: Path, module: str, *words: str, **environment: str) -> None:
        self._log = folder / f"{module}.log"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *words],
                cwd=folder,
                env=without_settings() | environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    async def line(self) -> str:
        """The next that it says."""
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            line = await asyncio.to_thread(self._process.stdout.readline)
        if not line:
            raise CannotMeasure(f"a server ended at once: {self.said[-500:]}")
        return line.decode().strip()

    @property
    def said(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def cpu(self) -> float:
        """Seconds so far."""
        used = gauge.cpu_seconds(self.pid)
        if used is None:
            raise CannotMeasure("this system does not tell what another process uses")
        return used

    def memory(self) -> int:
        """Bytes now."""
        held = gauge.resident(self.pid)
        if held is None:
            raise CannotMeasure("this system does not tell how much memory another process has")
        return held

    def stop(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.terminate()
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


class Cores:
    """Where there are several, the server under test has one for itself."""

    def __init__(self) -> None:
        self.all = sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else []

    @contextlib.contextmanager
    def apart(self) -> Generator[None]:
        """Within, this process keeps off the servers' core."""
        if len(self.all) < 2:
            yield
            return
        self._pin(0, self.all[1:])
        try:
            yield
        finally:
            self._pin(0, self.all)

    def give(self, child: Child) -> Child:
        """The first is for servers; it has no threads yet, and those it starts stay with it."""
        if len(self.all) > 1:
            self._pin(child.pid, self.all[:1])
        return child

    def _pin(self, pid: int, cores: Sequence[int]) -> None:
        if sys.platform == "linux":
            os.sched_setaffinity(pid, cores)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def until_it_answers(port: int, path: str, child: Child) -> None:
    """With 200."""
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit:
        if not child.is_running:
            raise CannotMeasure(f"a server ended at once: {child.said[-500:]}")
        with contextlib.suppress(OSError):
            if await _status(port, path) == 200:
                return
        await asyncio.sleep(0.005)
    raise CannotMeasure(f"a server did not answer within {PATIENCE:g} s: {child.said[-500:]}")


async def _status(port: int, path: str) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        line = await reader.readline()
        return int(line.split(b" ")[1]) if line else 0
    finally:
        writer.close()
