"""The loop of a run: ask the model, let spaces see what it says, execute its calls, until it is done."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import aclosing

import msgspec

from roomful.domain.agents import AgentSpec
from roomful.domain.deltas import ModelFailed, ModelMessage, ModelRequest, SystemMessage, UserMessage
from roomful.domain.errors import LeaseLost, RoomfulError, Unavailable
from roomful.domain.grants import Granted
from roomful.domain.messages import TextPart, ToolCallPart
from roomful.domain.ports import Ids, Models, Store
from roomful.domain.runs import SETTLED, Call, RunError, Step
from roomful.domain.shape import UNSET
from roomful.domain.tools import ToolSpec
from roomful.domain.usage import Usage
from roomful.recall.attachments import attached
from roomful.recall.context import Scene, describe, look_around, trigger_in_words
from roomful.recall.transcript import transcript
from roomful.routing.router import StepRouter, StepSaid, Surroundings
from roomful.runs.agents import Agents
from roomful.runs.calls import Calls, blocks, pending
from roomful.runs.past import Past, read_past
from roomful.spaces.history import History
from roomful.spaces.voice import Voice
from roomful.tools import model_tools

log = logging.getLogger("roomful.runs")
ATTEMPTS = 3
SILENT = "model_silent"
"""Not asked again: the person has waited long enough."""


class Bound(Exception):
    """The run hit one of its limits."""


class RunLoop:
    def __init__(
        self, *, store: Store, agents: Agents, models: Models, history: History, calls: Calls, ids: Ids
    ) -> None:
        self._store = store
        self._agents = agents
        self._models = models
        self._history = history
        self._calls = calls
        self._ids = ids

    async def drive(self, voice: Voice) -> None:
        """Takes a run as far as it goes: to its end, or to where it waits. Every error ends here."""
        try:
            async with asyncio.timeout(None) as clock:
                await self._drive(voice, clock)
        except LeaseLost:
            log.info("run %s is driven by another worker now", voice.run.id)
        except ModelFailed as failure:
            await self._fail(voice, failure.code, failure.message)
        except Bound as bound:
            await self._fail(voice, "limit", str(bound))
        except TimeoutError:
            await self._fail(voice, "limit", "the run took longer than its runSeconds")
        except Unavailable as error:
            log.warning("run %s stops until the store is back: %s", voice.run.id, error.detail)
        except RoomfulError as error:
            await self._fail(voice, error.code, error.detail)
        except Exception:
            log.exception("run %s failed inside the gateway", voice.run.id)
            await self._fail(voice, "internal", "something went wrong inside the gateway")

    async def _drive(self, voice: Voice, clock: asyncio.Timeout) -> None:
        run = voice.run
        agent = await self._agents.find(run.agent_id)
        if agent.limits.run_seconds is not None:
            clock.reschedule(asyncio.get_running_loop().time() + agent.limits.run_seconds)
        tools = {spec.name: spec for spec in agent.tools if self._calls.can(spec)}
        past = await read_past(self._store, run.id)
        calls = await self._take_up(voice, past, tools)
        opening: list[ModelMessage] | None = None
        while not any(blocks(call) for call in calls):
            scene = await look_around(self._store, agent.id)
            if opening is None:
                opening = await self._opening(agent, voice, scene)
            self._check_bounds(agent, past)
            said = await self._ask(voice, agent, tools, scene, past, opening)
            step = Step(run_id=run.id, number=past.next_step, text=said.text, usage=said.usage)
            run.usage = (run.usage or Usage()).plus(said.usage)
            calls = await self._calls.execute(voice, step, said.calls, tools)
            past.add(step, calls)
            if not calls:
                await voice.settled()
                await voice.finish("completed")
                return
        await self._park(voice, [call for call in calls if blocks(call)])

    async def _take_up(self, voice: Voice, past: Past, tools: Mapping[str, ToolSpec]) -> Sequence[Call]:
        """After a pause or a crash: what was left half done is settled before the model is asked again."""
        voice.resume(await self._store.open_messages(voice.run.id))
        if past.cut_step is not None:
            voice.drop_unfinished()
            past.end_cut_step()
        lost: list[Call] = []
        for call in past.calls:
            spec = tools.get(call.tool_name)
            if call.status == "running" and spec is not None and spec.idempotent:
                call.status = "ready"
            elif call.status == "running" or (call.status == "ready" and spec is None):
                call.status = "unknown" if call.status == "running" else "canceled"
                lost.append(call)
        if lost:
            await self._calls.give_up(voice, lost)
        left = [call for call in past.calls if call.status not in SETTLED]
        return await self._calls.execute(voice, past.unsaved_step, left, tools)

    async def _park(self, voice: Voice, calls: Sequence[Call]) -> None:
        """The run waits for people. An answer may have come while the step was still being written: the
        commit that parks the run finds out, whatever the moment."""
        await voice.settled()
        voice.run.pending_tool_calls = [pending(call) for call in calls]
        await voice.park("waiting_tool")
        run = await self._store.run(voice.run.id)
        assert run is not None
        voice.run.status = run.status

    async def _opening(self, agent: AgentSpec, voice: Voice, scene: Scene) -> list[ModelMessage]:
        run = voice.run
        trigger = run.trigger
        message = None
        if trigger.space_id is not UNSET and trigger.message_id is not UNSET:
            message = await self._store.message(trigger.space_id, trigger.message_id)
        told = await describe(self._store, self._history, agent, run, scene)
        files = await attached(self._store, message) if message is not None else ()
        words = told.notes + trigger_in_words(run, message)
        return [SystemMessage(text=told.system), UserMessage(text=words, attachments=files)]

    def _check_bounds(self, agent: AgentSpec, past: Past) -> None:
        if past.next_step >= agent.limits.max_steps:
            raise Bound(f"the run took its {agent.limits.max_steps} steps (limits.maxSteps) and was not done")
        if len(past.calls) >= agent.limits.calls_per_run:
            raise Bound(f"the run made its {agent.limits.calls_per_run} calls (limits.callsPerRun)")

    async def _ask(
        self,
        voice: Voice,
        agent: AgentSpec,
        tools: Mapping[str, ToolSpec],
        scene: Scene,
        past: Past,
        opening: list[ModelMessage],
    ) -> StepSaid:
        """One model step. It is asked again only when nothing of the answer was whole yet."""
        request = ModelRequest(
            ref=agent.model,
            agent_id=agent.id,
            messages=(*opening, *transcript(past.steps, past.calls)),
            tools=model_tools(msgspec.structs.replace(agent, tools=tuple(tools.values()))),
            silence_seconds=agent.limits.model_silence_seconds,
        )
        asks = any(spec.approval is not None for spec in tools.values())
        around = Surroundings(
            member_of=frozenset(space.id for space in scene.spaces),
            has_member=scene.has_member,
            granted=Granted(await self._store.grants_of(agent.id) if asks else ()),
        )
        model = self._models.find(agent.model)
        spares: list[ToolCallPart | TextPart] = voice.rewind()
        for attempt in range(1, ATTEMPTS + 1):
            router = StepRouter(past.next_step, agent, tools, voice, around, self._ids, spares)
            try:
                async with aclosing(model.stream(request)) as answer:
                    async for deltas in answer:
                        router.feed(deltas)
                return router.finish()
            except ModelFailed as failure:
                await voice.settled()
                if router.has_whole_calls:
                    return router.finish_early()
                if not failure.retry or failure.code == SILENT or attempt == ATTEMPTS:
                    raise
                spares = voice.rewind()
                await asyncio.sleep(0.2 * attempt)
        raise AssertionError("unreachable")

    async def _fail(self, voice: Voice, code: str, message: str) -> None:
        voice.run.error = RunError(code=code, message=message)
        try:
            await voice.finish("failed")
        except RoomfulError as error:
            log.warning("run %s could not be ended: %s", voice.run.id, error.detail)
