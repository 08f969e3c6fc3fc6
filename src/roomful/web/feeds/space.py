"""One space: a snapshot or what was missed, then everything that happens there."""

from roomful.domain.arguments import Growth
from roomful.domain.errors import Unavailable
from roomful.domain.events import MemberLeft
from roomful.domain.ports import Entry, Subscription
from roomful.domain.shape import encode_json
from roomful.domain.wire import frame, one_frame
from roomful.spaces.announcer import space_channel
from roomful.web.desk import Desk
from roomful.web.feeds.following import TRIES, Following, ends_skipped
from roomful.web.sse import SharedFrames, frame_of, growth_of


class SpaceFeed:
    def __init__(self, desk: Desk, who: Following, space_id: str) -> None:
        self.space_id = space_id
        self.has_ended = False
        self._house = desk.house
        self._who = who
        self._channel = space_channel(space_id)
        self._shelf = desk.shelf
        self._epoch = ""
        self._shared: SharedFrames | None = None

    async def open(self, *, before: Subscription | None = None) -> tuple[Subscription, bytes]:
        await self._house.bus.follows(self._channel)
        resumed = self._resume() if before is None else None
        subscription, opening = resumed or await self._start(before)
        try:
            # Asked again now that nothing can be missed: who was put out before hears nothing, and whoever
            # is put out from now on hears of it.
            await self._house.access.space(self._who.principal, self.space_id, "read")
        except BaseException:
            subscription.close()
            raise
        return subscription, opening

    def frames(self, entries: list[Entry]) -> bytes:
        if not entries:
            return b""
        shared = self._shared.of(entries) if self._shared is not None else None
        return shared if shared is not None else b"".join(self._own(entries))

    def growth(self, growth: Growth) -> tuple[bytes, bytes, bytes] | None:
        return growth_of(growth, self._epoch, self._who.form)

    def close(self) -> None:
        pass

    def _resume(self) -> tuple[Subscription, bytes] | None:
        if self._who.after is None:
            return None
        subscription = self._house.bus.subscribe(self._channel, self._who.after)
        if subscription is None:
            return None
        self._share(self._who.after.epoch)
        return subscription, b"".join(self._own(subscription.take()))

    async def _start(self, before: Subscription | None) -> tuple[Subscription, bytes]:
        for _ in range(TRIES):
            snapshot, position = await self._house.history.snapshot(self.space_id, self._who.viewer)
            subscription = self._house.bus.subscribe(self._channel, position)
            if subscription is not None:
                self._share(position.epoch)
                opening = one_frame("snapshot", encode_json(snapshot), str(position))
                ends = ends_skipped(before, position)
                return subscription, opening + b"".join([frame(one, self._who.form) + b"\n" for one in ends])
        raise Unavailable("this space is too lively to be read just now: try again")

    def _share(self, epoch: str) -> None:
        self._epoch = epoch
        self._shared = self._shelf.of(self._channel, epoch, self._who.form)

    def _own(self, entries: list[Entry]) -> list[bytes]:
        """Frames of a moment that is not the same for everybody."""
        frames: list[bytes] = []
        for entry in entries:
            if not self._who.hears(entry.announcement):
                continue
            frames.append(frame_of(entry, self._epoch, self._who.form))
            event = entry.announcement.event
            if isinstance(event, MemberLeft) and event.member.entity_id == self._who.viewer:
                self.has_ended = True
                break
        return frames
