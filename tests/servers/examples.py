"""The programs in `examples/`, each run as a newcomer runs it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
_PATIENCE = 90


def run(name: str, **environment: str) -> list[str]:
    """What it prints; anything on standard error is a fault."""
    done = subprocess.run(
        _command(name), env=_clean(environment), capture_output=True, text=True, timeout=_PATIENCE
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@contextmanager
def running(name: str, **environment: str) -> Iterator[Iterator[str]]:
    """An example that goes on until it is stopped, and what it says."""
    process = subprocess.Popen(
        _command(name), env=_clean(environment), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert process.stdout is not None
        yield iter(process.stdout)
    finally:
        process.kill()
        process.communicate()


def _command(name: str) -> list[str]:
    return [sys.executable, "-W", "error", str(EXAMPLES / name)]


def _clean(environment: dict[str, str]) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "PYTHONPATH", "HOME")}
    return kept | environment
