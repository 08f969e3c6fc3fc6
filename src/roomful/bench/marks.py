"""Deltas that say which they are and when they were sent: `00017/000123456789012~`.

They pass through any server unchanged, so whoever reads can count them and tell how long each took.
"""

import re
import time
from typing import Final

UNSENT: Final = "0" * 15
"""Stands where the time is put in when the delta is sent."""
END: Final = b"~"
"""Once in each delta, and nowhere else."""
_MARK: Final = re.compile(rb"(\d{5})/(\d{15})~")
_LONGEST: Final = 32


def delta(number: int) -> str:
    return f"{number:05d}/{UNSENT}~"


def now() -> bytes:
    """In nanoseconds; all processes of a machine share this clock."""
    return b"%015d" % time.monotonic_ns()


class Watch:
    """How long each delta took until it was first seen: what is told again later does not count."""

    def __init__(self) -> None:
        self.milliseconds: list[float] = []
        self._last = -1
        self._rest = b""

    def see(self, data: bytes) -> None:
        moment = time.monotonic_ns()
        data = self._rest + data
        for found in _MARK.finditer(data):
            number, sent = int(found[1]), int(found[2])
            if number > self._last:
                self._last = number
                self.milliseconds.append((moment - sent) / 1e6)
        self._rest = data[-_LONGEST:]
