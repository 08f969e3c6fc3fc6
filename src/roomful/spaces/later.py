"""Something that is done a moment later, once for all that came in the meantime."""

import asyncio
from collections.abc import Callable


class Later:
    def __init__(self, seconds: float, do: Callable[[], None]) -> None:
        self._seconds = seconds
        self._do = do
        self._timer: asyncio.TimerHandle | None = None

    def come(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._now)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _now(self) -> None:
        self._timer = None
        self._do()
