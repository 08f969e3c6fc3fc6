"""`roomful bench` in a process of its own, and whoever it starts."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def begin(folder: Path, *words: str) -> subprocess.Popen[str]:
    """All that it makes for itself is in `folder`, also where its servers run."""
    scratch = folder / "scratch"
    scratch.mkdir()
    return subprocess.Popen(
        [sys.executable, "-m", "roomful.cli", "bench", *words],
        cwd=folder,
        env=os.environ | {"TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_can_be_interrupted,
    )


def _can_be_interrupted() -> None:
    """Whoever runs the tests in the background may not be."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def started_in(folder: Path) -> Sequence[int]:
    """The ids of processes that run in folders inside this one, which the kernel knows best."""
    found: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(folder / "scratch"):
                found.append(int(process.name))
        except OSError:
            continue
    return found


def is_under_way(folder: Path) -> bool:
    """Its gateway serves and has begun a run: from now on none of its servers would end by itself."""
    for database in (folder / "scratch").glob("**/roomful.db"):
        db = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
        try:
            return db.execute("SELECT count(*) FROM runs").fetchone()[0] > 0
        except sqlite3.OperationalError:  # its tables are not there yet
            return False
        finally:
            db.close()
    return False
