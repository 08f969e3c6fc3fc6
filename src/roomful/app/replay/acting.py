"""What people did, and time, done again."""

from collections.abc import Mapping
from typing import assert_never

from roomful.app.replay.cast import Cast
from roomful.app.replay.gates import StoryClock, expect
from roomful.app.workshop import Workshop
from roomful.domain.changes import AddGrant, AddMessage, PutMember, RemoveGrant, RemoveMember
from roomful.domain.entities import Entity, Principal
from roomful.domain.errors import NotFound
from roomful.domain.messages import Message
from roomful.domain.ports import Store
from roomful.domain.runs import Call, Run
from roomful.domain.shape import UNSET, Json
from roomful.recall.story.acts import (
    Act,
    Allow,
    Answer,
    Begin,
    CallBack,
    Cancel,
    Expire,
    Give,
    Join,
    Leave,
    Post,
    ReplyElsewhere,
    Revoke,
    Vote,
)
from roomful.runs.worker import Worker


class Actors:
    def __init__(
        self,
        people: Mapping[str, Entity],
        space_id: str,
        *,
        store: Store,
        workshop: Workshop,
        worker: Worker,
        cast: Cast,
        clock: StoryClock,
    ) -> None:
        self._people = people
        self._space_id = space_id
        self._store = store
        self._workshop = workshop
        self._worker = worker
        self._cast = cast
        self._clock = clock

    async def is_ready(self, act: Act) -> bool:
        """Whether it can be done now."""
        match act:
            case ReplyElsewhere(call=call):
                return call.awaited is not UNSET and await self._waits(call.id)
            case Answer(call=call) | Vote(call=call) | CallBack(call=call):
                return await self._waits(call.id)
            case Expire(call_id=call_id):
                return await self._waits(call_id)
            case Cancel(run=run):
                return await self._cast.find(run) is not None
            case _:
                return True

    async def do(self, act: Act) -> None:
        self._clock.move(act.at)
        match act:
            case Post(message=message):
                await self._post(message)
            case Give(message=message):
                await self._store.commit([AddMessage(message)])
            case Begin(run=run):
                await self._begin(run)
            case Answer(call=call):
                await self._answer(call)
            case Vote(call=call, vote=vote):
                here = await self._call(call.id)
                who = self._principal(vote.entity_id)
                await self._workshop.answers.answer(who, here.run_id, here.id, vote.result)
            case CallBack(call=call):
                await self._workshop.answers.call_back(call.id, call.result)
            case Expire(call_id=call_id):
                here = await self._call(call_id)
                self._clock.move_beyond(here.deadline or 0)
                await self._workshop.answers.expire_overdue()
            case Cancel(run=run):
                await self._cancel(run)
            case Allow(grant=grant):
                await self._store.commit([AddGrant(grant)])
            case Revoke(grant=grant):
                await self._store.commit([RemoveGrant(grant.space_id, grant.id)])
            case Join(entity_id=entity_id, role=role):
                await self._store.commit([PutMember(self._space_id, entity_id, role)])
            case Leave(entity_id=entity_id):
                await self._store.commit([RemoveMember(self._space_id, entity_id)])
                await self._workshop.answers.member_left(self._space_id)
            case ReplyElsewhere(call=call, by=by, text=text):
                assert call.awaited is not UNSET
                await self._workshop.intake.post(self._principal(by), call.awaited.space_id, text=text)
            case _:
                assert_never(act)

    async def _post(self, message: Message) -> None:
        expect(msg=[message.id], prt=[part.id for part in message.parts])
        try:
            await self._workshop.intake.post(
                self._principal(message.entity_id),
                message.space_id,
                text=message.text,
                mentions=message.mentions,
                client_message_id=message.client_message_id or None,
                reply_to=message.reply_to or None,
                attachments=message.attachments,
            )
        finally:
            expect()

    async def _begin(self, run: Run) -> None:
        agent = await self._store.agent(run.agent_id)
        if agent is None:
            raise NotFound(f"there is no agent {run.agent_id!r}")
        starting = self._workshop.starting
        new = starting.new(agent, run.trigger)
        await self._store.commit([new.change], lambda _: starting.began(new))

    async def _answer(self, recorded: Call) -> None:
        here = await self._call(recorded.id)
        who = self._principal(recorded.answered_by or "")
        answers = self._workshop.answers
        if here.waits_for == "approval":
            await answers.answer(who, here.run_id, here.id, decision_in(recorded))
        elif here.question is not UNSET:
            told: dict[str, Json] = recorded.continuation or {}
            await answers.answer(who, here.run_id, here.id, told.get("answer"))
        else:
            closes = recorded.answers is not UNSET
            await answers.answer(who, here.run_id, here.id, recorded.result, close=closes)

    async def _cancel(self, recorded: Run) -> None:
        """Unless it has ended already: an agent may have stopped it, or it left by itself."""
        run = await self._cast.find(recorded)
        if run is not None and not run.ended:
            await self._worker.cancel(run.id, recorded.error)

    async def _waits(self, call_id: str) -> bool:
        call = await self._store.call(call_id)
        return call is not None and call.status == "waiting"

    async def _call(self, call_id: str) -> Call:
        call = await self._store.call(call_id)
        if call is None:
            raise NotFound(f"there is no call {call_id}")
        return call

    def _principal(self, entity_id: str) -> Principal:
        if entity_id not in self._people:
            raise NotFound(f"there is no {entity_id!r} in this story")
        return Principal(entity_id=entity_id, kind=self._people[entity_id].kind, token_id="")


def decision_in(call: Call) -> Json:
    """What somebody must have said to the card of a call with this outcome."""
    refusal = f"{call.answered_by or ''} did not approve this call"
    if call.status == "error" and (call.error or "").startswith(refusal):
        return {"approved": False, "reason": (call.error or "").removeprefix(refusal).removeprefix(": ")}
    return {"approved": True}
