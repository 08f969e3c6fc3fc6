"""The calls of one step, executed: what has an outside effect is noted before and after, never repeated."""

import asyncio
import logging
from collections.abc import Mapping, Sequence

import msgspec

from roomful.domain.changes import Change
from roomful.domain.events import Announcement
from roomful.domain.messages import ToolCallPart
from roomful.domain.outcomes import Done, Ends, Failed, Outcome, Waiting
from roomful.domain.ports import CallContext, Executor, Ids
from roomful.domain.run_changes import SaveCalls
from roomful.domain.runs import SETTLED, Call, PendingCall, copies
from roomful.domain.shape import UNSET
from roomful.domain.tools import ToolSpec, Visibility
from roomful.routing.redact import settled_event, shown_args, whole_event
from roomful.runs.agents import Equipped
from roomful.runs.delegating import Delegating
from roomful.runs.posting import Led, Posting, reply_seconds, text_of
from roomful.runs.results import Results
from roomful.runs.showing import show_call
from roomful.runs.watching import Watching
from roomful.spaces.voice import Voice

log = logging.getLogger("roomful.runs")
DEFAULT_TIMEOUT = 60.0
_UNASKED = "it asked a question, which may not be shown here: not everybody may read what you have read"


class Calls:
    def __init__(
        self,
        executors: Mapping[type, Executor],
        *,
        results: Results,
        posting: Posting,
        delegating: Delegating,
        ids: Ids,
        watching: Watching,
    ) -> None:
        self._executors = executors
        self._results = results
        self._posting = posting
        self._delegating = delegating
        self._ids = ids
        self._watching = watching

    def can(self, spec: ToolSpec) -> bool:
        """Whether this house can execute such a tool."""
        executor = self._executors.get(type(spec.executor))
        return executor is not None and executor.can(spec)

    def has_effects(self, spec: ToolSpec) -> bool:
        return self._executors[type(spec.executor)].has_effects

    async def execute(
        self, voice: Voice, calls: Sequence[Call], agent: Equipped, first: Sequence[Change] = ()
    ) -> "Executed":
        """Executes what is ready, stores what came of it, and gives the calls as they stand then. `first` is
        stored before all that."""
        todo = [call for call in calls if call.status == "ready"]
        work = _Work(voice, agent, list(first))
        risky = [call for call in todo if self.has_effects(agent.tools[call.tool_name])]
        if risky:
            for call in risky:
                call.status = "running"
            await work.keep([SaveCalls(copies(risky))])
        await self._all(work, todo)
        if work.first:
            await work.keep([])
        return Executed(list(calls), work.ending)

    async def _all(self, work: "_Work", todo: Sequence[Call]) -> None:
        specs = [work.agent.tools[call.tool_name] for call in todo]
        ordered = any(spec.shape_is_text or spec.route.enters for spec in specs)
        if ordered or not any(self.has_effects(spec) for spec in specs):
            await self._in_order(work, todo)
            return
        if work.first:
            await work.keep([])

        async def one(call: Call) -> None:
            await self._in_order(work, [call])

        ended = await asyncio.gather(*(one(call) for call in todo), return_exceptions=True)
        if (error := next((each for each in ended if isinstance(each, BaseException)), None)) is not None:
            raise error

    async def _in_order(self, work: "_Work", todo: Sequence[Call]) -> None:
        """One after the other; outcomes that lead to nothing else are stored together."""
        done: list[tuple[Call, Outcome]] = []
        for call in todo:
            spec = work.agent.tools[call.tool_name]
            with self._watching.called(call, spec, work.voice.run) as called:
                outcome = await self._one(work.voice, call, spec)
                called.came(outcome)
                if isinstance(outcome, Ends) and work.ending is None:
                    work.ending = Ending(call, outcome)
                elif isinstance(outcome, Ends):
                    done.append((call, Failed("another call ended the run before this one")))
                elif not await self._leads_on(work, call, outcome):
                    done.append((call, outcome))
                else:
                    await self._settle(work, done)
                    done = []
                    await self._lead_on(work, call, outcome)
        await self._settle(work, done)

    async def _leads_on(self, work: "_Work", call: Call, outcome: Outcome) -> bool:
        if isinstance(outcome, Waiting):
            return outcome.child is not UNSET
        spec = work.agent.tools[call.tool_name]
        if not spec.shape_is_text or not isinstance(outcome, Done):
            return False
        return not await self._posting.leads_nowhere(text_of(call, spec))

    async def _lead_on(self, work: "_Work", call: Call, outcome: Outcome) -> None:
        first, work.first = work.first, []
        spec = work.agent.tools[call.tool_name]
        if isinstance(outcome, Waiting):
            failed = await self._delegating.begin(
                work.voice, call, spec, outcome, work.agent.spec.limits, first
            )
            if failed is not None:
                work.first = first
                await self._settle(work, [(call, failed)])
            return
        text = text_of(call, spec)

        def settle(led: Led) -> list[Change]:
            if led.awaited is None:
                apply_outcome(call, Done(led.result))
            else:
                apply_outcome(call, Waiting("reply"))
                call.awaited = led.awaited
                seconds = reply_seconds(text)
                call.deadline = UNSET if seconds is None else work.voice.now() + seconds
            return [SaveCalls(copies([call.settled(work.voice.iso())]))]

        await self._posting.post(work.voice, text, work.agent.spec.limits, settle, first)

    async def _settle(self, work: "_Work", done: Sequence[tuple[Call, Outcome]]) -> None:
        if done:
            first, work.first = work.first, []
            await self.settle(work.voice, done, work.agent.tools, first)

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
            apply_outcome(call, outcome if _may_ask(voice, call, outcome) else Failed(_UNASKED))
            changes += self._results.shrink(voice.run.agent_id, call)
            more, told = self._show(voice, call, tools[call.tool_name])
            call.settled(voice.iso())
            changes += more
            heard += told
            if voice.trail is not None and call.status in SETTLED:
                heard += voice.trail.call(call)
        spaces = {place.space_id for call, _ in outcomes for place in call.places}
        saved = SaveCalls(copies([call for call, _ in outcomes]))
        await voice.kept([*changes, saved, *voice.saved(*spaces)], heard)
        for call, _ in outcomes:
            if call.status != "waiting" and voice.is_followed():
                voice.tell_run(whole_event(call))

    async def show_late(self, voice: Voice, calls: Sequence[Call], tools: Mapping[str, ToolSpec]) -> None:
        """Results that came while the run was parked, of calls of which nothing but the result is seen."""
        for call in calls:
            spec = tools.get(call.tool_name)
            is_late = call.visibility is Visibility.RESULT and call.space_ids and not call.places
            if spec is not None and is_late and call.status in ("complete", "error"):
                changes, heard = show_call(voice, call, spec, self._ids)
                await voice.kept([*changes, SaveCalls(copies([call])), *voice.saved(*call.space_ids)], heard)

    async def give_up(self, voice: Voice, calls: Sequence[Call]) -> None:
        """Calls that are canceled, or of which nobody knows what became of them, as their status says."""
        heard: list[Announcement] = []
        for call in calls:
            call.settled(voice.iso())
            for place in call.places:
                if (part := voice.part(place.space_id, place.part_id)) is not None:
                    part.status = call.status
                    heard.append(voice.changed(place.space_id, place.part_id, call.id))
        spaces = {announcement.space_id for announcement in heard}
        if voice.trail is not None:
            heard += [news for call in calls for news in voice.trail.call(call)]
        await voice.kept([SaveCalls(copies(calls)), *voice.saved(*spaces)], heard)

    def _show(self, voice: Voice, call: Call, spec: ToolSpec) -> tuple[list[Change], list[Announcement]]:
        if spec.shape_is_text:
            return [], []
        asks = call.status == "waiting" and call.question is not UNSET
        if not call.places and (asks or (call.visibility is Visibility.RESULT and call.status != "waiting")):
            return show_call(voice, call, spec, self._ids)
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


class Ending(msgspec.Struct, frozen=True):
    """The call with which the run ends. It is stored with the run's end."""

    call: Call
    outcome: Ends


class Executed(msgspec.Struct, frozen=True):
    calls: list[Call]
    ending: Ending | None = None


class _Work(msgspec.Struct):
    """One step's calls being executed. `first` is stored with whatever is stored first."""

    voice: Voice
    agent: Equipped
    first: list[Change]
    ending: Ending | None = None

    async def keep(self, changes: Sequence[Change]) -> None:
        first, self.first = self.first, []
        await self.voice.kept([*first, *changes])


def apply_outcome(call: Call, outcome: Outcome) -> None:
    match outcome:
        case Done():
            call.status, call.result, call.told = "complete", outcome.value, outcome.told
            call.read(*outcome.read_spaces)
        case Ends():
            call.status, call.result = "complete", outcome.value
        case Failed():
            call.status, call.error = "error", outcome.error
        case Waiting():
            call.status, call.waits_for, call.question = "waiting", outcome.on, outcome.question
            call.continuation = {"state": outcome.state} if outcome.state is not UNSET else UNSET


def _may_ask(voice: Voice, call: Call, outcome: Outcome) -> bool:
    """A question may hold anything that the call does; of some calls nothing was to be seen until now."""
    if not isinstance(outcome, Waiting) or outcome.question is UNSET:
        return True
    spaces = call.space_ids or [call.active_space_id or ""]
    is_judged = call.visibility in (Visibility.FULL, Visibility.RESULT)
    return is_judged or not voice.flow.sources(spaces, call.target_entity_id or None)


def blocks(call: Call) -> bool:
    """Whether the run cannot go on before this call is settled."""
    return call.status == "waiting" and call.told is UNSET


def _asks_people(call: Call) -> bool:
    if call.waits_for == "reply":
        return call.awaited is UNSET or call.awaited.of_people
    return call.waits_for in ("answer", "approval")


def pending(call: Call) -> PendingCall:
    """A run's state is the same for everybody in a space, so a call for one member is not part of it; nor is
    one that a machine answers."""
    is_for_one = call.target_entity_id is not UNSET or call.waits_for not in ("answer", "approval")
    return PendingCall(
        tool_call_id=call.id,
        tool_name=call.tool_name,
        args=shown_args(call),
        space_ids=[] if is_for_one else [place.space_id for place in call.places],
        waits_for=call.waits_for,
        asks_people=_asks_people(call),
    )
