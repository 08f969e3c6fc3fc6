"""A process that has imported a gateway and forks one for each order: a real process, without the wait.

    with Zygote(folder) as zygote:
        Doomed(zygote, folder, fatal=17).start()    # a Roomful that dies at its 17th point

Orders and news are lines of JSON on its standard streams. When the first of them ends, it ends what it
forked, and itself.
"""

import asyncio
import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, Self

from tests.servers.roomful import PATIENCE, Roomful

NOTES = "points.txt"
WARM_SECONDS = 3 * PATIENCE
"""The first order may find it still importing."""


class Zygote:
    def __init__(self, folder: Path) -> None:
        self._log = folder / "zygote.txt"
        self._changed = threading.Condition()
        self._codes: dict[int, int] = {}
        self._forked: list[int] = []
        self._ordering = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.faults.zygote"]
        root = Path(__file__).parents[2]
        path = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "PYTHONPATH": path},
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(PATIENCE)

    def fork(self, **order: Any) -> "Forked":
        assert self._process is not None
        assert self._process.stdin is not None
        with self._ordering:
            known = len(self._forked)
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()
            with self._changed:
                came = self._changed.wait_for(lambda: len(self._forked) > known, WARM_SECONDS)
                assert came, self._log.read_text()
                return Forked(self, self._forked[-1])

    def code(self, pid: int) -> int | None:
        with self._changed:
            return self._codes.get(pid)

    def wait(self, pid: int, seconds: float | None) -> int:
        with self._changed:
            if not self._changed.wait_for(lambda: pid in self._codes, seconds):
                raise subprocess.TimeoutExpired("a gateway", seconds or 0)
            return self._codes[pid]

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                told: dict[str, int] = json.loads(line)
                with self._changed:
                    if "code" in told:
                        self._codes[told["pid"]] = told["code"]
                    else:
                        self._codes.pop(told["pid"], None)
                        self._forked.append(told["pid"])
                    self._changed.notify_all()


class Forked:
    """A `Process` whose parent is the zygote."""

    def __init__(self, zygote: Zygote, pid: int) -> None:
        self._zygote = zygote
        self.pid = pid

    def poll(self) -> int | None:
        return self._zygote.code(self.pid)

    def wait(self, timeout: float | None = None) -> int:
        return self._zygote.wait(self.pid, timeout)

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sig)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Doomed(Roomful):
    """A gateway that dies at its `fatal`-th point, 0 for one that lives. Started again, it lives."""

    def __init__(
        self,
        zygote: Zygote,
        folder: Path,
        *flags: str,
        database: str | None = None,
        fatal: int = 0,
        **more: str,
    ) -> None:
        super().__init__(folder, *flags, database=database, **more)
        self._zygote = zygote
        self._fatal = fatal
        self.was_killed = False

    @property
    def points(self) -> list[str]:
        """What it came to, until it was killed or until now."""
        notes = self.folder / NOTES
        return notes.read_text().splitlines() if notes.exists() else []

    def start(self) -> Self:
        """Some points come before it answers."""
        try:
            return super().start()
        except AssertionError:
            if self._process is None or self._process.poll() != -signal.SIGKILL or self.was_killed:
                raise
            self.await_death()
            return super().start()

    def await_death(self) -> None:
        """For one whose connection broke."""
        assert self._process is not None
        code = self._process.wait(PATIENCE)
        assert code == -signal.SIGKILL, f"it ended with {code}:\n{self.log.read_text()}"
        self.was_killed = True

    def _launch(self, command: list[str], environment: dict[str, str]) -> Forked:
        fatal, self._fatal = self._fatal, 0
        again = "again.txt" if self.was_killed else NOTES
        return self._zygote.fork(
            command=command,
            environment=environment,
            folder=str(self.folder),
            log=str(self.log),
            notes=str(self.folder / again),
            fatal=fatal,
        )


def _serve_orders() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    living: set[int] = set()
    lines = _lines(reading, living)
    for line in lines:
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _become(json.loads(line))
        living.add(pid)
        _say(pid=pid)
    for pid in living:
        os.kill(pid, signal.SIGKILL)


def _lines(reading: int, living: set[int]) -> Iterator[bytes]:
    """Orders, until there are none any more; those who ended meanwhile are told."""
    left = b""
    while True:
        ready, _, _ = select.select([0, reading], [], [])
        if reading in ready:
            os.read(reading, 4096)
            _tell_ends(living)
        if 0 in ready:
            if not (came := os.read(0, 65536)):
                return
            *whole, left = (left + came).split(b"\n")
            yield from whole


def _tell_ends(living: set[int]) -> None:
    for pid in list(living):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            living.discard(pid)
            _say(pid=pid, code=os.waitstatus_to_exitcode(status))


def _say(**told: int) -> None:
    os.write(1, json.dumps(told).encode() + b"\n")


def _become(order: dict[str, Any]) -> NoReturn:
    """A gateway, in the child. Never returns."""
    from roomful import cli
    from tests.faults.points import Points, wrap

    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for handle in (1, 2):
        os.dup2(log, handle)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    wrap(Points(Path(order["notes"]), order["fatal"]))
    sys.exit(cli.main(order["command"]))


async def _warm_up() -> None:
    """A gateway was open here, so that those to come find what it imported and worked out."""
    for name in ("mcp.client", "uvloop", "uvicorn.protocols.http.httptools_impl", "tests.faults.points"):
        importlib.import_module(name)
    from roomful.app import Gateway
    from roomful.settings import Settings

    gateway = await Gateway.open(Settings(database="sqlite:///:memory:", admin_key="none"))
    await gateway.start()
    await gateway.close()
    gc.freeze()  # what nobody collects is not copied into every child


if __name__ == "__main__":
    asyncio.run(_warm_up())
    _serve_orders()
