"""The bus of one process: a bounded log per channel, and readers that are no more than a place in it."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import islice

from roomful.domain.events import Announcement, CallInput, CutReason, Position, RunChanged, TextDelta
from roomful.domain.ports import Clock, Entry
from roomful.domain.shape import UNSET
from roomful.domain.wire import Form, frame

LAG_EVENTS = 1024
LAG_BYTES = 1024 * 1024
WINDOW_EVENTS = 4 * LAG_EVENTS
WINDOW_BYTES = 4 * LAG_BYTES
CROWD = 32
"""So many readers of a channel and more are told of what comes together, not of each thing alone."""
CROWD_SECONDS = 70e-6
"""How long they wait for more, for each of them: a thousand hear of news 14 times a second."""
FOLLOWED_SECONDS = 300.0
SWEEP = 1000
"""How many channels there may be before those that nobody follows are looked for."""


class MemoryBus:
    """A channel that nobody reads, and nobody asked a position of for five minutes, keeps no log."""

    def __init__(self, clock: Clock, new_epoch: Callable[[], str]) -> None:
        self._clock = clock
        self._new_epoch = new_epoch
        self._channels: dict[str, _Channel] = {}
        self._sweep_at = SWEEP
        self.on_follow: Callable[[str], Awaitable[None]] | None = None
        """Called when a channel is first followed here; what it answers with ends when others are heard."""
        self.on_leave: Callable[[str], None] | None = None

    def publish(self, channel: str, announcements: Sequence[Announcement]) -> None:
        if (log := self._channels.get(channel)) is None:
            return
        if log.is_in_use or self._clock.now() - log.followed_at < FOLLOWED_SECONDS:
            log.extend(announcements)
        else:
            self._leave(channel)

    def position(self, channel: str) -> Position:
        log = self._followed(channel)
        return Position(log.epoch, log.head)

    def subscribe(self, channel: str, after: Position) -> "MemorySubscription | None":
        log = self._followed(channel)
        if after.epoch != log.epoch or not log.head - len(log.entries) <= after.offset <= log.head:
            return None
        return MemorySubscription(log, after.offset)

    def is_followed(self, channel: str) -> bool:
        return channel in self._channels

    def relay(self, source: str, target: str) -> None:
        """From now on everything on `source` is on `target` too."""
        self._followed(source).relays[target] = self._followed(target)

    def end_relay(self, source: str, target: str) -> None:
        if (log := self._channels.get(source)) is not None:
            log.relays.pop(target, None)

    async def follows(self, channel: str) -> None:
        log = self._followed(channel)
        if log.ready is not None and _has_failed(log.ready):
            log.ready = self._ready(channel)
        if log.ready is not None:
            await asyncio.shield(log.ready)

    def renew(self, channels: Sequence[str]) -> None:
        """Those that join one of them are renewed with it."""
        fed = [name for channel in channels if (log := self._channels.get(channel)) for name in log.relays]
        for channel in dict.fromkeys([*channels, *fed]):
            if (log := self._channels.get(channel)) is not None:
                log.renew(self._new_epoch())

    def close(self, reason: CutReason) -> None:
        """Ends every subscription."""
        for log in self._channels.values():
            log.close(reason)

    def _sweep(self) -> None:
        """Forgets what nobody follows: ended runs and people who left are never published to again."""
        since = self._clock.now() - FOLLOWED_SECONDS
        fed = {name for log in self._channels.values() for name in log.relays}
        for name, log in list(self._channels.items()):
            if not log.is_in_use and name not in fed and log.followed_at < since:
                self._leave(name)
        self._sweep_at = max(SWEEP, 2 * len(self._channels))

    def _followed(self, channel: str) -> "_Channel":
        log = self._channels.get(channel)
        if log is None:
            if len(self._channels) >= self._sweep_at:
                self._sweep()
            log = self._channels[channel] = _Channel(self._new_epoch())
            log.ready = self._ready(channel)
        log.followed_at = self._clock.now()
        return log

    def _ready(self, channel: str) -> "asyncio.Future[None] | None":
        if self.on_follow is None:
            return None
        ready = asyncio.ensure_future(self.on_follow(channel))
        ready.add_done_callback(_has_failed)
        return ready

    def _leave(self, channel: str) -> None:
        del self._channels[channel]
        if self.on_leave is not None:
            self.on_leave(channel)


class _Channel:
    __slots__ = (
        "branches",
        "branches_of",
        "entries",
        "epoch",
        "followed_at",
        "head",
        "kept",
        "readers",
        "ready",
        "relays",
        "shown",
        "sizes",
        "telling",
        "told_at",
        "volume",
    )

    def __init__(self, epoch: str) -> None:
        self.epoch = epoch
        self.head = 0
        self.shown = 0
        """How far the readers were told that there is something."""
        self.told_at = 0.0
        self.telling: asyncio.TimerHandle | None = None
        self.kept = 0
        """Bytes in the window."""
        self.volume = 0
        """Bytes ever published, so that a reader's lag is one subtraction."""
        self.entries: deque[Entry] = deque()
        self.sizes: deque[int] = deque()
        self.readers: dict[MemorySubscription, None] = {}
        self.relays: dict[str, _Channel] = {}
        self.branches: dict[_Branch, None] = {}
        self.branches_of: dict[str, dict[_Branch, None]] = {}
        """By run."""
        self.followed_at = 0.0
        self.ready: asyncio.Future[None] | None = None

    @property
    def is_in_use(self) -> bool:
        return bool(self.readers or self.branches or self.relays)

    def renew(self, epoch: str) -> None:
        """Those who read now may still take what came before it."""
        self.epoch = epoch
        self.close("renewed")

    def close(self, reason: CutReason) -> None:
        for reader in list(self.readers):
            reader.close(reason)
        for branch in list(self.branches):
            branch.close(reason)

    def extend(self, announcements: Sequence[Announcement]) -> None:
        for announcement in announcements:
            size = _size(announcement)
            entry = Entry(self.head + 1, announcement)
            self.add(entry, size)
            if self.branches:
                self._branch_off(entry, size)
        self.notice()
        for relay in self.relays.values():
            relay.extend(announcements)

    def add(self, entry: Entry, size: int) -> None:
        self.head += 1
        self.volume += size
        self.kept += size
        self.entries.append(entry)
        self.sizes.append(size)
        while len(self.entries) > WINDOW_EVENTS or self.kept > WINDOW_BYTES:
            self.entries.popleft()
            self.kept -= self.sizes.popleft()

    def notice(self) -> None:
        """The first news is told at once; what follows it closely waits for more, if many listen."""
        if self.telling is not None and self.head - self.shown < LAG_EVENTS // 4:
            return
        if len(self.readers) < CROWD:
            self._tell()
            return
        loop = asyncio.get_running_loop()
        wait = self.told_at + len(self.readers) * CROWD_SECONDS - loop.time()
        if wait <= 0 or self.head - self.shown >= LAG_EVENTS // 4:
            self.told_at = loop.time()
            self._tell()
        else:
            self.telling = loop.call_later(wait, self._tell_crowd, loop)

    def _tell_crowd(self, loop: asyncio.AbstractEventLoop) -> None:
        self.told_at = loop.time()
        self._tell()

    def _tell(self) -> None:
        if self.telling is not None:
            self.telling.cancel()
            self.telling = None
        self.shown = self.head
        for reader in list(self.readers):
            reader.notice()

    def leave(self, reader: "MemorySubscription") -> None:
        self.readers.pop(reader, None)

    def _branch_off(self, entry: Entry, size: int) -> None:
        run_id, event = entry.announcement.run_id, entry.announcement.event
        if run_id is not None and isinstance(event, RunChanged) and event.root_run_id is not UNSET:
            for branch in tuple(self.branches_of.get(event.root_run_id, ())):
                branch.hear(run_id)
        for branch in self.branches if run_id is None else self.branches_of.get(run_id, ()):
            branch.add(entry, size)
            branch.notice()

    def since(self, offset: int) -> list[Entry]:
        """From the newest one backwards: who follows closely does not walk through the whole window."""
        entries = list(islice(reversed(self.entries), self.head - offset))
        entries.reverse()
        return entries


class _Branch(_Channel):
    """What one reader wants of a channel: some runs, and all that is of no run."""

    __slots__ = ("_runs", "_trunk")

    def __init__(self, trunk: _Channel, run_ids: Iterable[str]) -> None:
        super().__init__(trunk.epoch)
        self._trunk = trunk
        self._runs: list[str] = []
        trunk.branches[self] = None
        for run_id in run_ids:
            self.hear(run_id)

    def hear(self, run_id: str) -> None:
        self._runs.append(run_id)
        self._trunk.branches_of.setdefault(run_id, {})[self] = None

    def leave(self, reader: "MemorySubscription") -> None:
        super().leave(reader)
        self._trunk.branches.pop(self, None)
        for run_id in self._runs:
            branches = self._trunk.branches_of.get(run_id, {})
            branches.pop(self, None)
            if not branches:
                self._trunk.branches_of.pop(run_id, None)


class MemorySubscription:
    __slots__ = ("_log", "_offset", "_timer", "_until", "_volume", "_waiter", "cut", "on_cut")

    def __init__(self, log: _Channel, offset: int) -> None:
        self._log = log
        self._offset = offset
        self._volume = log.volume
        self._waiter: asyncio.Future[bool] | None = None
        self._timer: asyncio.TimerHandle | None = None
        """Outlives a wait: one that is rarely too long sets it once in that time, not once an event."""
        self._until = 0.0
        self.cut: CutReason | None = None
        self.on_cut: Callable[[], None] | None = None
        """Called when a reader is cut while it may be stuck in a write."""
        log.readers[self] = None

    def take(self) -> list[Entry]:
        if self._offset == self._log.head:
            return []
        entries = self._log.since(self._offset)
        self._offset, self._volume = self._log.head, self._log.volume
        return entries

    async def wait(self, seconds: float) -> bool:
        if self.cut or self._offset < self._log.shown:
            return True
        loop = asyncio.get_running_loop()
        self._until = loop.time() + seconds
        if self._timer is not None and self._timer.when() > self._until:
            self._stop_timer()
        if self._timer is None:
            self._timer = loop.call_at(self._until, self._look_at_clock)
        self._waiter = waiter = loop.create_future()
        try:
            return await waiter
        finally:
            self._waiter = None

    def narrow(self, run_ids: Iterable[str]) -> None:
        assert self._offset == self._log.head, "what was there has been taken"
        if self.cut is None:
            self._log.leave(self)
            self._log = _Branch(self._log, run_ids)
            self._offset = self._volume = 0
            self._log.readers[self] = None

    def notice(self) -> None:
        lag = self._log.head - self._offset
        if lag > LAG_EVENTS or self._log.volume - self._volume > LAG_BYTES:
            self.close("slow")
        elif self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(True)

    def close(self, reason: CutReason = "closed") -> None:
        self._log.leave(self)
        if self.cut is not None:
            return
        self.cut = reason
        self._stop_timer()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(True)
        if self.on_cut is not None:
            self.on_cut()

    def _look_at_clock(self) -> None:
        self._timer = None
        if self._waiter is None or self._waiter.done():
            return
        loop = self._waiter.get_loop()
        if loop.time() < self._until:
            self._timer = loop.call_at(self._until, self._look_at_clock)
        else:
            self._waiter.set_result(False)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _has_failed(ready: "asyncio.Future[None]") -> bool:
    return ready.done() and not ready.cancelled() and ready.exception() is not None


def _size(announcement: Announcement) -> int:
    """About what the event weighs on the wire; a delta is not encoded just to be weighed."""
    event = announcement.event
    if isinstance(event, TextDelta):
        return len(event.delta) + 96
    if isinstance(event, CallInput):
        size = 96
        for _, _, value in event.ops:
            size += len(value) if isinstance(value, str) else 64
        return size
    return len(frame(announcement, Form.OPS))
