"""What another process has used. None where this system does not tell."""

import resource
import subprocess
import sys
import time
from pathlib import Path


def cpu_seconds(pid: int) -> float | None:
    """Of all its threads, also those that have ended."""
    if sys.platform == "linux":
        try:
            return time.clock_gettime((~pid << 3) | 2)  # what clock_getcpuclockid(3) makes of a process id
        except OSError:
            return None
    told = _ps(pid, "time")
    return None if told is None else _seconds(told)


def resident(pid: int) -> int | None:
    """Bytes of memory."""
    if sys.platform == "linux":
        try:
            statm = Path(f"/proc/{pid}/statm").read_text()
        except OSError:
            return None
        return int(statm.split()[1]) * resource.getpagesize()
    told = _ps(pid, "rss")
    return None if told is None else int(told) * 1024


def raise_file_limit() -> int:
    """As many open files as this user may have, for this process and those it starts."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit in (most, 65_536, 10_240):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))
        except (ValueError, OSError):
            continue
        break
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _ps(pid: int, column: str) -> str | None:
    try:
        asked = subprocess.run(["ps", "-o", f"{column}=", "-p", str(pid)], capture_output=True, text=True)
    except OSError:
        return None
    return asked.stdout.strip() or None


def _seconds(told: str) -> float:
    """`1-02:03:04.05`, of which only minutes and seconds are always there."""
    days, _, clock = told.rpartition("-")
    seconds = 0.0
    for field in clock.split(":"):
        seconds = seconds * 60 + float(field)
    return seconds + int(days or 0) * 86_400
