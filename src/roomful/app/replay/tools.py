"""What reaches outside, without reaching there: each call has the outcome that was recorded."""

import asyncio
from collections.abc import Mapping, Sequence

from roomful.app.replay.gates import Gates
from roomful.domain.agents import AgentSpec
from roomful.domain.messages import ToolCallPart
from roomful.domain.outcomes import Done, Failed, Outcome, Waiting
from roomful.domain.ports import CallContext, Executor
from roomful.domain.runs import Call
from roomful.domain.shape import UNSET, Json
from roomful.domain.tools import Compute, Http, Image, Mcp, PythonFunction, ToolSpec, Visibility, Webhook
from roomful.recall.story.plot import Plot
from roomful.tools import offered_name, offered_tool

OUTSIDE = (Compute, Http, Webhook, Image, Mcp, PythonFunction)


class RecordedTools:
    def __init__(self, plot: Plot, gates: Gates, own: Mapping[type, Executor]) -> None:
        recorded = RecordedExecutor(plot, gates)
        self._plot = plot
        self.executors: dict[type, Executor] = {
            kind: Interrupted(each, plot, gates) for kind, each in own.items()
        }
        self.executors |= dict.fromkeys(OUTSIDE, recorded)

    async def more_tools(self, agent: AgentSpec) -> tuple[ToolSpec, ...]:
        """Those of an agent's servers that the story calls, taking whatever they were given."""
        known = {tool.name for tool in agent.tools}
        called = [call.tool_name for call in self._plot.calls.values() if call.tool_name not in known]
        found: dict[str, ToolSpec] = {}
        for server in agent.mcp_servers:
            start = offered_name(server.name, "")
            names = server.allowed_tools or [one.removeprefix(start) for one in called]
            by_name = {offered_name(server.name, name): name for name in names}
            for told in called:
                if told.startswith(start) and told in by_name:
                    found[told] = offered_tool(server, agent.dialect, by_name[told], "", {"type": "object"})
        return tuple(found.values())

    def complete(self, spec: ToolSpec) -> ToolSpec:
        return spec


class Interrupted:
    """An executor of the house, which does not get to the calls before which the run was stopped."""

    def __init__(self, executor: Executor, plot: Plot, gates: Gates) -> None:
        self.has_effects = executor.has_effects
        self.can = executor.can
        self._executor = executor
        self._plot = plot
        self._gates = gates

    async def execute(self, context: CallContext) -> Outcome:
        call = self._plot.calls.get(context.call.id)
        if call is not None and call.status == "canceled" and call.waits_for is UNSET:
            await self._gates.stay(context.run.id)
        return await self._executor.execute(context)


class RecordedExecutor:
    has_effects = True

    def __init__(self, plot: Plot, gates: Gates) -> None:
        self._calls = plot.calls
        self._gates = gates
        self._arrived: dict[str, asyncio.Event] = {}
        self._before = _before(plot)

    def can(self, spec: ToolSpec) -> bool:
        return True

    async def execute(self, context: CallContext) -> Outcome:
        call = self._calls.get(context.call.id)
        if call is None:
            return Failed("the story has no such call")
        done = self._arrived[call.id] = asyncio.Event()
        await asyncio.sleep(0)  # those that are executed at the same time arrive too
        for earlier in self._before.get(call.id, ()):
            if earlier in self._arrived:
                await self._arrived[earlier].wait()
        outcome = await self._outcome(call, context)
        done.set()
        return outcome

    async def _outcome(self, call: Call, context: CallContext) -> Outcome:
        asked: dict[str, Json] = call.continuation or {}
        if "answer" in asked and context.call.continuation is UNSET:
            return Waiting("answer", question={"requests": {}}, state=asked.get("state"))
        if call.waits_for == "callback" and context.call.waits_for != "callback":
            return Waiting("callback")
        match call.status:
            case "error":
                return Failed(call.error or "")
            case "complete":
                return Done(call.result, call.told)
            case _:
                await self._gates.stay(context.run.id)
                return Failed("the story has no outcome of this call")


def _before(plot: Plot) -> dict[str, Sequence[str]]:
    """Calls of which only the result is seen came to an end in the order in which they stand."""
    found: dict[str, Sequence[str]] = {}
    for message in plot.story.messages:
        earlier: list[str] = []
        for part in message.parts:
            call = plot.calls.get(part.tool_call_id) if isinstance(part, ToolCallPart) else None
            if call is None or call.visibility is not Visibility.RESULT:
                continue
            found[call.id] = [one for one in earlier if plot.calls[one].step == call.step]
            earlier.append(call.id)
    return found
