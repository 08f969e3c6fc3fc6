"""A person answers a card: once, by somebody who may, with something that fits; then the run goes on."""

from collections.abc import Sequence
from typing import Any

import msgspec

from roomful.domain.changes import AddRun, Change, ExpectCall, SaveCalls, SaveMessage, Unblock
from roomful.domain.entities import Principal
from roomful.domain.errors import Conflict, Forbidden, Invalid, NotFound
from roomful.domain.events import AgentActive, Announcement, MessageChanged, SpaceEvent
from roomful.domain.messages import Message, Part, ToolCallPart
from roomful.domain.ports import Clock, Ids, Store
from roomful.domain.runs import Call, Lease, Run, Trigger
from roomful.domain.shape import UNSET, Json
from roomful.domain.tools import Approvers, ToolSpec
from roomful.routing.redact import settled_event, shown_result
from roomful.runs.agents import Agents
from roomful.runs.worker import Worker
from roomful.spaces.announcer import Announcer
from roomful.spaces.voice import run_event
from roomful.tools import check_result


class Answers:
    def __init__(
        self,
        *,
        store: Store,
        agents: Agents,
        worker: Worker,
        announcer: Announcer,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._store = store
        self._agents = agents
        self._worker = worker
        self._announcer = announcer
        self._clock = clock
        self._ids = ids

    async def answer(self, principal: Principal, run_id: str, call_id: str, result: Json) -> None:
        """Settles the call, tells everybody who answered, and lets the run go on."""
        run, call = await self._find(principal, run_id, call_id)
        spec = await self._spec(run, call)
        await self._check_answerer(principal, call, spec.approvers)
        if (problem := check_result(spec, result)) is not None:
            raise Invalid(f"result: {problem}")
        if call.status != "waiting":
            raise _settled_already(call)
        late = call.told is not UNSET
        call.status, call.result, call.told = "complete", result, call.told
        call.answered_by, call.answered_at = principal.entity_id, self._clock.iso()
        await self._store_answer(run, call, late=late)

    async def _find(self, principal: Principal, run_id: str, call_id: str) -> tuple[Run, Call]:
        run = await self._store.run(run_id)
        call = await self._store.call(call_id) if run is not None else None
        if run is None or call is None or call.run_id != run_id or not call.places:
            raise _no_call(call_id)
        for place in call.places:
            if await self._store.role(place.space_id, principal.entity_id) is not None:
                return run, call
        raise Forbidden(_ADMIN) if principal.is_admin else _no_call(call_id)

    async def _spec(self, run: Run, call: Call) -> ToolSpec:
        agent = await self._agents.find(run.agent_id)
        spec = next((spec for spec in agent.tools if spec.name == call.tool_name), None)
        if spec is None:
            raise Conflict(f"the agent has no tool {call.tool_name!r} any more")
        return spec

    async def _check_answerer(self, principal: Principal, call: Call, approvers: Approvers) -> None:
        """Where a card is shown and who may answer it are different things."""
        if call.target_entity_id is not UNSET and principal.entity_id != call.target_entity_id:
            raise _no_call(call.id)
        roles = [await self._store.role(place.space_id, principal.entity_id) for place in call.places]
        if not any(role in ("owner", "member") for role in roles):
            raise Forbidden("you may read this card but not answer it: ask an owner to make you a member")
        if not approvers.roles and not approvers.entities:
            return
        if principal.entity_id in approvers.entities or any(role in approvers.roles for role in roles):
            return
        wanted = [*approvers.entities, *(f"every {role}" for role in approvers.roles)]
        raise Forbidden(f"you are not an approver of this card; approvers are: {', '.join(wanted)}")

    async def _store_answer(self, run: Run, call: Call, *, late: bool) -> None:
        messages = [
            message
            for place in call.places
            if (message := await self._message(run, place.space_id, place.message_id))
        ]
        for message in messages:
            message.parts = [_answered(part, call) for part in message.parts]
        changes: list[Change] = [ExpectCall(call.id), SaveCalls((call,))]
        changes += [SaveMessage(message) for message in messages]
        follow_up, lease = self._follow_up(run, call) if late else (None, None)
        if follow_up is not None:
            changes.append(AddRun(run=msgspec.structs.replace(follow_up), lease=lease))
        changes.append(Unblock(run.id))

        def then(results: list[Any]) -> None:
            self._announce(run, call, messages, results[-1])
            if follow_up is not None:
                self._announce_start(follow_up)
                if lease is not None:
                    self._worker.launch(follow_up, lease)

        [*_, unblocked] = await self._store.commit(changes, then)
        if unblocked is not None and unblocked.status == "queued":
            await self._worker.claim(run.id)

    async def _message(self, run: Run, space_id: str, message_id: str) -> Message | None:
        """As the run itself has it if it is being driven, else as stored."""
        voice = self._worker.voice(run.id)
        if (
            voice is not None
            and (message := voice.message_of(space_id)) is not None
            and message.id == message_id
        ):
            return message
        return await self._store.message(space_id, message_id)

    def _announce(self, run: Run, call: Call, messages: Sequence[Message], now: Run | None) -> None:
        heard: list[Announcement] = []
        audience = call.target_entity_id or None

        def hear(space_id: str, event: SpaceEvent) -> None:
            heard.append(Announcement(event=event, space_id=space_id, run_id=run.id, audience=audience))

        for place, message in zip(call.places, messages, strict=True):
            hear(place.space_id, settled_event(call, place))
            alone = [part for part in message.parts if part.id == place.part_id]
            changed = msgspec.structs.replace(message, parts=alone)
            hear(place.space_id, MessageChanged(space_id=place.space_id, message=changed, stream_id=call.id))
        if (voice := self._worker.voice(run.id)) is not None:
            voice.fold(heard)
        if now is not None:
            for space_id in now.shown_in:
                event = run_event(now, space_id)
                heard.append(Announcement(event=event, space_id=space_id, run_id=run.id))
        self._announcer(heard)

    def _follow_up(self, run: Run, call: Call) -> tuple[Run, Lease | None]:
        """An answer to a card that nobody waited for wakes the agent with a run of its own."""
        run_id = self._ids.new("run")
        space_id = call.places[0].space_id
        lease = self._worker.reserve(run_id)
        payload = {"toolName": call.tool_name, "args": call.args, "result": call.result}
        trigger = Trigger(
            type="answer",
            space_id=space_id,
            message_id=call.places[0].message_id,
            entity_id=call.answered_by,
            payload=payload,
        )
        woken = Run(
            id=run_id,
            agent_id=run.agent_id,
            status="queued" if lease is None else "running",
            trigger=trigger,
            root_run_id=run_id,
            created_at=self._clock.iso(),
            active_space_id=space_id,
            shown_in=[space_id],
        )
        return woken, lease

    def _announce_start(self, run: Run) -> None:
        [space_id] = run.shown_in
        active = AgentActive(space_id=space_id, entity_id=run.agent_id, run_id=run.id)
        events: tuple[SpaceEvent, ...] = (run_event(run, space_id), active)
        self._announcer([Announcement(event=event, space_id=space_id, run_id=run.id) for event in events])


_ADMIN = "the admin key does not answer cards: name a member in X-Roomful-As"


def _no_call(call_id: str) -> NotFound:
    return NotFound(f"there is no tool call {call_id!r} that you may answer")


def _settled_already(call: Call) -> Conflict:
    by = f" by {call.answered_by}" if call.answered_by else ""
    return Conflict(f"this card is settled already{by}: {call.status}", outcome=outcome_of(call))


def outcome_of(call: Call) -> dict[str, Json]:
    outcome: dict[str, Json] = {"status": call.status, "result": call.result}
    if call.answered_by is not UNSET:
        outcome |= {"answeredBy": call.answered_by, "answeredAt": call.answered_at}
    return outcome


def _answered(part: Part, call: Call) -> Part:
    if not isinstance(part, ToolCallPart) or part.tool_call_id != call.id:
        return part
    return msgspec.structs.replace(
        part,
        status="complete",
        result=shown_result(call),
        answered_by=call.answered_by,
        answered_at=call.answered_at,
    )
