"""A Roomful in a thread of the test, whose clock the test moves.

    with InHouse(tmp_path) as house:
        ...                             # as with any Roomful: house.person, house.space, house.agent
        house.clock.move(hours=2)       # when this returns, whatever is due by then has begun

It is the whole product behind a real port; only the clock is another. `terminate` and `start` are a stop and
a start with the same database, between which the clock can be moved too.
"""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from roomful.app import Gateway
from roomful.bus import InMemoryBus
from roomful.settings import Settings
from roomful.web.house import House
from roomful.web.server import Server
from tests.servers.roomful import ADMIN_KEY, PATIENCE, Roomful

MORNING = "2026-03-02T08:00:00Z"
"""A Monday, far from any change of the clocks."""


class MovableClock:
    """Goes as any clock does, from a time that the test chose, and jumps when it says so."""

    def __init__(self, start: str = MORNING) -> None:
        self._ahead = datetime.fromisoformat(start).timestamp() - time.monotonic()
        self._stopped_at: float | None = None
        self.on_move: list[Callable[[], None]] = []

    def now(self) -> float:
        return self._ahead + (time.monotonic() if self._stopped_at is None else self._stopped_at)

    def iso(self) -> str:
        moment = datetime.fromtimestamp(self.now(), UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def stop(self) -> None:
        """From now on only `move` makes it later."""
        self._stopped_at = time.monotonic()

    def move(self, seconds: float = 0, **more: float) -> None:
        """On by so many seconds, or by `minutes=`, `hours=`, `days=` or `weeks=`. When this returns, every
        house with this clock has begun what is due by then."""
        self._ahead += timedelta(seconds=seconds, **more).total_seconds()
        with ThreadPoolExecutor() as at_once:
            for look in [at_once.submit(each) for each in self.on_move]:
                look.result()

    def move_to(self, moment: str) -> None:
        self.move(datetime.fromisoformat(moment).timestamp() - self.now())


class InHouse(Roomful):
    def __init__(
        self,
        folder: Path,
        *,
        clock: MovableClock | None = None,
        database: str | None = None,
        **settings: Any,
    ) -> None:
        """`settings` are fields of `Settings`."""
        super().__init__(folder, database=database)
        self.clock = clock or MovableClock()
        self.clock.on_move.append(self.look)
        without_limits: dict[str, Any] = {"limit_posts": 0, "limit_space_posts": 0, "limit_wrong_tokens": 0}
        self._settings = Settings(
            port=self.port,
            database=self.database,
            admin_key=ADMIN_KEY,
            secret_key="a-secret-key-for-tests",
            **without_limits | settings,
        )
        self._running: _Running | None = None

    def start(self) -> Self:
        assert self._running is None, "the house is open already"
        self._running = _Running(self._settings, self.clock)
        self.look()
        return self

    def terminate(self) -> int:
        """Stops as SIGTERM does."""
        assert self._running is not None, "the house is closed"
        running, self._running = self._running, None
        running.stop()
        return 0

    def look(self) -> None:
        """The house looks for what is due. When this returns, it has."""
        if self._running is not None:
            self._running.look()

    @property
    def outside_bus(self) -> InMemoryBus:
        """Where agents in this process and the house meet."""
        assert self._running is not None
        return self._running.outside_bus

    @contextlib.contextmanager
    def reads(self) -> Iterator[list[str]]:
        """The statements that the house reads with meanwhile."""
        assert self._running is not None
        with self._running.reads() as asked:
            yield asked

    @property
    def inside(self) -> House:
        """What the house is made of, to be counted."""
        assert self._running is not None
        return self._running.inside

    @property
    def tasks(self) -> int:
        """How many there are on its loop."""
        assert self._running is not None
        return self._running.tasks

    def kill(self) -> None:
        raise AssertionError("a thread cannot be killed: use Roomful, which is a process")

    def __exit__(self, *_: object) -> None:
        self.client.close()
        if self._running is not None:
            self.terminate()


class _Running:
    """A gateway on the loop of a thread of its own, from its opening to its close."""

    def __init__(self, settings: Settings, clock: MovableClock) -> None:
        self._settings = settings
        self._clock = clock
        self._loop = asyncio.new_event_loop()
        self._gateway: Gateway | None = None
        self._server: Server | None = None
        self._failure: BaseException | None = None
        self._ready = threading.Event()
        self._looks = 0
        self._looked = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="in-house", daemon=True)
        self._thread.start()
        assert self._ready.wait(PATIENCE), "the house did not open"
        self._raise_failure()

    def look(self) -> None:
        """Twice: the first time the worker may have been in the middle of it."""
        assert self._gateway is not None
        for count in (self._looks + 1, self._looks + 2):
            self._loop.call_soon_threadsafe(self._gateway.house.worker.look)
            with self._looked:
                assert self._looked.wait_for(lambda least=count: self._looks >= least, PATIENCE), "no look"

    @property
    def inside(self) -> House:
        assert self._gateway is not None
        return self._gateway.house

    @property
    def tasks(self) -> int:
        return len(asyncio.all_tasks(self._loop))

    @property
    def outside_bus(self) -> InMemoryBus:
        assert self._gateway is not None
        assert self._gateway.conversations.bus is not None
        return self._gateway.conversations.bus

    @contextlib.contextmanager
    def reads(self) -> Iterator[list[str]]:
        assert self._gateway is not None
        store: Any = self._gateway.house.store
        rows = store._reader.rows
        asked: list[str] = []

        async def counted(sql: str, *given: Any, **more: Any) -> Any:
            asked.append(sql)
            return await rows(sql, *given, **more)

        store._reader.rows = counted
        try:
            yield asked
        finally:
            store._reader.rows = rows

    def stop(self) -> None:
        assert self._server is not None
        self._server.should_exit = True
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the house did not close"
        self._raise_failure()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            self._thread.join(PATIENCE)
            raise self._failure

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._serve())
        except BaseException as failure:  # noqa: BLE001 - the test's thread raises it
            self._failure = failure
        self._ready.set()

    async def _serve(self) -> None:
        self._gateway = await Gateway.open(self._settings, clock=self._clock)
        self._gateway.house.worker.each_tick(self._count_look)
        try:
            await self._gateway.start()
            self._server = Server(
                self._gateway.app, self._settings.host, self._settings.port, self._ready.set
            )
            await self._server.serve()
        finally:
            await self._gateway.close()

    async def _count_look(self) -> None:
        with self._looked:
            self._looks += 1
            self._looked.notify_all()
