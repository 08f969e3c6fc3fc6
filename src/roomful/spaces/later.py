"""Something that is done a moment later, once for all that came in the meantime."""

import asyncio
from collections.abc import Callable

STEP = 0.05


class Later:
    """Done after `seconds` at most, and in the same moment as others of its kind: what they store together
    costs little more than what one of them stores alone."""

    def __init__(self, seconds: float, do: Callable[[], None]) -> None:
        self._seconds = seconds
        self._do = do
        self._timer: asyncio.TimerHandle | None = None

    def come(self) -> None:
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at((loop.time() + self._seconds) // STEP * STEP, self._now)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _now(self) -> None:
        self._timer = None
        self._do()
