"""The bus of one process: its channels by name, kept as long as somebody follows them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from roomful.bus.channel import Channel, MemorySubscription
from roomful.bus.lane import MemoryLane, straight_to
from roomful.domain.arguments import Growth
from roomful.domain.events import Announcement, CutReason, Position
from roomful.domain.ports import Clock

FOLLOWED_SECONDS = 300.0
SWEEP = 1000
"""How many channels there may be before those that nobody follows are looked for."""


class MemoryBus:
    """A channel that nobody reads, and nobody asked a position of for five minutes, keeps no log."""

    def __init__(self, clock: Clock, new_epoch: Callable[[], str]) -> None:
        self._clock = clock
        self._new_epoch = new_epoch
        self._channels: dict[str, Channel] = {}
        self.is_followed = self._channels.__contains__
        self._sweep_at = SWEEP
        self.on_follow: Callable[[str], Awaitable[None]] | None = None
        """Called when a channel is first followed here; what it answers with ends when others are heard."""
        self.on_leave: Callable[[str], None] | None = None

    def publish(self, channel: str, announcements: Sequence[Announcement]) -> None:
        if (log := self._channels.get(channel)) is None:
            return
        if log.branches or log.is_in_use or self._clock.now() - log.followed_at < FOLLOWED_SECONDS:
            log.extend(announcements)
        else:
            self._leave(channel)

    def lane(self, channel: str, growth: Growth) -> MemoryLane | None:
        log = self._channels.get(channel)
        return straight_to(log, growth) if log is not None else None

    def position(self, channel: str) -> Position:
        log = self._followed(channel)
        return Position(log.epoch, log.head)

    def subscribe(self, channel: str, after: Position) -> "MemorySubscription | None":
        log = self._followed(channel)
        if after.epoch != log.epoch or not log.head - len(log.entries) <= after.offset <= log.head:
            return None
        return MemorySubscription(log, after.offset)

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

    def _followed(self, channel: str) -> "Channel":
        log = self._channels.get(channel)
        if log is None:
            if len(self._channels) >= self._sweep_at:
                self._sweep()
            log = self._channels[channel] = Channel(self._new_epoch())
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


def _has_failed(ready: "asyncio.Future[None]") -> bool:
    return ready.done() and not ready.cancelled() and ready.exception() is not None
