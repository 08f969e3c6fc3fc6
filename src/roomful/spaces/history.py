"""What a space holds, as of a position in its stream: the fold of every event up to it, no more, no less."""

import msgspec

from roomful.domain.events import Position
from roomful.domain.fold import SpaceView
from roomful.domain.messages import Message, as_seen_by
from roomful.domain.ports import Store, StoredMessage
from roomful.domain.runs import ACTIVE, Run
from roomful.domain.shape import Noun, encode_json
from roomful.domain.spaces import Member
from roomful.spaces.announcer import Announcer
from roomful.spaces.run_news import run_through

PAGE = 50
_decode = msgspec.json.Decoder(Message).decode


class Page(Noun):
    messages: list[msgspec.Raw]
    position: str
    has_more: bool


class Snapshot(Noun):
    messages: list[msgspec.Raw]
    members: list[Member]
    runs: list[Run]
    has_more: bool = False


class History:
    def __init__(self, store: Store, announcer: Announcer) -> None:
        self._store = store
        self._announcer = announcer

    async def page(
        self,
        space_id: str,
        viewer: str | None,
        *,
        before: int | None = None,
        after: int | None = None,
        limit: int = PAGE,
        query: str | None = None,
    ) -> Page:
        """A page as this viewer may see it."""
        rows, more, (position, growing) = await self._store.history(
            space_id,
            before=before,
            after=after,
            limit=limit,
            query=query,
            at=lambda: self._as_of_now(space_id, viewer),
        )
        seen = [growing[row.id] if row.id in growing else _raw(row, viewer) for row in rows]
        messages = [message for message in seen if message is not None]
        return Page(messages=messages, position=str(position), has_more=more)

    async def snapshot(self, space_id: str, viewer: str | None) -> tuple[Snapshot, Position]:
        """All that a joiner needs, and the position from which to follow."""
        page = await self.page(space_id, viewer)
        snapshot = Snapshot(
            messages=page.messages,
            members=await self._store.members(space_id),
            runs=[run_through(run, [space_id]) for run in await self._active(space_id)],
            has_more=page.has_more,
        )
        position = Position.parse(page.position)
        assert position is not None
        return snapshot, position

    async def recent(self, space_id: str, viewer: str | None, limit: int) -> list[Message]:
        """The last messages, decoded, for those who think about them."""
        page = await self.page(space_id, viewer, limit=limit)
        return [_decode(raw) for raw in page.messages]

    async def _active(self, space_id: str) -> list[Run]:
        return await self._store.runs(space_id=space_id, statuses=ACTIVE)

    def _as_of_now(self, space_id: str, viewer: str | None) -> tuple[Position, dict[str, msgspec.Raw | None]]:
        position, growing = self._announcer.growing(space_id)
        return position, {id: _seen(message, viewer) for id, message in growing.items()}


def _raw(row: StoredMessage, viewer: str | None) -> msgspec.Raw | None:
    return _seen(_decode(row.body), viewer) if row.is_private else msgspec.Raw(row.body)


def _seen(message: Message, viewer: str | None) -> msgspec.Raw | None:
    """The message for this viewer; None when all of it is meant for somebody else."""
    seen = as_seen_by(message, viewer)
    return msgspec.Raw(encode_json(seen)) if seen.parts or not message.parts else None


def view_of(snapshot: Snapshot) -> SpaceView:
    """A reader's view, ready to be folded further."""
    view = SpaceView()
    view.load([_decode(raw) for raw in snapshot.messages], snapshot.members, [])
    return view
