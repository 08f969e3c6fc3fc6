"""The real clock and real chance. Everything that needs time or an id is given one of these."""

import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime

from roomful.domain.ports import Store


class SystemClock:
    def now(self) -> float:
        return time.time()

    def iso(self) -> str:
        return _iso(self.now())


class SharedClock:
    """The time of a database that several machines share, whatever their own clocks say: deadlines and plans
    come at the same moment for all of them. In between it goes by a clock that nobody can set."""

    def __init__(
        self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic
    ) -> None:
        self._steady = steady
        self._ahead = wall() - steady()

    def now(self) -> float:
        return self._ahead + self._steady()

    def iso(self) -> str:
        return _iso(self.now())

    async def agree(self, store: Store) -> None:
        asked = self._steady()
        moment = await store.moment()
        self._ahead = moment - (asked + self._steady()) / 2


class RandomIds:
    def new(self, prefix: str) -> str:
        return f"{prefix}_{secrets.token_urlsafe(16)}"

    def secret(self) -> str:
        return secrets.token_urlsafe(32)


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
