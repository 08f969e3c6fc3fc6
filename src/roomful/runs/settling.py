"""One mechanism for everything a run can wait for: the call is settled by compare-and-set, everybody hears
of it, and the run goes on when nothing else holds it."""

from collections.abc import Sequence
from typing import Any

import msgspec

from roomful.domain.changes import Change, SaveParts
from roomful.domain.errors import Conflict
from roomful.domain.events import Announcement, MessageChanged, SpaceEvent
from roomful.domain.messages import ApprovalCard, MemberAnswer, Message, Part, ToolCallPart
from roomful.domain.ports import Clock, Store
from roomful.domain.run_changes import ExpectCall, SaveCalls, Unblock
from roomful.domain.runs import SETTLED, Call, Place, Run, Trigger
from roomful.domain.shape import UNSET, Json, Unset
from roomful.domain.tools import Visibility
from roomful.domain.trails import Child
from roomful.routing.redact import settled_event, shown_args, shown_error, shown_result, whole_event
from roomful.runs.results import Results
from roomful.runs.starting import NewRun, Starting
from roomful.runs.worker import Worker
from roomful.spaces.announcer import Announcer
from roomful.spaces.flow import read_by
from roomful.spaces.run_news import run_event
from roomful.spaces.trails import Trail, find_trail


class Settling:
    def __init__(
        self,
        *,
        store: Store,
        worker: Worker,
        announcer: Announcer,
        starting: Starting,
        results: Results,
        clock: Clock,
    ) -> None:
        self._clock = clock
        self._store = store
        self._worker = worker
        self._results = results
        self._announcer = announcer
        self._starting = starting

    async def postpone(self, call: Call) -> None:
        """Gives a waiting call another deadline. Raises Conflict if it does not wait any more."""
        await self._store.commit([ExpectCall(call.id), SaveCalls((call,))])

    async def settle(
        self,
        run: Run,
        call: Call,
        more: Sequence[Change] = (),
        child: Child | Unset = UNSET,
        *,
        votes: Sequence[MemberAnswer] | None = None,
    ) -> None:
        """Stores the call as it is now, if it still waited until now. Raises Conflict if it did not. `child`
        is what happened inside, if it was a delegation. `votes` are those that a poll had before: if it has
        others now, it is a Conflict with the call as it is."""
        if call.status in SETTLED and call.answered_at is UNSET:
            call.answered_at = self._clock.iso()
        call.settled(self._clock.iso())
        kept = self._results.shrink(run.agent_id, call)
        messages = await self._messages(run, call)
        for message in messages:
            message.parts = [_settled(part, call, child) for part in message.parts]
        trail = await self._trail(run)
        is_told = trail is not None and call.status in SETTLED and not run.ended
        inside = trail.call(call, child) if trail is not None and is_told else []
        woken = await self._follow_up(run, call) if _came_late(call) else None
        expect = ExpectCall(call.id, None if votes is None else tuple(votes))
        changes: list[Change] = [expect, SaveCalls((call,)), *kept, *more]
        saved = slice(len(changes), len(changes) + len(call.places))
        changes += [_saved(place, messages) for place in call.places]
        if woken is not None:
            changes.append(woken.change)
        changes.append(Unblock(run.id))

        def then(results: list[Any]) -> None:
            self._announcer(inside)
            self._announce(run, call, _as_stored(messages, results[saved]), results[-1])
            if woken is not None:
                self._starting.began(woken)

        try:
            [*_, unblocked] = await self._store.commit(changes, then)
        except Conflict as conflict:
            if isinstance(conflict.outcome, Call) and conflict.outcome.status != "waiting":
                raise settled_already(conflict.outcome) from None
            raise
        if unblocked is not None and unblocked.status == "queued":
            await self._worker.claim(run.id)

    async def _trail(self, run: Run) -> Trail | None:
        voice = self._worker.voice(run.id)
        return voice.trail if voice is not None else await find_trail(self._store, run)

    async def _messages(self, run: Run, call: Call) -> list[Message]:
        """The messages that show the call: as the run itself has them if it is driven, else as stored."""
        voice = self._worker.voice(run.id)
        found: list[Message] = []
        for place in call.places:
            message = voice.message(place.message_id) if voice is not None else None
            if message is None:
                message = await self._store.message(place.space_id, place.message_id)
            if message is not None:
                found.append(message)
        return found

    def _announce(self, run: Run, call: Call, messages: Sequence[Message], now: Run | None) -> None:
        heard: list[Announcement] = []
        audience = call.target_entity_id or None

        def hear(space_id: str, event: SpaceEvent) -> None:
            heard.append(Announcement(event=event, space_id=space_id, run_id=run.id, audience=audience))

        by_id = {message.id: message for message in messages}
        for place in call.places:
            if (message := by_id.get(place.message_id)) is None:
                continue
            alone = [part for part in message.parts if part.id == place.part_id]
            if not any(isinstance(part, ToolCallPart) for part in alone):
                continue
            if call.status in SETTLED:
                hear(place.space_id, settled_event(call, place))
            changed = msgspec.structs.replace(message, parts=alone)
            hear(place.space_id, MessageChanged(space_id=place.space_id, message=changed, stream_id=call.id))
        if (voice := self._worker.voice(run.id)) is not None:
            voice.fold(heard)
        if call.status in SETTLED:
            heard.append(Announcement(event=whole_event(call), space_id="", run_id=run.id))
        if now is not None:
            heard += [
                Announcement(event=run_event(now, space_id), space_id=space_id, run_id=run.id)
                for space_id in now.shown_in
            ]
        self._announcer(heard)

    async def _follow_up(self, run: Run, call: Call) -> NewRun | None:
        """An answer to a card that nobody waited for wakes the agent with a run of its own."""
        agent = await self._store.agent(run.agent_id)
        if agent is None:
            return None
        trigger = Trigger(
            type="answer",
            space_id=call.places[0].space_id,
            message_id=call.places[0].message_id,
            entity_id=call.answered_by,
            payload={"toolName": call.tool_name, "args": call.args, "result": call.result},
            read_spaces=await read_by(self._store, run),
        )
        return self._starting.new(agent, trigger)


def _came_late(call: Call) -> bool:
    """The run did not wait for this answer."""
    return call.told is not UNSET and call.status in SETTLED


def settled_already(call: Call) -> Conflict:
    by = f" by {call.answered_by}" if call.answered_by else ""
    return Conflict(f"this card is settled already{by}: {call.status}", outcome=outcome_of(call))


def outcome_of(call: Call) -> dict[str, Json]:
    outcome: dict[str, Json] = {"status": call.status, "result": call.result}
    if call.error is not UNSET:
        outcome["error"] = call.error
    if call.answered_by is not UNSET:
        outcome |= {"answeredBy": call.answered_by, "answeredAt": call.answered_at}
    return outcome


def _saved(place: Place, messages: Sequence[Message]) -> SaveParts:
    found = [part for message in messages for part in message.parts if part.id == place.part_id]
    return SaveParts(place.space_id, place.message_id, tuple(found))


def _as_stored(messages: Sequence[Message], stored: Sequence[Message | None]) -> list[Message]:
    """The run may have ended, and its messages with it, since they were read."""
    now = {message.id: message for message in stored if message is not None}
    return [
        msgspec.structs.replace(now.get(message.id, message), parts=message.parts) for message in messages
    ]


def _settled(part: Part, call: Call, child: Child | Unset) -> Part:
    """The part after the answer; a call that may run now shows that it runs, unless it was only asked here
    whether it may be shown elsewhere."""
    if not isinstance(part, ToolCallPart) or part.tool_call_id != call.id:
        return part
    status = call.status
    if status == "ready":
        status = "complete" if call.held else "running"
    return msgspec.structs.replace(
        part,
        status=status,
        args=shown_args(call),
        result=shown_result(call),
        error=shown_error(call) if call.status == "error" else UNSET,
        answers=call.answers,
        question=call.question,
        answered_by=call.answered_by,
        answered_at=call.answered_at,
        child=child if call.visibility is Visibility.FULL else UNSET,
        approval=_decided(part, call),
    )


def _decided(part: ToolCallPart, call: Call) -> ApprovalCard | Unset:
    if part.approval is UNSET or call.waits_for != "approval" or call.answered_by is UNSET:
        return part.approval
    return msgspec.structs.replace(part.approval, approved=call.status == "ready", reason=call.reason)
