"""What a node is made of: chance, a clock that jumps, a disk that fails, and a network that loses."""

import base64
import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from roomful.domain.errors import Unavailable
from roomful.domain.ports import Clock, Store
from roomful.store.database import Broken, Database, Row
from roomful.store.record import Record
from roomful.store.sqlite import SqliteEngine
from roomful.store.writer import Ticket
from tests.simulation.loop import Node, SimLoop

BEGAN = datetime(2026, 3, 2, 8, tzinfo=UTC).timestamp()


class SeededIds:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def new(self, prefix: str) -> str:
        return f"{prefix}_{self._text(16)}"

    def secret(self) -> str:
        return self._text(32)

    def _text(self, size: int) -> str:
        return base64.urlsafe_b64encode(self._chance.randbytes(size)).rstrip(b"=").decode()


class SimClock:
    """The loop's time as a date. `ahead` is how wrong it is."""

    def __init__(self, loop: SimLoop) -> None:
        self._loop = loop
        self.ahead = 0.0

    def now(self) -> float:
        return BEGAN + self._loop.time() + self.ahead

    def iso(self) -> str:
        moment = datetime.fromtimestamp(self.now(), UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class LoopHand:
    """A writer's hand that takes its time on the loop. Between a commit and the news of it lies a moment in
    which a node may crash."""

    def __init__(self, loop: SimLoop) -> None:
        self._loop = loop
        self._work: Callable[[list[Ticket]], None] | None = None
        self._queue: deque[Ticket] = deque()
        self._is_busy = False
        self._told_at = 0.0
        self.slow_by = 0.0
        """How many seconds later than usual it is known here what was stored."""
        self.is_dead = False

    def start(self, work: Callable[[list[Ticket]], None]) -> None:
        self._work = work

    def give(self, item: Ticket) -> None:
        if self.is_dead:
            item.future.set_exception(Unavailable("the machine is dead"))
            return
        self._queue.append(item)
        if not self._is_busy:
            self._is_busy = True
            self._loop.call_later(self._loop.lag(), self._turn)

    def tell(self, loop: Any, tell: Callable[[], None]) -> None:
        self._told_at = max(self._told_at, self._loop.time() + self.slow_by + self._loop.lag())
        self._loop.call_at(self._told_at, tell)

    def waiting(self) -> Iterator[Ticket]:
        while self._queue:
            yield self._queue.popleft()

    def pause(self, seconds: float) -> bool:
        return False

    async def close(self) -> None:
        if self._queue and not self.is_dead:
            self._turn()
        told = self._loop.create_future()
        self._loop.call_at(max(self._told_at, self._loop.time()), told.set_result, None)
        await told

    def _turn(self) -> None:
        assert self._work is not None
        if batch := [self._queue.popleft() for _ in range(min(256, len(self._queue)))]:
            self._work(batch)
        self._is_busy = bool(self._queue)
        if self._is_busy:
            self._loop.call_later(self._loop.lag(), self._turn)


class FailingDatabase:
    """A database whose commits fail where the seed says: some before they are stored, some after."""

    def __init__(self, inner: Database, faults: Iterator[str], shared: bool) -> None:
        self._inner = inner
        self._faults = faults
        self.shared = shared

    def rows(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        return self._inner.rows(sql, params)

    def count(self, sql: str, params: Sequence[Any] = ()) -> int:
        return self._inner.count(sql, params)

    def begin(self) -> None:
        self._inner.begin()

    def commit(self) -> None:
        fault = next(self._faults)
        if fault == "refused":
            self.rollback()
        else:
            self._inner.commit()
        if fault:
            raise Broken(f"a commit was {fault}")

    def rollback(self) -> None:
        self._inner.rollback()

    def take_schema(self) -> None:
        self._inner.take_schema()

    def take_id(self, id: str) -> None:
        self._inner.take_id(id)

    def close(self) -> None:
        self._inner.close()


class SimEngine:
    """SQLite in one thread. Where it is `shared` it stands for a server: then reads take a moment too."""

    is_guest = False

    def __init__(self, path: Path, loop: SimLoop, clock: Clock, faults: Iterator[str], shared: bool) -> None:
        self._loop = loop
        self._shared = shared
        self._engine = SqliteEngine(f"sqlite:///{path}", patience=0.0, exclusive=not shared, now=clock.now)
        self.writing = FailingDatabase(self._engine.writing, faults, shared)

    @property
    def reader(self) -> "SimEngine":
        return self

    async def rows(self, sql: str, params: Sequence[Any] = (), *, slow: bool = False) -> list[Row]:
        if not (slow or self._shared):
            return await self._engine.reader.rows(sql, params)
        await _moment(self._loop)
        found = await self._engine.reader.rows(sql, params)
        await _moment(self._loop)
        return found

    def close(self) -> None:
        self._engine.close()


async def _moment(loop: SimLoop) -> None:
    passed = loop.create_future()
    loop.call_later(loop.lag(0.01), lambda: passed.done() or passed.set_result(None))
    await passed


class Disk:
    """A database file, which outlives its nodes."""

    def __init__(self, path: Path, loop: SimLoop, clock: Clock, *, shared: bool) -> None:
        self.path = path
        self._loop = loop
        self._clock = clock
        self._shared = shared

    async def open(
        self, name: str, clock: Clock, faults: Iterator[str]
    ) -> tuple[Store, "LoopHand", SimEngine]:
        engine = SimEngine(self.path, self._loop, self._clock, faults, self._shared)
        hand = LoopHand(self._loop)
        record = Record(engine, clock, name=name, hand=hand)
        await record.tidy()
        return record, hand, engine


class Network:
    """Between the nodes. What one sends reaches each of the others in order, unless it is lost."""

    def __init__(self, loop: SimLoop) -> None:
        self.loop = loop
        self.links: list[SimLink] = []


class SimLink:
    """The port `Link`. `cut` loses what is on its way."""

    def __init__(self, network: Network, node: Node) -> None:
        self.is_up = False
        self.on_parcel: Callable[[str, bytes], None] | None = None
        self.on_change: Callable[[bool], None] | None = None
        self.wanted = True
        self._network = network
        self._node = node
        self._channels: dict[str, None] = {}
        self._life = 0
        self._heard_at = 0.0
        self.slow_by = 0.0
        """How many seconds later than usual everything arrives here."""
        network.links.append(self)

    async def start(self) -> None:
        if self.wanted:
            self.join()

    def join(self) -> None:
        self.wanted = True
        if not self.is_up and self.on_change is not None:
            self.is_up = True
            self._network.loop.call_soon(self.on_change, True, context=self._node.context())

    def cut(self) -> None:
        self.wanted = False
        self._life += 1
        if self.is_up and self.on_change is not None:
            self.is_up = False
            self._network.loop.call_soon(self.on_change, False, context=self._node.context())

    def send(self, parcels: Sequence[tuple[str, bytes]]) -> None:
        if self.is_up:
            for channel, parcel in parcels:
                self._send(channel, parcel)

    async def ask(self, channel: str, parcel: bytes) -> int:
        if not self.is_up:
            return 0
        reached = self._send(channel, parcel)
        await _moment(self._network.loop)
        return reached

    async def follow(self, channel: str) -> None:
        if self.is_up:
            await _moment(self._network.loop)
        self._channels[channel] = None
        if self.is_up:
            await _moment(self._network.loop)

    def leave(self, channel: str) -> None:
        self._channels.pop(channel, None)

    async def close(self) -> None:
        self.is_up = False
        self._network.links.remove(self)

    def _send(self, channel: str, parcel: bytes) -> int:
        hearing = [link for link in self._network.links if link.is_up and channel in link._channels]
        for link in hearing:
            link._carry(channel, parcel)
        return len(hearing)

    def _carry(self, channel: str, parcel: bytes) -> None:
        loop = self._network.loop
        self._heard_at = max(self._heard_at, loop.time() + self.slow_by + loop.lag())
        loop.call_at(self._heard_at, self._arrive, self._life, channel, parcel, context=self._node.context())

    def _arrive(self, life: int, channel: str, parcel: bytes) -> None:
        if life == self._life and self.is_up and self.on_parcel is not None:
            self.on_parcel(channel, parcel)
