"""A command line that runs, what it says, and the processes it started, none of which outlives the test."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import httpx

from tests.servers.roomful import PATIENCE

ROOMFUL = (sys.executable, "-m", "roomful.cli")


class Watched:
    def __init__(self, command: Sequence[str], folder: Path, **environment: str) -> None:
        self.lines: list[str] = []
        self._changed = threading.Condition()
        clean = {name: value for name, value in os.environ.items() if not name.startswith("ROOMFUL_")}
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=clean | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for child in self.children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        self._reader.join(PATIENCE)

    def said(self, words: str, count: int = 1) -> str:
        """Waits for the count-th line with these words."""

        def found() -> list[str]:
            return [line for line in self.lines if words in line]

        with self._changed:
            assert self._changed.wait_for(lambda: len(found()) >= count, PATIENCE), self.lines
            return found()[count - 1]

    def children(self) -> list[int]:
        """All that ever served for it, in the order of their coming."""
        with self._changed:
            return [int(pid) for line in self.lines for pid in re.findall(r"process (\d+) serves", line)]

    def terminate(self, how: signal.Signals = signal.SIGTERM, seconds: float = PATIENCE) -> int:
        self.process.send_signal(how)
        return self.process.wait(seconds)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                with self._changed:
                    self.lines.append(line)
                    self._changed.notify_all()


def get(url: str, token: str = "") -> httpx.Response:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return httpx.get(url, headers=headers, timeout=PATIENCE)


def is_gone(pid: int) -> bool:
    """Also when it is dead and nobody asked how it died."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_until(holds: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """For what happens in another process, which tells nobody."""
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)
    return found
