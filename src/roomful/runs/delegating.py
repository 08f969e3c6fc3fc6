"""A call that another run answers: the run begins with the call's waiting, and its end settles the call."""

import contextlib
from collections.abc import Sequence

import msgspec

from roomful.domain.agents import Limits
from roomful.domain.changes import Change
from roomful.domain.errors import Conflict, OverBound
from roomful.domain.events import Announcement
from roomful.domain.messages import PartStatus, ToolCallPart
from roomful.domain.outcomes import Delegated, Failed, Waiting
from roomful.domain.ports import Clock, Store
from roomful.domain.run_changes import SaveCalls
from roomful.domain.runs import Call, CalledAs, Run, RunError, Trigger, copies
from roomful.domain.shape import UNSET
from roomful.domain.tools import ToolSpec, Visibility
from roomful.domain.trails import Child
from roomful.runs.bounds import Bounds
from roomful.runs.settling import Settling
from roomful.runs.showing import show_bound
from roomful.runs.starting import NewRun, Starting
from roomful.runs.worker import Worker
from roomful.spaces.flow import flow_into, read_by
from roomful.spaces.run_news import GENERAL
from roomful.spaces.trails import child_of, spaces_above, trees
from roomful.spaces.voice import Voice


class Delegating:
    def __init__(self, *, store: Store, starting: Starting, bounds: Bounds) -> None:
        self._store = store
        self._starting = starting
        self._bounds = bounds

    async def begin(
        self,
        voice: Voice,
        call: Call,
        spec: ToolSpec,
        outcome: Waiting,
        limits: Limits,
        first: Sequence[Change],
    ) -> Failed | None:
        """Starts the run that the call waits for, in the commit that makes it wait. Failed, and nothing is
        stored, at a bound."""
        assert outcome.child is not UNSET
        try:
            room = self._bounds.room_for(limits, voice.run)
            await self._begin(voice, call, spec, outcome.child, [*room, *first])
        except OverBound as bound:
            where = call.active_space_id or voice.run.asks_in
            if not _is_seen(call) and where and await self._store.role(where, voice.run.agent_id):
                await show_bound(voice, self._bounds, bound, where)
            return Failed(bound.detail)
        return None

    async def _begin(
        self, voice: Voice, call: Call, spec: ToolSpec, wanted: Delegated, changes: Sequence[Change]
    ) -> None:
        """What its parts show from now on is saved with the run that it is about, and not before."""
        await voice.settled()
        new = self._new(voice.run, call, wanted)
        child = child_of(msgspec.structs.replace(new.run, status="running"), "", [])
        waiting = msgspec.structs.replace(call, status="waiting", waits_for="child_run")
        if spec.timeout is not None:
            waiting.deadline = voice.now() + spec.timeout
        heard: list[Announcement] = []
        is_stored = False

        def stored(_: list[object]) -> None:
            nonlocal is_stored
            is_stored = True
            for name in ("status", "waits_for", "deadline"):
                setattr(call, name, getattr(waiting, name))
            self._starting.began(new)

        before = _show(voice, waiting, child)
        heard += voice.changed_at(waiting.places, call.id)
        if voice.trail is not None:
            heard += voice.trail.call(waiting, child)
        spaces = {place.space_id for place in call.places}
        everything = [*changes, new.change, SaveCalls(copies([waiting])), *voice.saved(*spaces)]
        try:
            await voice.try_kept(everything, lambda: heard, stored)
        finally:
            for part, status in () if is_stored else before:
                part.status, part.child = status, UNSET

    def _new(self, run: Run, call: Call, wanted: Delegated) -> NewRun:
        trigger = Trigger(
            type="call", entity_id=run.agent_id, payload=wanted.prompt, read_spaces=run.read_spaces
        )
        shown_in = call.space_ids[0] if call.space_ids else UNSET
        asks_in = shown_in or call.active_space_id or run.asks_in
        new = self._starting.child(wanted.agent_id, trigger, run, call_id=call.id, asks_in=asks_in)
        new.run.asks_whom = call.target_entity_id or run.asks_whom
        new.run.called_as = CalledAs(
            agent_id=wanted.label,
            name=wanted.name,
            is_inline=wanted.is_inline,
            include_context=wanted.include_context,
        )
        return new


def _is_seen(call: Call) -> bool:
    return bool(call.places) and call.visibility is Visibility.FULL


def _show(voice: Voice, call: Call, child: Child) -> list[tuple[ToolCallPart, PartStatus]]:
    """The parts show that somebody works on it; they are given back with what they showed before."""
    before: list[tuple[ToolCallPart, PartStatus]] = []
    for place in call.places:
        part = voice.part(place.space_id, place.part_id)
        if isinstance(part, ToolCallPart):
            before.append((part, part.status))
            part.status = "running"
            if call.visibility is Visibility.FULL:
                part.child = msgspec.structs.replace(child, calls=[])
    return before


class Children:
    """What happens to a call when the run that it waits for ends, or takes too long."""

    def __init__(self, *, store: Store, settling: Settling, worker: Worker, clock: Clock) -> None:
        self._store = store
        self._settling = settling
        self._worker = worker
        self._clock = clock

    async def ended(self, run: Run) -> None:
        if run.parent_call_id is UNSET or not run.ended:
            return
        call = await self._store.call(run.parent_call_id)
        if call is not None and call.status == "waiting":
            await self._settle(call, run)

    async def settle_left(self) -> None:
        """Calls that were not told of the end of their run, because the gateway stopped in between."""
        for call in await self._store.calls_of_ended_children():
            for run in await self._store.children([call.id]):
                await self._settle(call, run)

    async def out_of_time(self, call: Call) -> None:
        """A machine's time is up. While somebody inside waits for a person, it does not count."""
        for run in await self._store.children([call.id]):
            if run.ended:
                await self._settle(call, run)
            elif await self._asks_somebody(run):
                again = msgspec.structs.replace(call, deadline=self._clock.now() + 1.0)
                with contextlib.suppress(Conflict):
                    await self._settling.postpone(again)
            else:
                why = RunError(code="timeout", message="did not finish in time")
                await self._worker.cancel(run.id, why)

    async def _asks_somebody(self, run: Run) -> bool:
        below = await self._store.descent([run.parent_call_id or ""])
        people = ("answer", "approval", "reply")
        return any(call.status == "waiting" and call.waits_for in people for call in below.calls)

    async def _settle(self, call: Call, run: Run) -> None:
        parent = await self._store.run(call.run_id)
        if parent is None:
            return
        descent = await self._store.descent([call.id])
        child = trees(descent).get(call.id)
        name = run.called_as.name if run.called_as is not UNSET else run.agent_id
        if run.status == "completed" and child is not None:
            call.status = "complete"
            call.result = {
                "text": "".join(step.text for step in descent.steps if step.run_id == run.id),
                "subAgentThreadId": run.id,
                "subAgentResourceId": f"{parent.agent_id}-{child.agent_id}",
            }
        else:
            call.status, call.error = "error", f"{name} {_why(run)}"
        await self._judge(parent, call, run)
        with contextlib.suppress(Conflict):
            await self._settling.settle(parent, call, child=child or UNSET)

    async def _judge(self, parent: Run, call: Call, run: Run) -> None:
        """What the run inside has read comes up with its result: to the model, and where it is let in."""
        call.read(*await read_by(self._store, run))
        above = await spaces_above(self._store, parent)
        flow = await flow_into(self._store, call.read_spaces or (), {*call.space_ids, *above})
        here = flow.sources(call.space_ids, call.target_entity_id or None)
        call.is_withheld = bool(here or flow.sources(above)) or UNSET


def _why(run: Run) -> str:
    """Why there is no result, in words that a space may read."""
    error = run.error
    if run.status == "canceled":
        return "was canceled" if error is UNSET else error.message
    if error is UNSET:
        return "failed"
    if error.code == "limit":
        return f"stopped at a limit: {error.message}"
    return f"failed: {GENERAL.get(error.code, 'it could not finish')}"
