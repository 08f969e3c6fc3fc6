"""One space as a conversation: what is said and done there, in four words."""

import msgspec

from roomful.domain.entities import Principal
from roomful.domain.errors import Conflict
from roomful.domain.events import MemberLeft, Position
from roomful.domain.messages import Message
from roomful.domain.ports import Entry, Subscription
from roomful.domain.stream_events import encode_event, event_name
from roomful.domain.wire import one_frame
from roomful.spaces.announcer import space_channel
from roomful.spaces.narrating import Narrator
from roomful.web.desk import Desk
from roomful.web.feeds.following import viewer_of
from roomful.web.queries import Query

GROWING = 50
"""The latest messages; those that grow are among them."""

_decode = msgspec.json.Decoder(Message).decode


class ConversationQuery(Query, frozen=True):
    last_event_id: str | None = None
    """Where to go on from; the header Last-Event-ID counts more."""


class ConversationFeed:
    """Begins now, or behind the event with the id `last`. One that is not known is refused: whoever asks
    would miss something and not know it. When something is missed later, the stream ends."""

    def __init__(self, desk: Desk, principal: Principal, space_id: str, last: str) -> None:
        self.space_id = space_id
        self.has_ended = False
        self._house = desk.house
        self._principal = principal
        self._last = last
        self._channel = space_channel(space_id)
        self._epoch = ""
        self._narrator = Narrator(space_id, (), ())

    async def open(self, *, before: Subscription | None = None) -> tuple[Subscription, bytes]:
        bus = self._house.bus
        await bus.follows(self._channel)
        now = bus.position(self._channel)
        after = Position.parse(self._last) if self._last else now
        subscription = bus.subscribe(self._channel, after) if after is not None and before is None else None
        if subscription is None or after is None:
            raise Conflict(
                "Last-Event-ID: this stream does not go back there, so something may be missed; "
                f"read /api/spaces/{self.space_id}/messages and follow without it"
            )
        self._epoch = after.epoch
        try:
            # Asked now that nothing can be missed, as by every stream of a space.
            await self._house.access.space(self._principal, self.space_id, "read")
            members = await self._house.store.members(self.space_id)
            page = await self._house.history.page(self.space_id, viewer_of(self._principal), limit=GROWING)
        except BaseException:
            subscription.close()
            raise
        self._narrator = Narrator(self.space_id, members, map(_decode, page.messages))
        return subscription, f"id: {after}\n\n".encode() + self.frames(subscription.take())

    def frames(self, entries: list[Entry]) -> bytes:
        frames: list[bytes] = []
        for entry in entries:
            announcement = entry.announcement
            if announcement.audience is not None:
                continue
            event = announcement.event
            if isinstance(event, MemberLeft) and event.member.entity_id == viewer_of(self._principal):
                self.has_ended = True
                break
            if (told := self._narrator.tell(event)) is not None:
                position = str(Position(self._epoch, entry.offset))
                frames.append(one_frame(event_name(told), encode_event(told), position))
        return b"".join(frames)

    def close(self) -> None:
        pass
