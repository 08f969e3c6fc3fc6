"""Something that is done a moment later, once for all that came in the meantime."""

import asyncio
from collections.abc import Callable

STEP = 0.05
SHARES = 2
"""So many moments are in a step: what everybody stores at once holds everybody up."""


class Later:
    """Done after `seconds` at most, and in the same moment as others of its kind: what they store together
    costs little more than what one of them stores alone."""

    def __init__(self, seconds: float, share: int = 0) -> None:
        self._seconds = seconds
        self._after = share % SHARES * STEP / SHARES
        self._timer: asyncio.TimerHandle | None = None

    def come(self, do: Callable[[], None]) -> None:
        if self._timer is None:
            loop = asyncio.get_running_loop()
            latest = loop.time() + self._seconds - self._after
            self._timer = loop.call_at(latest // STEP * STEP + self._after, self._now, do)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _now(self, do: Callable[[], None]) -> None:
        self._timer = None
        do()
