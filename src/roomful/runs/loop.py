"""The loop of a run: ask the model, let spaces see what it says, execute its calls, until it is done."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from roomful.domain.agents import AgentSpec
from roomful.domain.changes import Change
from roomful.domain.deltas import ModelFailed, ModelMessage, ModelRequest, SystemMessage, UserMessage
from roomful.domain.errors import Conflict, LeaseLost, NotFound, OverBound, RoomfulError, Unavailable
from roomful.domain.grants import Granted
from roomful.domain.messages import Message, TextPart, ToolCallPart
from roomful.domain.outcomes import Ends, Failed
from roomful.domain.ports import Ids, Models, Store
from roomful.domain.run_changes import ExpectNoneHanded, SaveCalls, SaveRun, SaveStep
from roomful.domain.runs import SETTLED, Call, Run, RunError, Step, Trigger
from roomful.domain.shape import UNSET
from roomful.domain.usage import Usage
from roomful.recall.attachments import attached
from roomful.recall.context import Scene, describe, look_around, trigger_in_words
from roomful.recall.transcript import transcript
from roomful.routing.router import StepRouter, StepSaid, Surroundings
from roomful.runs.agents import KEPT, Agents, Equipped
from roomful.runs.bounds import Bounds, too_many_calls
from roomful.runs.calls import Calls, Ending, Executed, apply_outcome, blocks, pending
from roomful.runs.gate import Gate
from roomful.runs.handing import Handing
from roomful.runs.holding import Holding
from roomful.runs.past import Past, read_past
from roomful.runs.posting import Posting, Text
from roomful.runs.showing import show_bound
from roomful.runs.starting import NewRun, Starting
from roomful.runs.undone import give_up_rest
from roomful.runs.watching import Watching
from roomful.spaces.flow import read_at_first, read_by_calls
from roomful.spaces.history import History
from roomful.spaces.voice import Voice
from roomful.tools import model_tools

log = logging.getLogger("roomful.runs")
ATTEMPTS = 3


class RunLoop:
    def __init__(
        self,
        *,
        store: Store,
        agents: Agents,
        models: Models,
        history: History,
        calls: Calls,
        posting: Posting,
        starting: Starting,
        bounds: Bounds,
        stop: Callable[[str], Awaitable[Run]],
        ids: Ids,
        watching: Watching,
    ) -> None:
        self._store = store
        self._posting = posting
        self._starting = starting
        self._bounds = bounds
        self._stop = stop
        self._handing = Handing(store)
        self._holding = Holding(store, ids)
        self._agents = agents
        self._models = models
        self._history = history
        self._calls = calls
        self._ids = ids
        self._watching = watching
        self._gate = Gate()
        self._equipped: dict[str, Equipped] = {}

    async def drive(self, voice: Voice) -> None:
        """Takes a run as far as it goes: to its end, or to where it waits. Every error ends here."""
        try:
            async with self._gate, asyncio.timeout(None) as clock:
                await self._drive(voice, clock)
        except LeaseLost:
            voice.abandon()
            self._watching.watch.leases_lost += 1
            log.info("run %s is driven by another worker now", voice.run.id)
        except ModelFailed as failure:
            await self._fail(voice, failure.code, failure.message)
        except OverBound as bound:
            await self._stop_at(voice, bound)
        except TimeoutError:
            bound = OverBound("runSeconds", "the run took longer than it may (limits.runSeconds)")
            if not voice.run.ended:
                await self._stop_at(voice, bound)
        except Unavailable as error:
            log.warning("run %s stops until the store is back: %s", voice.run.id, error.detail)
        except RoomfulError as error:
            await self._fail(voice, error.code, error.detail)
        except Exception:
            log.exception("run %s failed inside the gateway", voice.run.id)
            await self._fail(voice, "internal", "something went wrong inside the gateway")

    async def _drive(self, voice: Voice, clock: asyncio.Timeout) -> None:
        run = voice.run
        is_new = voice.lease.is_first
        await voice.take_up()
        agent = await self._equip(run)
        run.at_work_since = voice.iso()
        if agent.spec.limits.run_seconds is not None:
            clock.reschedule(asyncio.get_running_loop().time() + agent.spec.limits.run_seconds)
            voice.keep([SaveRun(msgspec.structs.replace(run))])
        past = Past() if is_new else await read_past(self._store, run.id)
        run.learn(*read_at_first(run), *read_by_calls(past.calls))
        done = Executed([]) if is_new else await self._take_up(voice, past, agent)
        if await self._has_said_all(voice, past) and await self._is_finished(voice, agent):
            return
        opening: list[ModelMessage] | None = None
        while True:
            if done.ending is not None and await self._end_with(voice, agent, done, done.ending):
                return
            if any(blocks(call) for call in done.calls):
                await self._park(voice, [call for call in done.calls if blocks(call)])
                return
            if past.is_said_out and await self._is_finished(voice, agent):
                return
            scene = await look_around(self._store, run.agent_id)
            if opening is None:
                opening = await self._opening(agent.spec, voice, scene)
            await self._holding.judge(voice, scene)
            await self._bounds.check_step(agent.spec, run, past)
            if agent.spec.on_busy == "steer":
                await self._handing.take(voice, past)
            said = await self._ask(voice, agent, scene, past, opening)
            done = await self._conclude(voice, agent, past, said)
            if not done.calls and await self._is_finished(voice, agent):
                return

    async def _equip(self, run: Run) -> Equipped:
        """Made once for as long as the agent stays as it is."""
        spec = await self._agents.of_run(run)
        known = self._equipped.get(run.agent_id)
        if known is not None and known.spec is spec:
            return known
        can = tuple(tool for tool in spec.tools if self._calls.can(tool))
        told = model_tools(msgspec.structs.replace(spec, tools=can))
        if len(self._equipped) >= KEPT:
            self._equipped.clear()
        equipped = self._equipped[run.agent_id] = Equipped(spec, {tool.name: tool for tool in can}, told)
        return equipped

    async def _conclude(self, voice: Voice, agent: Equipped, past: Past, said: StepSaid) -> Executed:
        """The step is over: it is stored, what it said has its effect, and its calls are executed."""
        run, limits = voice.run, agent.spec.limits
        voice.keep_trail()
        step = Step(
            run_id=run.id,
            number=past.next_step,
            text=said.text,
            usage=said.usage,
            started_at=voice.began[past.next_step],
            ended_at=voice.iso(),
            price=agent.spec.model.price or UNSET,
            is_withheld=(voice.trail is not None and voice.trail.is_withheld) or UNSET,
        )
        run.usage = (run.usage or Usage()).plus(said.usage)
        self._watching.said(said, agent.tools)
        first: list[Change] = [SaveStep(step)]
        if limits.tokens_per_root is not None:
            first.append(SaveRun(msgspec.structs.replace(run)))
        for spoken in said.spoken:
            text = Text(spoken.space_id, spoken.message_id, spoken.text, spoken.mentions)
            if not await self._posting.leads_nowhere(text):
                await self._posting.post(voice, text, limits, lambda _: [], first)
                first = []
        if not first:
            voice.end_closed()
        past.add(step, said.calls)
        if await self._refuse_calls(voice, agent, past, first):
            first = []
        done = await self._calls.execute(voice, said.calls, agent, first)
        await self._holding.tell(voice, past)
        run.learn(*read_by_calls(done.calls))
        return done

    async def _refuse_calls(self, voice: Voice, agent: Equipped, past: Past, first: Sequence[Change]) -> bool:
        """Calls beyond what a run may make are not executed."""
        limits = agent.spec.limits
        beyond = [call for call in past.calls[limits.calls_per_run :] if call.status in ("ready", "waiting")]
        if beyond:
            failed = Failed(too_many_calls(limits).detail)
            await self._calls.settle(voice, [(call, failed) for call in beyond], agent.tools, first)
        return bool(beyond)

    async def _is_finished(self, voice: Voice, agent: Equipped) -> bool:
        """Whether the run could end; not when a message was handed to it at the last moment."""
        await voice.settled()
        steers = agent.spec.on_busy == "steer"
        try:
            await voice.finish("completed", [ExpectNoneHanded(voice.run.id)] if steers else ())
        except Conflict:
            return False
        return True

    async def _has_said_all(self, voice: Voice, past: Past) -> bool:
        """Whether the run had only to end when it was left: its last step called nothing, and it was told
        nothing since."""
        if not past.calls_nothing:
            return False
        return not any(one.step == past.next_step for one in await self._store.handed(voice.run.id))

    async def _end_with(self, voice: Voice, agent: Equipped, done: Executed, ending: Ending) -> bool:
        """The run ends with a call. Not when the run that should take over may not start: then the model is
        told, and goes on."""
        await voice.settled()
        call = msgspec.structs.replace(ending.call)
        apply_outcome(call, ending.outcome)
        now = voice.iso()
        called = [one.id for one in done.calls if blocks(one) and one.waits_for == "child_run"]
        for child in await self._store.children(called):
            await self._stop(child.id)
        left = [one for one in done.calls if blocks(one) and one.id not in called]
        shown = [part for one in left for part in voice.parts(one.places)]
        for part in shown:
            part.status = "canceled"
        canceled = (msgspec.structs.replace(one, status="canceled").settled(now) for one in left)
        changes: list[Change] = [SaveCalls((call.settled(now), *canceled))]
        try:
            new = await self._handed_over(voice.run, ending.outcome)
            if new is not None:
                changes += [*self._bounds.room_for(agent.spec.limits, voice.run), new.change]
            status = ending.outcome.status
            await voice.finish(status, changes, then=lambda _: self._starting.began(*([new] if new else [])))
        except (OverBound, NotFound) as error:
            for part in shown:
                part.status = "waiting"
            await self._calls.settle(voice, [(ending.call, Failed(error.detail))], agent.tools)
            if isinstance(error, OverBound):
                await self._show_bound(voice, error)
            return False
        return True

    async def _handed_over(self, run: Run, ends: Ends) -> NewRun | None:
        """The run of another agent, with what started this one."""
        if ends.hand_to is None:
            return None
        other = await self._store.agent(ends.hand_to)
        if other is None:
            raise NotFound(f"there is no agent {ends.hand_to!r} that could take over")
        return self._starting.new(other, msgspec.structs.replace(run.trigger), by=run)

    async def _take_up(self, voice: Voice, past: Past, agent: Equipped) -> Executed:
        """After a pause or a crash: what was left half done is settled before the model is asked again."""
        if past.cut_step is not None:
            voice.drop_unfinished()
            past.end_cut_step()
        lost: list[Call] = []
        for call in past.calls:
            spec = agent.tools.get(call.tool_name)
            if call.status == "running" and spec is not None and spec.idempotent:
                call.status = "ready"
            elif call.status == "running" or (call.status == "ready" and spec is None):
                call.status = "unknown" if call.status == "running" else "canceled"
                lost.append(call)
        if lost:
            await self._calls.give_up(voice, lost)
        if past.is_left_undone:
            scene = await look_around(self._store, voice.run.agent_id)
            await self._holding.judge(voice, scene)
            self._holding.let_in(voice, agent, past, await self._around(agent, scene))
            await self._holding.tell(voice, past)
        await self._calls.show_late(voice, past.calls, agent.tools)
        await self._refuse_calls(voice, agent, past, ())
        left = [call for call in past.calls if call.status not in SETTLED]
        unsaved = [SaveStep(past.unsaved_step)] if past.unsaved_step is not None else []
        return await self._calls.execute(voice, left, agent, unsaved)

    async def _park(self, voice: Voice, calls: Sequence[Call]) -> None:
        """The run waits. An answer may have come while the step was still being written: the
        commit that parks the run finds out, whatever the moment."""
        await voice.settled()
        voice.run.pending_tool_calls = [pending(call) for call in calls]
        voice.run.at_work_since = UNSET
        for_reply = all(call.waits_for == "reply" for call in calls)
        await voice.park("waiting_reply" if for_reply else "waiting_tool")
        run = await self._store.run(voice.run.id)
        assert run is not None
        voice.run.status = run.status

    async def _opening(self, agent: AgentSpec, voice: Voice, scene: Scene) -> list[ModelMessage]:
        run = voice.run
        told = await describe(self._store, self._history, agent, run, scene)
        message = await self._began_with(run.trigger, told.recent)
        if run.learn(*told.read_spaces):
            voice.keep([SaveRun(msgspec.structs.replace(run))])
        files = await attached(self._store, message) if message is not None else ()
        words = told.notes + trigger_in_words(run, message)
        return [SystemMessage(text=told.system), UserMessage(text=words, attachments=files)]

    async def _began_with(self, trigger: Trigger, recent: Sequence[Message]) -> Message | None:
        """The message that started the run: one of the last there, unless it began late."""
        if trigger.space_id is UNSET or trigger.message_id is UNSET:
            return None
        known = next((message for message in recent if message.id == trigger.message_id), None)
        return known or await self._store.message(trigger.space_id, trigger.message_id)

    async def _ask(
        self,
        voice: Voice,
        agent: Equipped,
        scene: Scene,
        past: Past,
        opening: list[ModelMessage],
    ) -> StepSaid:
        """One model step. It is asked again only when nothing of the answer was whole yet."""
        spec, tools = agent.spec, agent.tools
        request = ModelRequest(
            ref=spec.model,
            agent_id=spec.id,
            messages=(*opening, *transcript(past.steps, past.calls, past.handed)),
            tools=agent.told,
            silence_seconds=spec.limits.model_silence_seconds,
        )
        around = await self._around(agent, scene)
        model = self._models.find(spec.model)
        spares: list[ToolCallPart | TextPart] = voice.begin_step(past.next_step)
        for attempt in range(1, ATTEMPTS + 1):
            router = StepRouter(past.next_step, spec, tools, voice, around, self._ids, spares)
            try:
                with self._watching.asked(voice.run, spec.model, past.next_step) as asked:
                    router.on_first = asked.heard
                    await model.ask(request, router.feed)
                    said = router.finish()
                    asked.used(said.usage)
                    return said
            except ModelFailed as failure:
                await voice.settled()
                if router.has_whole_calls:
                    return router.finish_early()
                if not failure.retry or attempt == ATTEMPTS:
                    raise
                spares = voice.begin_step(past.next_step)
                await asyncio.sleep(0.2 * attempt)
        raise AssertionError("unreachable")

    async def _around(self, agent: Equipped, scene: Scene) -> Surroundings:
        asks = any(tool.approval is not None for tool in agent.tools.values())
        return Surroundings(
            member_of=frozenset(space.id for space in scene.spaces),
            members=lambda space_id: scene.members.get(space_id, ()),
            has_member=scene.has_member,
            granted=Granted(await self._store.grants_of(agent.spec.id) if asks else ()),
        )

    async def _show_bound(self, voice: Voice, bound: OverBound) -> None:
        """In the space where the run is. Of a called run, its caller's part says it, if it is seen."""
        run = voice.run
        space_id = run.active_space_id or run.trigger.space_id
        if space_id and await self._store.role(space_id, run.agent_id) is not None:
            await show_bound(voice, self._bounds, bound, space_id)
        elif not space_id and run.asks_in and not (voice.trail and voice.trail.is_seen):
            await show_bound(voice, self._bounds, bound, run.asks_in)

    async def _stop_at(self, voice: Voice, bound: OverBound) -> None:
        await self._show_bound(voice, bound)
        await self._fail(voice, "limit", bound.detail)

    async def _fail(self, voice: Voice, code: str, message: str) -> None:
        voice.run.error = RunError(code=code, message=message)
        try:
            with contextlib.suppress(NotFound):  # A space of it was removed: nobody sees what is left there.
                await give_up_rest(voice, self._store, self._calls, self._stop)
            await voice.finish("failed")
        except RoomfulError as error:
            log.warning("run %s could not be ended: %s", voice.run.id, error.detail)
