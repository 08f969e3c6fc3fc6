"""What a process uses, and figures worth printing."""

import contextlib
import os
import resource
from pathlib import Path

from tests.servers.roomful import Roomful


def raise_file_limit() -> int:
    """As many open files as this user may have, for this process and those it starts."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def resident(pid: int) -> int:
    """Bytes of memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()


def open_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - names are enough


def files_named(pid: int, prefix: str) -> int:
    """Open files whose name begins so; one that is closed while this looks is not counted."""
    names = list[str]()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            names.append(link.readlink().name)
    return sum(name.startswith(prefix) for name in names)


def threads(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/task"))  # noqa: PTH208


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def say(words: str) -> None:
    """A figure, seen with `pytest -s`."""
    print(f"\n{words}; load average {os.getloadavg()[0]:.1f}", flush=True)


def figure(house: Roomful, name: str) -> float:
    """One of those that the gateway tells of itself."""
    lines = house.admin.request("GET", "/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))
