"""The real clock and real chance. Everything that needs time or an id is given one of these."""

import os
import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable

from roomful.domain.ports import Store
from roomful.runs.schedules import iso_of

ID_BYTES = 16
FETCHED = 256


class SystemClock:
    def now(self) -> float:
        return time.time()

    def iso(self) -> str:
        return iso_of(self.now())


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
        return iso_of(self.now())

    async def agree(self, store: Store) -> None:
        asked = self._steady()
        moment = await store.moment()
        self._ahead = moment - (asked + self._steady()) / 2


class RandomIds:
    """Random bytes are fetched for many ids at once, for other threads get their turn each time. A process
    that was forked fetches its own."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._process = 0

    def new(self, prefix: str) -> str:
        if not self._pieces or self._process != os.getpid():
            fetched = secrets.token_bytes(ID_BYTES * FETCHED)
            self._pieces = [fetched[at : at + ID_BYTES] for at in range(0, len(fetched), ID_BYTES)]
            self._process = os.getpid()
        return f"{prefix}_{urlsafe_b64encode(self._pieces.pop()).rstrip(b'=').decode()}"

    def secret(self) -> str:
        return secrets.token_urlsafe(32)
