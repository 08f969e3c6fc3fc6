"""What one run shows in one space, from its first word, in the words of another protocol."""

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec

from roomful.domain.entities import Principal
from roomful.domain.errors import NotFound, Unavailable
from roomful.domain.events import (
    Announcement,
    CallInput,
    MemberLeft,
    MessageChanged,
    Position,
    RunChanged,
    TextDelta,
)
from roomful.domain.fold import SpaceView
from roomful.domain.messages import UNSETTLED, Message, Part, ToolCallPart
from roomful.domain.ports import Entry, Subscription
from roomful.domain.runs import ENDED, WAITING, Run
from roomful.domain.shape import UNSET
from roomful.spaces.announcer import space_channel
from roomful.spaces.run_news import run_event
from roomful.web.desk import Desk
from roomful.web.feeds.following import TRIES, viewer_of

_MOST = 1000
_decode = msgspec.json.Decoder(Message).decode


class Face(Protocol):
    """A protocol. What it gives are frames, to be sent in this order."""

    @property
    def is_stuck(self) -> bool:
        """Something has to be taken back that this protocol cannot: the reader has to begin anew."""
        ...

    def tell(self, messages: list[Message]) -> bytes:
        """The run's messages are like this now: all that was not told yet."""
        ...

    def grow(self, event: TextDelta | CallInput) -> bytes:
        """The same for a part that grew, without looking at all of it."""
        ...

    def can_answer(self, part: ToolCallPart) -> bool:
        """Whether a reader can answer this card in the words of the protocol. Then its stream ends, so that
        they may."""
        ...

    def end(self, run: RunChanged | None) -> bytes:
        """The run has ended, or waits for this reader; None when no run was begun."""
        ...


class Followed(msgspec.Struct, frozen=True):
    run: Run | None
    answered: frozenset[str] = frozenset()
    """Cards that this reader has answered: if they still wait, it is for others."""


class OneRunFeed:
    def __init__(
        self,
        desk: Desk,
        principal: Principal,
        space_id: str,
        find: Callable[[], Awaitable[Followed]],
        face: Face,
    ) -> None:
        """`find` says which run, and may be what begins it: it is asked once."""
        self.space_id = space_id
        self.has_ended = False
        self._house = desk.house
        self._principal = principal
        self._viewer = viewer_of(principal)
        self._find = find
        self._face = face
        self._channel = space_channel(space_id)
        self._followed: Followed | None = None
        self._view = SpaceView()
        self._waiting: RunChanged | None = None

    async def open(self, *, before: Subscription | None = None) -> tuple[Subscription, bytes]:
        if before is not None:
            await self._house.access.space(self._principal, self.space_id, "read")
        if self._followed is None:
            self._followed = await self._find()
        run = self._followed.run
        if run is None:
            return await self._open_for_nobody()
        for _ in range(TRIES):
            found = await self._run(run.id)
            subscription, messages = await self._read(found)
            if subscription is None:
                continue
            after = await self._run(run.id)
            if after.status in WAITING | ENDED and after.status != found.status:
                subscription.close()  # How it came to that may have been told before we followed.
                continue
            self._view = SpaceView()
            self._view.load(messages, [], [])
            told = self._face.tell(messages)
            told += (
                self._face.end(None) if self._is_stuck() else self._look_at(run_event(found, self.space_id))
            )
            told = told if self.has_ended else told + self.frames(subscription.take())
            if not self.has_ended:
                subscription.narrow([run.id])
            return subscription, told
        raise Unavailable("this space is too lively to be read just now: try again")

    def frames(self, entries: list[Entry]) -> bytes:
        frames: list[bytes] = []
        for entry in entries:
            if self.has_ended:
                break
            frames.append(self._frame(entry.announcement))
        return b"".join(frames)

    def close(self) -> None:
        pass

    def _frame(self, announcement: Announcement) -> bytes:
        event = announcement.event
        if isinstance(event, MemberLeft) and event.member.entity_id == self._viewer:
            self.has_ended = True
            return b""
        if not self._is_ours(announcement):
            return b""
        self._view.apply(event)
        if isinstance(event, TextDelta | CallInput):
            return self._face.grow(event)
        if isinstance(event, RunChanged):
            return self._look_at(event)
        told = self._face.tell(self._view.messages())
        if self._is_stuck():
            return told + self._face.end(None)
        return told if self._waiting is None else told + self._look_at(self._waiting)

    def _is_ours(self, announcement: Announcement) -> bool:
        assert self._followed is not None
        run, event = self._followed.run, announcement.event
        if run is None or announcement.audience not in (None, self._viewer):
            return False
        if isinstance(event, MessageChanged):
            return event.message.run_id == run.id
        return (event.run_id if isinstance(event, RunChanged) else announcement.run_id) == run.id

    def _look_at(self, run: RunChanged) -> bytes:
        """The last words, if there is nothing more to hear. A run whose message is open has not ended for
        those who read: its end is stored, and will be heard."""
        is_open = any(message.status == "open" for message in self._view.messages())
        has_ended = run.status in ENDED and not is_open
        self._waiting = run if run.status in WAITING else None
        if not has_ended and (self._waiting is None or self._is_at_work() or not self._asks_reader(run)):
            return b""
        self.has_ended = True
        return self._face.tell(self._view.messages()) + self._face.end(run)

    def _is_stuck(self) -> bool:
        self.has_ended = self.has_ended or self._face.is_stuck
        return self._face.is_stuck

    def _is_at_work(self) -> bool:
        """Whether other calls of a waiting run go on. It does not before they have ended, whoever answers."""
        return any(part.status in UNSETTLED for message in self._view.messages() for part in message.parts)

    def _asks_reader(self, run: RunChanged) -> bool:
        """Whether it waits for a card of this reader's. What is meant for one member is in no list."""
        assert self._followed is not None
        pending = {call.tool_call_id for call in run.pending_tool_calls or ()}
        parts: list[Part] = [part for message in self._view.messages() for part in message.parts]
        return any(
            isinstance(part, ToolCallPart)
            and part.status == "waiting"
            and (part.tool_call_id in pending or part.target_entity_id is not UNSET)
            and part.tool_call_id not in self._followed.answered
            and self._face.can_answer(part)
            for part in parts
        )

    async def _run(self, run_id: str) -> Run:
        run = await self._house.store.run(run_id)
        if run is None:
            raise NotFound(f"there is no run {run_id!r} any more")
        return run

    async def _read(self, run: Run) -> tuple[Subscription | None, list[Message]]:
        """What the run has said here, and where to follow from."""
        page = await self._house.history.page(self.space_id, self._viewer, limit=_MOST, of_run=run)
        position = Position.parse(page.position)
        assert position is not None
        return self._house.bus.subscribe(self._channel, position), [_decode(raw) for raw in page.messages]

    async def _open_for_nobody(self) -> tuple[Subscription, bytes]:
        await self._house.bus.follows(self._channel)
        subscription = self._house.bus.subscribe(self._channel, self._house.bus.position(self._channel))
        assert subscription is not None, "the channel was followed a moment ago"
        self.has_ended = True
        return subscription, self._face.end(None)
