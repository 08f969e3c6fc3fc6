"""How long to wait before something is tried again."""

import asyncio
import random

FIRST = 0.25
LONGEST = 15.0
LONGEST_ASKED_FOR = 120.0
"""Seconds that a server may ask for; it is not obeyed beyond that."""


class Pauses:
    """Each is about twice as long as the one before, up to a bound, and none is exactly as long as another
    client's: they do not all come back at once."""

    def __init__(self, patience: float | None) -> None:
        """`patience` is how many seconds it may take all in all; None is for ever."""
        self._patience = patience
        self._next = FIRST
        self._spent = 0.0

    def succeeded(self) -> None:
        self._next, self._spent = FIRST, 0.0

    async def wait(self, at_least: float = 0.0) -> bool:
        """False, at once, when there is no patience left for another try."""
        seconds = max(self._next * random.uniform(0.5, 1.0), min(at_least, LONGEST_ASKED_FOR))
        if at_least:
            seconds += random.uniform(0.0, FIRST)
        if self._patience is not None and self._spent + seconds > self._patience:
            return False
        self._next = min(self._next * 2, LONGEST)
        self._spent += seconds
        await asyncio.sleep(seconds)
        return True
