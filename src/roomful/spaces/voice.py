"""A run's voice: everything one run says in all its spaces, in the order it was said.

What must be durable is committed before anybody hears it, and whatever is said behind it waits for it. The
rest is heard at once and saved a moment later. Every write carries the run's lease.
"""

from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32

import msgspec

from roomful.domain.arguments import Growth
from roomful.domain.changes import AddMessage, Change, SaveMessage
from roomful.domain.errors import NotFound, RoomfulError
from roomful.domain.events import (
    WORDS,
    AgentInactive,
    Announcement,
    CallStarted,
    MessageChanged,
    PartReset,
    SpaceEvent,
    TextStarted,
)
from roomful.domain.messages import (
    Message,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    Woke,
    part_for_one,
    with_answers,
)
from roomful.domain.ports import Clock, Ids, Store
from roomful.domain.run_changes import Release, SaveRun, SaveStep, Unblock
from roomful.domain.runs import Lease, Place, Run, RunStatus
from roomful.spaces.announcer import STARTS, Announcer, copy_of
from roomful.spaces.flow import Flow
from roomful.spaces.lane import CallLane
from roomful.spaces.later import Later
from roomful.spaces.outbox import Outbox
from roomful.spaces.own_messages import OwnMessages, by_audience, final_copy, is_of_step, is_unsettled
from roomful.spaces.run_news import run_began, run_event
from roomful.spaces.trails import Trail, find_trail

SAVE_SECONDS = 0.25


class Voice:
    def __init__(
        self,
        run: Run,
        lease: Lease,
        *,
        store: Store,
        announcer: Announcer,
        clock: Clock,
        ids: Ids,
        is_sure: Callable[[], bool] | None = None,
    ) -> None:
        """`is_sure` tells whether the lease certainly holds, as it always does without it. If it does not,
        the store is asked before anything is said."""
        self.run = run
        self.lease = lease
        self._store = store
        self._announcer = announcer
        self._clock = clock
        self._ids = ids
        self.trail: Trail | None = None
        """What the part that shows this run is told, when another run called it."""
        self.flow = Flow()
        """What the run may show where."""
        self.began: dict[int, str] = {}
        """When the model was first asked for each step."""
        self.is_taken_up = False
        self.is_followed = announcer.whether_followed(run.id)
        """Whether somebody reads the run's own stream."""
        self._own = OwnMessages()
        self._has_ended = False
        self._is_abandoned = False
        self._out = Outbox(lease, store, is_sure)
        self._spares: dict[tuple[str, str | None], list[Place]] = {}
        self._unsaved: dict[str, None] = {}
        self._closing: list[str] = []
        """Messages that are final when the step that said them is stored."""
        self._answered: dict[str, Part] = {}
        """Parts whose answers came elsewhere, as they are stored."""
        self._later = Later(SAVE_SECONDS, share=crc32(run.id.encode()))

    async def take_up(self) -> None:
        """The run's open messages where it left them, and the parts that show it. Until then it says nothing
        and cannot end."""
        self.trail = await find_trail(self._store, self.run)
        messages = [] if self.lease.is_first else await self._store.open_messages(self.run.id)
        self._own.take_up(messages)
        for message in messages:
            self._announcer.adopt(message)
        self.is_taken_up = True

    def begin_step(self, step: int) -> list[ToolCallPart | TextPart]:
        """The model is asked. If it was asked for this step before, what it had begun is emptied, to be said
        anew by the same call."""
        began = self.began.setdefault(step, self._clock.iso())
        if self.trail is not None:
            self.trail.begin(step, began)
        return self._emptied(lambda part: is_of_step(part, step))

    def begin_again(self) -> None:
        """What a call had begun to show when the process died is emptied, to be shown by the same call."""
        self._emptied(lambda part: part.status == "streaming")

    def _emptied(self, which: Callable[[Part], bool]) -> list[ToolCallPart | TextPart]:
        spares: list[ToolCallPart | TextPart] = []
        for message in self._own:
            space_id = message.space_id
            for part in filter(which, list(message.parts)):
                self.say(space_id, PartReset(space_id=space_id, part_id=part.id), part_for_one(part))
                if not isinstance(part, ReasoningPart):
                    key = (space_id, part.tool_call_id or None)
                    place = Place(space_id=space_id, message_id=message.id, part_id=part.id)
                    self._spares.setdefault(key, []).append(place)
                    spares.append(part)
        return spares

    def drop_unfinished(self) -> None:
        """Parts that nobody will go on with are canceled, for everybody to see."""
        self._spares.clear()
        heard: list[Announcement] = []
        for message in self._own:
            for part in message.parts:
                if part.status == "streaming":
                    part.status = "canceled"
                    heard.append(self.changed(message.space_id, part.id, part.id))
        if heard:
            self.keep(self.saved(*{announcement.space_id for announcement in heard}), heard)

    # What is said.

    def start(self, space_id: str, make: type[TextStarted] | type[CallStarted], **fields: Any) -> Place:
        """Opens a part in the run's message of this space, and the message if this is its first. A part
        that was emptied because its step runs again is taken up instead, wherever it stands."""
        if (spares := self._spares.get((space_id, fields.get("tool_call_id")))) and not fields.get(
            "reasoning"
        ):
            return spares.pop(0)
        message_id = self._current(space_id)
        part_id = self._ids.new("prt")
        now = self._clock.iso()
        event = make(
            space_id=space_id,
            message_id=message_id or self._ids.new("msg"),
            part_id=part_id,
            run_id=self.run.id,
            entity_id=self.run.agent_id,
            seq=self._own.seqs.get(message_id, 0) if message_id else 0,
            created_at=now,
            **fields,
        )
        audience = fields.get("target_entity_id") or None
        if message_id is None:
            self._open_message(space_id, event, audience)
        else:
            self.say(space_id, event, audience)
        return Place(space_id=space_id, message_id=event.message_id, part_id=part_id)

    def _open_message(self, space_id: str, event: TextStarted | CallStarted, audience: str | None) -> None:
        self._own.begin(space_id, event.message_id)
        changes, heard = self.joins(space_id)
        start = self.about(space_id, event, audience)
        self._fold(start)
        opened = self._own.copy(event.message_id)
        assert opened is not None
        changes.append(AddMessage(opened))
        self.keep(changes, [*heard, start])

    def say(self, space_id: str, event: SpaceEvent, audience: str | None = None) -> None:
        """Heard at once, unless something before it still has to be stored."""
        self.say_in((space_id,), event, audience)

    def say_in(self, space_ids: Sequence[str], event: SpaceEvent, audience: str | None = None) -> None:
        """The same delta in several spaces: encoded once for all of them."""
        for space_id in space_ids:
            self._own.views[space_id].apply(event)
        self.say_more(space_ids, event, audience)

    def say_more(self, space_ids: Sequence[str], event: SpaceEvent, audience: str | None = None) -> None:
        """The same, if the run's messages hold it already: more of arguments of which some was said."""
        encoded: dict[object, bytes] | None = {} if len(space_ids) > 1 else None
        is_word = isinstance(event, WORDS)
        if not self._unsaved:
            self._later.come(self._save)
        for space_id in space_ids:
            self._unsaved[space_id] = None
            announcement = Announcement(event, space_id, self.run.id, audience, encoded=encoded)
            if not self._out.is_clear and self._out.holds(self, announcement):
                continue
            if is_word and not self._is_abandoned:
                self._announcer.word(announcement)
            else:
                self.release((announcement,))

    def lane(
        self, space_ids: Sequence[str], call_id: str, path: str, audience: str | None
    ) -> CallLane | None:
        """A shorter way to say more of this argument, if there is one just now."""
        if len(space_ids) != 1 or audience is not None or self._is_abandoned:
            return None
        growth = Growth(self.run.id, call_id, path)
        way = self._announcer.straight(space_ids[0], growth)
        return CallLane(growth, space_ids[0], way, self._out, self._unsaved) if way is not None else None

    def tell_run(self, event: SpaceEvent) -> None:
        """For the run's own stream, which sees everything whole."""
        if self.is_followed():
            announcement = Announcement(event, "", self.run.id)
            if not self._out.holds(self, announcement):
                self.release((announcement,))

    def now(self) -> float:
        return self._clock.now()

    def iso(self) -> str:
        return self._clock.iso()

    def message(self, message_id: str) -> Message | None:
        """One of the run's messages that are not final, as it stands."""
        return self._own.copy(message_id)

    def note_woken(self, message_id: str, woke: list[Woke]) -> Message | None:
        """Notes in one of the run's messages that are not final whom it woke."""
        own = self._own.message(message_id)
        if own is None:
            return None
        own.woke = woke
        return copy_of(own)

    def part(self, space_id: str, part_id: str) -> Part | None:
        return self._own.part(space_id, part_id)

    def parts(self, places: Sequence[Place]) -> list[Part]:
        found = [self.part(place.space_id, place.part_id) for place in places]
        return [part for part in found if part is not None]

    def show_whole(self, space_id: str, part: ToolCallPart) -> tuple[Place, list[Change], bool]:
        """Puts a finished part into the run's message here, and says whether that opened the message."""
        message_id = self._current(space_id)
        if message_id is not None:
            message = self._own.message(message_id)
            assert message is not None
            message.parts.append(part)
            return Place(space_id=space_id, message_id=message_id, part_id=part.id), [], False
        now = self._clock.iso()
        message = Message(
            id=self._ids.new("msg"),
            space_id=space_id,
            entity_id=self.run.agent_id,
            seq=0,
            status="open",
            role="assistant",
            parts=[part],
            created_at=now,
            updated_at=now,
            run_id=self.run.id,
        )
        self._own.adopt(message)
        self._own.begin(space_id, message.id)
        changes: list[Change] = [AddMessage(copy_of(message))]
        place = Place(space_id=space_id, message_id=message.id, part_id=part.id)
        return place, changes, True

    def abandon(self) -> None:
        """Another worker drives the run now; nothing that is said here is heard any more. Twice is the same
        as once."""
        if not self._is_abandoned:
            self._is_abandoned = True
            self._stop_saving()
            self._announcer.disown(self.run)

    def withdraw(self) -> None:
        """Another worker ends the run; whatever was taken up here for that does not grow anywhere."""
        self._stop_saving()
        for message in self._own:
            self._announcer.forget(message.space_id, message.id)

    def catch_readers_up(self) -> None:
        """Those of the parts that show this run, which was driven elsewhere until now."""
        if self.trail is not None:
            self._announcer.begin_anew(sorted(self.trail.space_ids))

    def takes_its_turn(self) -> None:
        """The run had to wait for others; its spaces are told that it begins."""
        for space_id in self.run.shown_in:
            self._announcer(run_began(self.run, space_id))

    def joins(self, space_id: str) -> tuple[list[Change], list[Announcement]]:
        """What is stored and heard when a run shows itself in a space for the first time."""
        if space_id in self.run.shown_in:
            return [], []
        self.run.shown_in = [*self.run.shown_in, space_id]
        return [SaveRun(msgspec.structs.replace(self.run))], run_began(self.run, space_id)

    # What is kept.

    def fold(self, heard: Sequence[Announcement]) -> None:
        """Takes what will be heard into account, so that the messages saved with it hold it."""
        for announcement in heard:
            self._fold(announcement)

    def keep(self, changes: Sequence[Change], heard: Sequence[Announcement] = ()) -> None:
        """Stores, then lets everybody hear. What is heard was folded before the messages were saved."""
        self._out.keep(self, changes, heard)

    async def kept(self, changes: Sequence[Change], heard: Sequence[Announcement] = ()) -> None:
        """The same, and returns when it is done."""
        await self._out.kept(self, changes, heard)

    async def try_kept(
        self,
        changes: Sequence[Change],
        heard: Callable[[], Sequence[Announcement]],
        then: Callable[[list[Any]], None],
    ) -> None:
        """Stores something that may be refused: then nothing has happened. What is to be heard is asked for
        once it is stored; `then` gets what the store answered, in the same moment."""
        await self._out.settled()
        await self._out.tried(self, changes, heard, then)

    def saved(self, *space_ids: str) -> list[Change]:
        """The changes that store the run's messages in these spaces as they stand now."""
        return [SaveMessage(message) for message in self._own.copies(*space_ids)]

    def changed_at(self, places: Sequence[Place], stream_id: str) -> list[Announcement]:
        return [self.changed(place.space_id, place.part_id, stream_id) for place in places]

    def changed(self, space_id: str, part_id: str, stream_id: str) -> Announcement:
        """The message with this one part only."""
        holder = self._own.holder(space_id, part_id)
        assert holder is not None
        message = copy_of(holder)
        part = next(part for part in message.parts if part.id == part_id)
        message = msgspec.structs.replace(message, parts=[part])
        event = MessageChanged(space_id=space_id, message=message, stream_id=stream_id)
        return self.about(space_id, event, part_for_one(part))

    async def settled(self) -> None:
        """Returns when everything handed to `keep` is stored and heard; raises what went wrong."""
        await self._out.settled()

    # How it ends.

    async def finish(
        self,
        status: RunStatus,
        changes: Sequence[Change] = (),
        heard: Sequence[Announcement] = (),
        then: Callable[[list[Any]], None] = lambda _: None,
    ) -> None:
        """The run has ended: its messages are final, its spaces are told. If that cannot be stored, the run
        is as it was. `heard` comes before the end; `then` is called once it is stored."""
        before = self.run.status, self.run.ended_at
        self.run.status, self.run.ended_at = status, self._clock.iso()
        self._stop_saving()
        try:
            await self._finish(changes, heard, then)
        except NotFound:
            await self._forget_removed_spaces()
            await self._finish(changes, heard, then)
        finally:
            if not self._has_ended:
                self.run.status, self.run.ended_at = before

    async def _finish(
        self,
        changes: Sequence[Change],
        before: Sequence[Announcement],
        then: Callable[[list[Any]], None],
    ) -> None:
        heard: list[Announcement] = [*before]
        saves: list[Change] = []
        for message in [final_copy(own, self.run.status, self._clock.iso()) for own in self._own]:
            saves.append(SaveMessage(message))
            heard.extend(self.whole(message))
        if self.trail is not None:
            heard += self.trail.ended(self.run)
        for space_id in self.run.shown_in:
            gone = AgentInactive(space_id=space_id, entity_id=self.run.agent_id, run_id=self.run.id)
            heard.append(self.about(space_id, gone))
            heard.append(self.about(space_id, run_event(self.run, space_id)))
        if not self.run.shown_in:
            heard.append(self.about("", run_event(self.run, "")))
        ended = SaveRun(msgspec.structs.replace(self.run))

        def stored(results: list[Any]) -> None:
            self._has_ended = True
            then(results)

        await self._out.tried(self, [*changes, *saves, ended], lambda: heard, stored)

    async def _forget_removed_spaces(self) -> None:
        """Messages whose space was removed cannot be saved any more, and nobody misses them."""
        for message in self._own:
            if await self._store.message(message.space_id, message.id) is None:
                self._own.drop(message.id)
                self._announcer.forget(message.space_id, message.id)

    async def park(self, status: RunStatus) -> None:
        """The run waits. Everything is in its rows and nothing stays in memory. If what it waits for has
        come in the meantime, the run is queued again in the same commit."""
        before, self.run.status = self.run.status, status
        told = [self.about(space_id, run_event(self.run, space_id)) for space_id in self.run.shown_in]
        if not told:
            told = [self.about("", run_event(self.run, ""))]
        self._stop_saving()
        parked: list[Change] = [SaveRun(msgspec.structs.replace(self.run)), Release(self.run.id)]
        try:
            await self.kept([*self.saved(*self._own.space_ids), *parked, Unblock(self.run.id)], told)
        except RoomfulError:
            self.run.status = before
            raise
        for message in self._own:
            self._announcer.forget(message.space_id, message.id)

    def whole(self, message: Message) -> list[Announcement]:
        """The message for everybody, and to each member for whom it has parts of their own, those."""
        return [
            self.about(message.space_id, MessageChanged(space_id=message.space_id, message=seen), audience)
            for seen, audience in by_audience(message)
        ]

    def close(
        self, message_id: str, mentions: Sequence[str], *, is_stored: bool = True
    ) -> tuple[list[Change], list[Announcement]]:
        """The run's message mentions somebody: what comes behind it belongs into another one. It is final
        at once if nothing in it is left to be settled, else when the run ends. Unless `is_stored`, its step
        may have to say it anew, and it is not final before `end_closed`."""
        message = self._own.close(message_id)
        if message is None:
            return [], []
        message.mentions = list(dict.fromkeys([*message.mentions, *mentions]))
        if is_stored and not is_unsettled(message):
            return self._end(message)
        if not is_stored:
            self._closing.append(message_id)
        return [SaveMessage(copy_of(message))], self.whole(copy_of(message))

    def end_closed(self) -> None:
        """The step is stored: what it closed is final, where nothing is left to be settled."""
        closing, self._closing = self._closing, []
        for message in filter(None, map(self._own.message, dict.fromkeys(closing))):
            if not is_unsettled(message):
                self.keep(*self._end(message))

    # Inside.

    def _end(self, message: Message) -> tuple[list[Change], list[Announcement]]:
        closed = final_copy(message, self.run.status, self._clock.iso())
        self._own.drop(closed.id)
        return [SaveMessage(closed)], self.whole(closed)

    def _current(self, space_id: str) -> str | None:
        """The run's message here that takes more parts. One that is full is closed: another one follows."""
        message_id = self._own.current(space_id)
        if message_id is None or not self._own.is_full(message_id):
            return message_id
        self.keep(*self.close(message_id, ()))
        return None

    def about(self, space_id: str, event: SpaceEvent, audience: str | None = None) -> Announcement:
        return Announcement(event, space_id, self.run.id, audience)

    def _fold(self, announcement: Announcement) -> None:
        if announcement.space_id:
            self._own.views[announcement.space_id].apply(announcement.event)

    def learn(self, changes: Sequence[Change], results: list[Any]) -> None:
        for change, result in zip(changes, results, strict=True):
            if isinstance(change, AddMessage):
                self._own.seqs[change.message.id] = result
                if (message := self._own.message(change.message.id)) is not None:
                    message.seq = result
            elif isinstance(change, SaveMessage) and result:
                self._learn_answers(change.message, result)

    def _learn_answers(self, saved: Message, parts: Sequence[Part]) -> None:
        """Cards of this message were answered in another process, which told its own readers."""
        self._answered.update({part.id: part for part in parts})
        answered = msgspec.structs.replace(saved, parts=list(parts))
        self._own.views[saved.space_id].apply(MessageChanged(space_id=saved.space_id, message=answered))
        self._announcer.amend(saved.space_id, saved, parts)

    def release(self, announcements: Sequence[Announcement]) -> None:
        if self._is_abandoned:
            return
        for announcement in announcements:
            event = announcement.event
            if isinstance(event, STARTS):
                event.seq = self._own.seqs.get(event.message_id, event.seq)
            elif isinstance(event, MessageChanged):
                event.message.seq = self._own.seqs.get(event.message.id, event.message.seq)
                if self._answered:
                    answered = msgspec.structs.replace(event.message, parts=[*self._answered.values()])
                    event.message = with_answers(event.message, answered)
        self._announcer(list(announcements))

    def _save(self) -> None:
        if self._unsaved:
            changes = self.saved(*self._unsaved)
            self._unsaved.clear()
            self._out.save(changes)
        self.keep_trail()

    def _stop_saving(self) -> None:
        self._later.stop()
        self._unsaved.clear()

    # What the run that called this one shows of it.

    def wrote(self, text: str) -> None:
        """The model wrote on; the part that shows this run is told a moment later."""
        if self.trail is not None:
            self.trail.write(text)
            self._later.come(self._save)

    def keep_trail(self) -> None:
        """Stores what was written and not told yet, and tells it."""
        if self.trail is not None and (step := self.trail.unsaved()) is not None:
            self.keep([SaveStep(step)], self.trail.told(step))
