"""Somebody at a shell, who types lines as they are printed or written down."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.client.pseudo import Screen
from tests.servers.roomful import PATIENCE, free_port
from tests.servers.watched import Watched

_ROOMFUL = '#!/bin/sh\necho $$ > "$0.$1.pid"\nexec "{python}" -m roomful.cli "$@"\n'
_PYTEST = '#!/bin/sh\nexec "{python}" -m pytest -p no:cacheprovider "$@"\n'


class Hand:
    """Works in `folder`, with commands named `roomful` and `pytest`, and a port of its own."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder / "desk"
        self.folder.mkdir()
        self._commands = folder / "bin"
        self._commands.mkdir()
        for name, script in (("roomful", _ROOMFUL), ("pytest", _PYTEST)):
            (self._commands / name).write_text(script.format(python=sys.executable))
            (self._commands / name).chmod(0o755)
        self.port = free_port()
        clean = {
            key: value for key, value in os.environ.items() if not key.startswith(("ROOMFUL_", "PYTEST_"))
        }
        self.environment = clean | {
            "PATH": f"{self._commands}:{os.environ['PATH']}",
            "ROOMFUL_PORT": str(self.port),
            "ROOMFUL_URL": f"http://127.0.0.1:{self.port}",
            **environment,
        }

    def type(self, lines: str) -> str:
        """What was printed; the lines have to end well."""
        done = self.try_to(lines)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    def try_to(self, lines: str, shell: str = "sh") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [shell, "-e", "-c", lines],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            encoding="utf-8",
            timeout=2 * PATIENCE,
            check=False,
        )

    @contextlib.contextmanager
    def serving(self, line: str) -> Iterator[Watched]:
        """The line serves until the block ends."""
        with Watched(["sh", "-c", line], self.folder, **self.environment) as served:
            served.said("Roomful is at")
            pid = int((self._commands / "roomful.serve.pid").read_text())
            try:
                yield served
            finally:
                os.kill(pid, signal.SIGTERM)
                served.process.wait(PATIENCE)

    def at_terminal(self, line: str) -> Screen:
        """The line stays, and is talked to."""
        return Screen(["sh", "-c", line], self.folder, self.environment, rows=40, columns=100)
