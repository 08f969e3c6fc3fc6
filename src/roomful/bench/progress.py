"""How far it is, on stderr: a bar where somebody watches, else a line for each scenario."""

import time
from typing import Final, TextIO

WIDTH: Final = 30


class Progress:
    def __init__(self, names: list[str], steps: int, out: TextIO) -> None:
        """`steps`: how many ticks a scenario has."""
        self._names = names
        self._steps = steps
        self._out = out
        self._is_watched = out.isatty()
        self._began = time.monotonic()
        self._at = 0
        self._ticks = 0

    def begin(self, name: str) -> None:
        self._at, self._ticks = self._names.index(name), 0
        if self._is_watched:
            self._draw()
        else:
            self._say(f"{self._at + 1}/{len(self._names)} {name}\n")

    def tick(self) -> None:
        self._ticks += 1
        if self._is_watched:
            self._draw()

    def end(self) -> None:
        """Leaves a clean line."""
        if self._is_watched:
            self._say("\r\x1b[K")

    def _draw(self) -> None:
        part = min(self._ticks / (self._steps + 1), 1.0)
        share = (self._at + part) / len(self._names)
        full = round(share * WIDTH)
        bar, seconds = "█" * full + "░" * (WIDTH - full), time.monotonic() - self._began
        self._say(f"\r\x1b[K{bar} {share:4.0%} {self._names[self._at]} ({seconds:.0f} s)")

    def _say(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
