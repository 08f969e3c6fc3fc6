"""What a space holds, as of a position in its stream: the fold of every event up to it, no more, no less."""

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import msgspec

from roomful.domain.events import Position
from roomful.domain.fold import SpaceView
from roomful.domain.messages import Message, as_seen_by, delegations, with_answers
from roomful.domain.ports import ANSWERED, DELEGATES, PRIVATE, Store, StoredMessage
from roomful.domain.runs import ACTIVE, Run
from roomful.domain.shape import Noun, encode_json
from roomful.domain.spaces import Member
from roomful.domain.trails import Child
from roomful.spaces.announcer import Announcer, copy_of
from roomful.spaces.run_news import run_through
from roomful.spaces.trails import trees, with_trails

T = TypeVar("T")
PAGE = 50
LOOKED_INTO = PRIVATE | DELEGATES
"""Messages with one of these marks are not for everybody as they are stored."""
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


class _Asked(msgspec.Struct, frozen=True):
    space_id: str
    before: int | None
    after: int | None
    limit: int
    query: str | None
    of_run: Run | None = None

    def possible(self, places: Iterable[tuple[int, str]]) -> list[str]:
        """The ids of those messages that may be on the page, by their `seq` alone."""
        within = sorted(
            (seq, id)
            for seq, id in places
            if (self.after is None or seq > self.after) and (self.before is None or seq < self.before)
        )
        if self.query is None and self.of_run is None:
            most = max(1, self.limit)
            within = within[:most] if self.after is not None else within[-most:]
        return [id for _, id in within]


class _Found(msgspec.Struct, Generic[T]):
    rows: list[StoredMessage]
    growing: dict[str, Message]
    """Those of them that grow, as they had been announced at that moment."""
    trails: dict[str, Child]
    has_more: bool
    where: T
    """Where the stream was at that moment."""

    def seen_by(self, viewer: str | None) -> list[msgspec.Raw]:
        growing = self.growing
        seen = [
            _encoded(self.look_into(row, viewer))
            if row.marks & LOOKED_INTO or row.id in growing
            else msgspec.Raw(row.body)
            for row in self.rows
        ]
        return [raw for raw in seen if raw is not None]

    def look_into(self, row: StoredMessage, viewer: str | None) -> Message | None:
        """The message for this viewer; None when all of it is meant for somebody else. Of one that grows only
        answers may be known to the row alone."""
        message = self.growing.get(row.id)
        if message is None:
            message = _decode(row.body)
        elif row.marks & ANSWERED:
            message = with_answers(message, _decode(row.body))
        seen = as_seen_by(with_trails(message, self.trails), viewer)
        return seen if seen.parts or not message.parts else None


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
        of_run: Run | None = None,
    ) -> Page:
        """A page as this viewer may see it, for those who go on by following the space."""
        await self._announcer.follows(space_id)
        asked = _Asked(space_id, before, after, limit, query, of_run)
        found = await self._read(asked, lambda: self._announcer.position(space_id))
        return Page(messages=found.seen_by(viewer), position=str(found.where), has_more=found.has_more)

    async def look(
        self, space_id: str, viewer: str | None, *, limit: int, query: str = ""
    ) -> list[msgspec.Raw]:
        """The last messages, or the last with these words, for those who only look."""
        asked = _Asked(space_id, None, None, limit, query or None)
        return (await self._read(asked, lambda: None)).seen_by(viewer)

    async def _read(self, asked: _Asked, where: Callable[[], T]) -> _Found[T]:
        def as_of_now() -> tuple[T, dict[str, Message]]:
            places = self._announcer.growing_at(asked.space_id)
            possible = asked.possible(places) if places else ()
            growing = [self._announcer.one_growing(asked.space_id, id) for id in possible]
            return where(), {message.id: copy_of(message) for message in growing if message is not None}

        rows, below, more, (position, growing) = await self._store.history(
            asked.space_id,
            before=asked.before,
            after=asked.after,
            limit=asked.limit,
            query=asked.query,
            of_run=asked.of_run,
            at=as_of_now,
        )
        return _Found(rows, growing, trees(below), more, position)

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

    async def recent(
        self, space_id: str, viewer: str | None, limit: int, *, skipped: int = 0
    ) -> list[Message]:
        """The last messages, or those before the `skipped` last ones, decoded, for those who think about
        them."""
        before = await self._seq_from_end(space_id, skipped) if skipped else None
        asked = _Asked(space_id, before, None, limit, None)
        found = await self._read(asked, lambda: None)
        seen = [
            found.look_into(row, viewer)
            if row.marks & LOOKED_INTO or row.id in found.growing
            else _decode(row.body)
            for row in found.rows
        ]
        return [message for message in seen if message is not None]

    async def _seq_from_end(self, space_id: str, count: int) -> int:
        """The `seq` behind which there are less than `count` messages: a space leaves none out."""
        rows, _, _, _ = await self._store.history(
            space_id, before=None, after=None, limit=1, query=None, at=lambda: None
        )
        return rows[-1].seq - count + 1 if rows else 0

    async def _active(self, space_id: str) -> list[Run]:
        return await self._store.runs(space_id=space_id, statuses=ACTIVE)

    async def message(self, space_id: str, viewer: str | None, message_id: str) -> Message | None:
        """One message as it stands, with what its sub-agents have done."""
        await self._announcer.follows(space_id)
        stored = await self._store.message(space_id, message_id)
        if stored is None:
            return None
        message = with_answers(self._announcer.one_growing(space_id, message_id) or stored, stored)
        calls = [part.tool_call_id for part in delegations(message)]
        found = trees(await self._store.descent(calls)) if calls else {}
        return as_seen_by(with_trails(message, found), viewer)


def _encoded(message: Message | None) -> msgspec.Raw | None:
    return msgspec.Raw(encode_json(message)) if message is not None else None


def view_of(snapshot: Snapshot) -> SpaceView:
    """A reader's view, ready to be folded further."""
    view = SpaceView()
    view.load([_decode(raw) for raw in snapshot.messages], snapshot.members, [])
    return view
