"""A person answers a card: once, by somebody who may, with something that fits; then the run goes on."""

import contextlib
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from roomful.domain.audit import AuditAction, digest_of
from roomful.domain.changes import AddGrant, Change
from roomful.domain.entities import Principal
from roomful.domain.errors import Conflict, Forbidden, Invalid, NotFound, Unavailable
from roomful.domain.grants import Grant, hash_of
from roomful.domain.messages import MemberAnswer
from roomful.domain.ports import Clock, Ids, Store
from roomful.domain.runs import Call, Consent, Run
from roomful.domain.shape import UNSET, Json
from roomful.domain.tools import Approvers, ToolSpec
from roomful.recall.story.happenings import NOT_IN_SPACE
from roomful.routing.redact import approvers_of
from roomful.runs.agents import Agents
from roomful.runs.decisions import apply_decision, grants_from, read_decision
from roomful.runs.delegating import Children
from roomful.runs.files import show_files
from roomful.runs.replies import nobody_can, without_reply
from roomful.runs.settling import Settling, settled_already
from roomful.spaces.auditing import AuditLog
from roomful.tools import check_result

_NOT_ASKED = {
    "callback": "this call waits for the service that was asked; nobody can answer in its place",
    "reply": "this call waits for a message: post it in the space",
    "child_run": "this call waits for another agent's run; nobody can answer in its place",
}
MOST_OVERTAKEN = 1000
_ADMIN = "the admin key does not answer cards: name a member in X-Roomful-As"


class Asked(msgspec.Struct, frozen=True):
    """What people are asked for, and who of them; no approvers: every member who may write there."""

    kind: Literal["answer", "approval", "poll"]
    approvers: Approvers
    result_schema: dict[str, Json] | None


class Answers:
    def __init__(
        self,
        *,
        store: Store,
        agents: Agents,
        settling: Settling,
        children: Children,
        clock: Clock,
        ids: Ids,
        audit: AuditLog,
    ) -> None:
        self._audit = audit
        self._children = children
        self._store = store
        self._agents = agents
        self._settling = settling
        self._clock = clock
        self._ids = ids

    async def answer(
        self,
        principal: Principal,
        run_id: str,
        call_id: str,
        result: Json,
        *,
        close: bool = False,
        also: Sequence[Change] = (),
    ) -> None:
        """Settles the call, tells everybody who answered, and lets the run go on. In a poll each member has
        one answer, to be changed at will, until somebody who may closes it. `also` is stored with it."""
        run, call = await self._find(principal, run_id, call_id)
        spec = await self._spec(run, call)
        if (why := _NOT_ASKED.get(call.waits_for or "")) is not None:
            raise Forbidden(why)
        if spec is not None and spec.is_poll and call.waits_for != "approval":
            await self._vote(principal, run, call, spec, result, close=close, also=also)
            return
        if close:
            raise Invalid("close: only a poll can be closed; give this card a result")
        await self._check_answerer(principal, call, approvers_of(call, spec), run.agent_id)
        if call.status != "waiting":
            raise settled_already(call)
        shown = hash_of(call.tool_name, call.args)
        more = self._apply(principal, run, call, spec, result)
        more.append(self._answered(principal, run, call, result, shown))
        more += await show_files(self._store, principal.entity_id, call, result)
        call.answered_by, call.answered_at = principal.entity_id, self._clock.iso()
        call.read(*(place.space_id for place in call.places))
        await self._settling.settle(run, call, [*more, *also])

    async def _vote(
        self,
        principal: Principal,
        run: Run,
        call: Call,
        spec: ToolSpec,
        result: Json,
        *,
        close: bool,
        also: Sequence[Change],
    ) -> None:
        """Whoever was overtaken by another vote adds to what that one left."""
        for _ in range(MOST_OVERTAKEN):
            try:
                return await self._vote_once(principal, run, call, spec, result, close=close, also=also)
            except Conflict as conflict:
                if not isinstance(conflict.outcome, Call):
                    raise
                call = conflict.outcome
        raise Unavailable("many are answering at once: try again")

    async def _vote_once(
        self,
        principal: Principal,
        run: Run,
        call: Call,
        spec: ToolSpec,
        result: Json,
        *,
        close: bool,
        also: Sequence[Change],
    ) -> None:
        await self._check_answerer(principal, call, spec.approvers if close else Approvers(), run.agent_id)
        if call.status != "waiting":
            raise settled_already(call)
        cast_so_far = [] if call.answers is UNSET else call.answers
        call.read(*(place.space_id for place in call.places))
        files = await show_files(self._store, principal.entity_id, call, result)
        if close:
            call.status, call.result = "complete", poll_result(call)
            call.answered_by, call.answered_at = principal.entity_id, self._clock.iso()
        else:
            if (problem := check_result(spec, result)) is not None:
                raise Invalid(f"result: {problem}")
            mine = MemberAnswer(entity_id=principal.entity_id, result=result, at=self._clock.iso())
            others = [one for one in cast_so_far if one.entity_id != principal.entity_id]
            call.answers = [*others, mine]
        told = self._told(principal, "card.closed" if close else "card.answered", run, call, result)
        await self._settling.settle(run, call, [*files, told, *also], votes=cast_so_far)

    async def asked(self, run: Run, call: Call) -> Asked | None:
        """What a waiting call asks people; None when it waits for something else, or no more."""
        if call.status != "waiting" or call.waits_for in _NOT_ASKED:
            return None
        spec = await self._spec(run, call)
        kind = "approval" if call.waits_for == "approval" else "answer"
        if kind == "answer" and spec is not None and spec.is_poll:
            kind = "poll"
        schema = spec.result_schema if spec is not None and kind != "approval" else None
        return Asked(kind, approvers_of(call, spec), schema)

    async def call_back(self, call_id: str, result: Json) -> None:
        """A machine that was asked earlier gives its result now, once."""
        call = await self._store.call(call_id)
        run = await self._store.run(call.run_id) if call is not None else None
        if call is None or run is None or call.waits_for != "callback":
            raise _no_call(call_id)
        if call.status != "waiting":
            raise settled_already(call)
        call.status, call.result = "complete", result
        await self._settling.settle(run, call)

    async def space_removed(self, space_id: str, runs: Sequence[Run]) -> None:
        """What was asked only there can be answered nowhere now: its runs go on without."""
        for run in runs:
            for call in await self._store.calls(run.id):
                places = {place.space_id for place in call.places}
                if call.status == "waiting" and places == {space_id}:
                    call.status, call.error, call.told = (
                        "error",
                        "the space where this was asked is gone",
                        UNSET,
                    )
                    with contextlib.suppress(Conflict):
                        await self._settling.settle(run, call)

    async def member_left(self, space_id: str) -> None:
        """Runs that wait there for a reply which now nobody can give go on without."""
        members = await self._store.members(space_id)
        for call in await self._store.replies_awaited(space_id):
            run = await self._store.run(call.run_id)
            if run is None or call.awaited is UNSET:
                continue
            why = nobody_can(call.awaited, members, run.agent_id)
            if not any(member.entity_id == run.agent_id for member in members):
                why = NOT_IN_SPACE
            if why is not None:
                with contextlib.suppress(Conflict):
                    await self._settling.settle(run, without_reply(call, reason=why))

    async def expire_overdue(self) -> None:
        """Settles what nobody answered in time."""
        for call in await self._store.overdue_calls(self._clock.now()):
            run = await self._store.run(call.run_id)
            if call.waits_for == "child_run":
                await self._children.out_of_time(call)
            elif run is not None:
                if call.waits_for == "reply":
                    call = without_reply(call, timedOut=True)
                elif call.answers is not UNSET:
                    call.status, call.result = "complete", poll_result(call)
                else:
                    call.status, call.error, call.told = "error", "nobody answered in time", UNSET
                with contextlib.suppress(Conflict):
                    await self._settling.settle(run, call, votes=call.answers or ())

    def _apply(
        self, principal: Principal, run: Run, call: Call, spec: ToolSpec | None, result: Json
    ) -> list[Change]:
        if call.waits_for == "approval":
            decision = read_decision(result)
            if spec is None:
                call.status, call.error = "error", "this tool is not there any more"
                return []
            apply_decision(decision, spec, call, principal.entity_id)
            if call.held:
                return []
            grants = grants_from(
                decision, spec, call, run.agent_id, principal.entity_id, self._clock, self._ids
            )
            return [
                change for grant in grants for change in (AddGrant(grant), self._granted(principal, grant))
            ]
        if call.question is not UNSET:
            call.continuation = {**(call.continuation or {}), "answer": result}
            call.status, call.question = "ready", UNSET
            return []
        if spec is not None and (problem := check_result(spec, result)) is not None:
            raise Invalid(f"result: {problem}")
        call.status, call.result = "complete", result
        return []

    def _answered(self, principal: Principal, run: Run, call: Call, result: Json, shown: str) -> Change:
        """`shown` is the hash of the arguments that were on the card."""
        if call.waits_for != "approval":
            return self._told(principal, "card.answered", run, call, result)
        if call.status != "ready":
            return self._told(principal, "card.refused", run, call, result)
        is_edited = hash_of(call.tool_name, call.args) != shown
        return self._told(
            principal, "card.approved", run, call, result, edited_from=shown if is_edited else UNSET
        )

    def _told(
        self, principal: Principal, action: AuditAction, run: Run, call: Call, result: Json, **more: Any
    ) -> Change:
        return self._audit(
            principal,
            action,
            space_ids=tuple(place.space_id for place in call.places),
            agent_id=run.agent_id,
            run_id=run.id,
            call_id=call.id,
            tool_name=call.tool_name,
            args_digest=hash_of(call.tool_name, call.args),
            result_digest=UNSET if action == "card.closed" else digest_of(result),
            is_private=True if call.target_entity_id is not UNSET else UNSET,
            **more,
        )

    def _granted(self, principal: Principal, grant: Grant) -> Change:
        return self._audit(
            principal,
            "grant.made",
            space_ids=(grant.space_id,),
            agent_id=grant.agent_id,
            tool_name=grant.tool_name,
            grant_id=grant.id,
            args_digest=grant.args_hash,
        )

    async def _find(self, principal: Principal, run_id: str, call_id: str) -> tuple[Run, Call]:
        run = await self._store.run(run_id)
        call = await self._store.call(call_id) if run is not None else None
        if run is None or call is None or call.run_id != run_id or not call.places:
            raise _no_call(call_id)
        for place in call.places:
            if await self._store.role(place.space_id, principal.entity_id) is not None:
                return run, call
        if (consent := call.consent) and await self._store.role(consent.place.space_id, principal.entity_id):
            raise settled_already(_let_in(call, consent))
        raise Forbidden(_ADMIN) if principal.is_admin else _no_call(call_id)

    async def _spec(self, run: Run, call: Call) -> ToolSpec | None:
        """None when the agent lost the tool since: what waits can be answered all the same."""
        try:
            agent = await self._agents.of_run(run)
        except NotFound:
            return None
        return {spec.name: spec for spec in agent.tools}.get(call.tool_name)

    async def _check_answerer(
        self, principal: Principal, call: Call, approvers: Approvers, agent_id: str
    ) -> None:
        """Where a card is shown and who may answer it are different things."""
        if principal.entity_id == agent_id:
            raise Forbidden("an agent does not answer its own card")
        if call.target_entity_id is not UNSET and principal.entity_id != call.target_entity_id:
            raise _no_call(call.id)
        roles = [await self._store.role(place.space_id, principal.entity_id) for place in call.places]
        if not any(role in ("owner", "member") for role in roles):
            raise Forbidden("you may read this card but not answer it: ask an owner to make you a member")
        if call.held and not await self._writes_in(principal.entity_id, call.held.sources):
            raise Forbidden(f"to agree you need to be a writing member of {', '.join(call.held.sources)}")
        if not approvers.roles and not approvers.entities:
            return
        if principal.entity_id in approvers.entities or any(role in approvers.roles for role in roles):
            return
        wanted = [*approvers.entities, *(f"every {role}" for role in approvers.roles)]
        raise Forbidden(f"you are not an approver of this card; approvers are: {', '.join(wanted)}")

    async def _writes_in(self, entity_id: str, space_ids: Sequence[str]) -> bool:
        roles = [await self._store.role(space_id, entity_id) for space_id in space_ids]
        return all(role in ("owner", "member") for role in roles)


def _let_in(call: Call, consent: Consent) -> Call:
    """What became of the question, not of the call."""
    return msgspec.structs.replace(
        call, status="complete", result=None, error=UNSET, answered_by=consent.by, answered_at=consent.at
    )


def poll_result(call: Call) -> Json:
    answers = [] if call.answers is UNSET else call.answers
    return {"answers": msgspec.to_builtins(answers)}


def _no_call(call_id: str) -> NotFound:
    return NotFound(f"there is no tool call {call_id!r} that you may answer")
