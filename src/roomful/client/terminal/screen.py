"""Lines that stay, and below them a region that is drawn again and again; its last line is typed."""

import os
import re
from collections.abc import Callable, Sequence

from roomful.client.terminal.harmless import width

_INK = re.compile(r"\x1b\[[0-9]*m")
LEAST = os.terminal_size((24, 6))


class Screen:
    """`write` takes what goes to the terminal, `size` tells how large it is by now."""

    def __init__(self, write: Callable[[str], None], size: Callable[[], os.terminal_size]) -> None:
        self._write = write
        self._size = size
        self._region: list[str] = []
        self._last: tuple[object, ...] = ()

    @property
    def columns(self) -> int:
        """One less than there are: a full line would make the next one empty on some terminals."""
        return max(self._size().columns, LEAST.columns) - 1

    @property
    def rows(self) -> int:
        return max(self._size().lines, LEAST.lines)

    def draw(self, stays: Sequence[str], live: Sequence[str], typed: str, cursor: int) -> None:
        shown = list(live)
        if len(shown) > self.rows - 2:
            shown = ["…", *shown[-(self.rows - 3) :]]
        now = (shown, typed, cursor, self._size())
        if not stays and now == self._last:
            return
        lines = [*stays, *shown]
        self._write(self._back() + "".join(f"{line}\r\n" for line in lines) + typed + _to_column(cursor))
        self._region, self._last = shown, now

    def leave(self, words: Sequence[str] = ()) -> None:
        """Takes the region away and leaves the cursor where the next program begins."""
        self._write(self._back() + "".join(f"{line}\r\n" for line in words))
        self._region, self._last = [], ()

    def _back(self) -> str:
        """To the region's first column and row, also if a narrower terminal broke its lines; and empty it."""
        columns = max(self._size().columns, 1)
        up = sum(max(1, -(-width(_INK.sub("", line)) // columns)) for line in self._region)
        return "\r" + (f"\x1b[{up}A" if up else "") + "\x1b[J"


def _to_column(cursor: int) -> str:
    return "\r" + (f"\x1b[{cursor}C" if cursor else "")
