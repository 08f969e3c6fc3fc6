"""The calls of one step, executed: what has an outside effect is noted before and after, never repeated."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from roomful.domain.changes import Change, SaveCalls, SaveStep
from roomful.domain.events import Announcement
from roomful.domain.messages import ToolCallPart
from roomful.domain.outcomes import Done, Ends, Failed, Outcome, Waiting
from roomful.domain.ports import CallContext, Executor, Ids
from roomful.domain.runs import SETTLED, Call, PendingCall, Step
from roomful.domain.shape import UNSET
from roomful.domain.tools import ToolCallShape, ToolSpec, Visibility
from roomful.routing.redact import settled_event, shown_args, shown_error, shown_result, whole_event
from roomful.runs.results import Results
from roomful.spaces.voice import Voice

log = logging.getLogger("roomful.runs")
DEFAULT_TIMEOUT = 60.0


class Calls:
    def __init__(self, executors: Mapping[type, Executor], results: Results, ids: Ids) -> None:
        self._executors = executors
        self._results = results
        self._ids = ids

    def can(self, spec: ToolSpec) -> bool:
        """Whether this house can execute such a tool."""
        executor = self._executors.get(type(spec.executor))
        return executor is not None and executor.can(spec)

    def has_effects(self, spec: ToolSpec) -> bool:
        return self._executors[type(spec.executor)].has_effects

    async def execute(
        self, voice: Voice, step: Step | None, calls: Sequence[Call], tools: Mapping[str, ToolSpec]
    ) -> list[Call]:
        """Executes what is ready, stores what came of it, and gives the calls as they stand then."""
        todo = [call for call in calls if call.status == "ready"]
        first: list[Change] = [SaveStep(step)] if step is not None else []
        risky = [call for call in todo if self.has_effects(tools[call.tool_name])]
        if risky:
            for call in risky:
                call.status = "running"
            await voice.kept([*first, SaveCalls(tuple(_copies(risky)))])
            first = []
        settled = await self._all(voice, todo, tools, first)
        done = {call.id: call for call in settled}
        return [done.get(call.id, call) for call in calls]

    async def _all(
        self, voice: Voice, todo: Sequence[Call], tools: Mapping[str, ToolSpec], first: list[Change]
    ) -> list[Call]:
        if not todo:
            if first:
                await voice.kept(first)
            return []
        ordered = any(spec.shape_is_text or spec.route.enters for spec in (tools[c.tool_name] for c in todo))
        quick = not any(self.has_effects(tools[call.tool_name]) for call in todo)
        if ordered or quick:
            outcomes = [await self._one(voice, call, tools[call.tool_name]) for call in todo]
            await self.settle(voice, list(zip(todo, outcomes, strict=True)), tools, first)
            return list(todo)
        if first:
            await voice.kept(first)

        async def one(call: Call) -> None:
            outcome = await self._one(voice, call, tools[call.tool_name])
            await self.settle(voice, [(call, outcome)], tools)

        ended = await asyncio.gather(*(one(call) for call in todo), return_exceptions=True)
        if (error := next((each for each in ended if isinstance(each, BaseException)), None)) is not None:
            raise error
        return list(todo)

    async def _one(self, voice: Voice, call: Call, spec: ToolSpec) -> Outcome:
        context = CallContext(
            call=call, spec=spec, run=voice.run, agent_id=voice.run.agent_id, args=call.args
        )
        try:
            async with asyncio.timeout(spec.timeout or DEFAULT_TIMEOUT):
                return await self._executors[type(spec.executor)].execute(context)
        except TimeoutError:
            return Failed(f"no result within {spec.timeout or DEFAULT_TIMEOUT:g} seconds")
        except Exception:
            log.exception("the executor of %s failed in run %s", call.tool_name, call.run_id)
            return Failed("the tool failed inside the gateway")

    async def settle(
        self,
        voice: Voice,
        outcomes: Sequence[tuple[Call, Outcome]],
        tools: Mapping[str, ToolSpec],
        first: Sequence[Change] = (),
    ) -> None:
        """Stores outcomes and tells the spaces, in one commit."""
        changes: list[Change] = list(first)
        heard: list[Announcement] = []
        for call, outcome in outcomes:
            apply_outcome(call, outcome)
            changes += self._results.shrink(voice.run.agent_id, call)
            more, told = self._show(voice, call, tools[call.tool_name])
            changes += more
            heard += told
        spaces = {place.space_id for call, _ in outcomes for place in call.places}
        saved = SaveCalls(tuple(_copies(call for call, _ in outcomes)))
        await voice.kept([*changes, saved, *voice.saved(*spaces)], heard)
        for call, _ in outcomes:
            if call.status != "waiting" and voice.is_followed:
                voice.tell_run(whole_event(call))

    async def give_up(self, voice: Voice, calls: Sequence[Call]) -> None:
        """Calls that are canceled, or of which nobody knows what became of them, as their status says."""
        heard: list[Announcement] = []
        for call in calls:
            for place in call.places:
                if (part := voice.part(place.space_id, place.part_id)) is not None:
                    part.status = call.status
                    heard.append(voice.changed(place.space_id, place.part_id, call.id))
        spaces = {announcement.space_id for announcement in heard}
        await voice.kept([SaveCalls(tuple(_copies(calls))), *voice.saved(*spaces)], heard)

    def _show(self, voice: Voice, call: Call, spec: ToolSpec) -> tuple[list[Change], list[Announcement]]:
        if spec.shape_is_text:
            return [], []
        asks = call.status == "waiting" and call.question is not UNSET
        if not call.places and (asks or (call.visibility is Visibility.RESULT and call.status != "waiting")):
            return self._show_whole(voice, call, spec)
        heard: list[Announcement] = []
        audience = call.target_entity_id or None
        for place in call.places:
            part = voice.part(place.space_id, place.part_id)
            if call.status == "waiting":
                assert isinstance(part, ToolCallPart)
                part.status, part.question = "waiting", call.question
            else:
                event = voice.about(place.space_id, settled_event(call, place), audience)
                voice.fold([event])
                heard.append(event)
            heard.append(voice.changed(place.space_id, place.part_id, call.id))
        return [], heard

    def _show_whole(
        self, voice: Voice, call: Call, spec: ToolSpec
    ) -> tuple[list[Change], list[Announcement]]:
        """Nothing was seen of this call until now: its result, or a question that nobody expected."""
        changes: list[Change] = []
        heard: list[Announcement] = []
        audience = call.target_entity_id or None
        if call.question is not UNSET and not call.space_ids and call.active_space_id is not UNSET:
            call.space_ids = [call.active_space_id]
        if not call.space_ids and call.status == "waiting":
            call.status, call.error = "error", "it asked a question, and there is no space where to ask it"
        for space_id in call.space_ids:
            joined, news = voice.joins(space_id)
            place, opened, is_new = voice.show_whole(space_id, self._whole_part(call, spec))
            call.places = [*call.places, place]
            changes += [*joined, *opened]
            heard += news
            if call.status in SETTLED:
                heard.append(voice.about(space_id, settled_event(call, place), audience))
            change = voice.changed(space_id, place.part_id, call.id)
            change.opens = is_new
            heard.append(change)
        return changes, heard

    def _whole_part(self, call: Call, spec: ToolSpec) -> ToolCallPart:
        component = spec.shape.component if isinstance(spec.shape, ToolCallShape) else None
        return ToolCallPart(
            id=self._ids.new("prt"),
            tool_call_id=call.id,
            tool_name=call.tool_name,
            run_id=call.run_id,
            status=call.status,
            args=shown_args(call),
            result=shown_result(call),
            error=shown_error(call) if call.status == "error" else UNSET,
            question=call.question,
            custom_ui=component or UNSET,
            target_entity_id=call.target_entity_id,
        )


def apply_outcome(call: Call, outcome: Outcome) -> None:
    match outcome:
        case Done():
            call.status, call.result, call.told = "complete", outcome.value, outcome.told
        case Ends():
            call.status, call.result = "complete", outcome.value
        case Failed():
            call.status, call.error = "error", outcome.error
        case Waiting():
            call.status, call.waits_for, call.question = "waiting", outcome.on, outcome.question
            call.continuation = {"state": outcome.state} if outcome.state is not UNSET else UNSET


def blocks(call: Call) -> bool:
    """Whether the run cannot go on before this call is settled."""
    return call.status == "waiting" and call.told is UNSET


def pending(call: Call) -> PendingCall:
    """A run's state is the same for everybody in a space, so a call for one member is not part of it; nor is
    one that a machine answers."""
    is_for_one = call.target_entity_id is not UNSET or call.waits_for == "callback"
    return PendingCall(
        tool_call_id=call.id,
        tool_name=call.tool_name,
        args=shown_args(call),
        space_ids=[] if is_for_one else [place.space_id for place in call.places],
    )


def _copies(calls: Iterable[Call]) -> list[Call]:
    """As they are now: what is stored must not change with what comes later."""
    return [msgspec.structs.replace(call) for call in calls]
