"""Agents, ready to run: their stored configuration made into an AgentSpec once, until it changes."""

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import msgspec

from roomful.domain.agents import AgentSpec
from roomful.domain.errors import NotFound
from roomful.domain.ports import Store
from roomful.domain.runs import Run
from roomful.domain.shape import UNSET
from roomful.domain.tools import ModelTool, SubAgent, ToolSpec
from roomful.tools import configure

MoreTools: TypeAlias = Callable[[AgentSpec], Awaitable[tuple[ToolSpec, ...]]]
"""Tools that the configuration does not hold but leads to. Answers soon, whatever it finds."""

KEPT = 1000


class Equipped(msgspec.Struct, frozen=True):
    """An agent with the tools that this house can execute, by name, and as its model is told of them."""

    spec: AgentSpec
    tools: dict[str, ToolSpec]
    told: tuple[ModelTool, ...]


class Agents:
    def __init__(
        self,
        store: Store,
        ready: Callable[[dict[str, Any]], dict[str, Any]],
        more_tools: MoreTools | None = None,
        complete: Callable[[ToolSpec], ToolSpec] = lambda spec: spec,
    ) -> None:
        """`ready` makes what is sealed in a stored configuration usable; `complete` adds to a tool what its
        executor knows of it."""
        self._complete = complete
        self._store = store
        self._ready = ready
        self._more_tools = more_tools
        self._made: dict[str, tuple[str, AgentSpec]] = {}

    async def _configured(self, agent_id: str) -> AgentSpec:
        agent = await self._store.agent(agent_id)
        if agent is None:
            raise NotFound(f"there is no agent {agent_id!r}")
        made = self._made.get(agent_id)
        if made is None or made[0] != agent.updated_at:
            if len(self._made) >= KEPT:
                self._made.clear()
            spec = configure(self._ready(agent.config), agent_id=agent_id, trusted=True)
            spec = msgspec.structs.replace(spec, tools=tuple(map(self._complete, spec.tools)))
            made = self._made[agent_id] = (agent.updated_at, spec)
        return made[1]

    async def with_written(self, agent_id: str) -> list[AgentSpec]:
        """The agent, and those that are written in its tools, which act under its id."""
        specs = [await self._configured(agent_id)]
        for spec in specs:
            inside = [tool.executor for tool in spec.tools if isinstance(tool.executor, SubAgent)]
            specs += [self._written(one.config, agent_id) for one in inside if one.config is not None]
        return specs

    async def of_run(self, run: Run) -> AgentSpec:
        """Whom the run is of: an agent, or one that is written in a tool of the run that called it. It may go
        no further than the agent with whom it all began."""
        return await self._equipped(await self.written_for(run))

    async def written_for(self, run: Run) -> AgentSpec:
        """The same by its configuration alone, without the tools that this leads to."""
        spec = await self._written_for(run)
        root = await self._store.run(run.root_run_id) if run.root_run_id != run.id else None
        if root is None:
            return spec
        with contextlib.suppress(NotFound):
            limits = (await self._configured(root.agent_id)).limits
            spec = msgspec.structs.replace(spec, limits=spec.limits.within(limits))
        return spec

    async def _written_for(self, run: Run) -> AgentSpec:
        if run.called_as is UNSET or not run.called_as.is_inline:
            return await self._configured(run.agent_id)
        call = await self._store.call(run.parent_call_id or "")
        caller = await self._store.run(call.run_id) if call is not None else None
        if call is None or caller is None:
            raise NotFound("the run that called this one is gone")
        tools = {tool.name: tool for tool in (await self._written_for(caller)).tools}
        tool = tools.get(call.tool_name)
        if tool is None or not isinstance(tool.executor, SubAgent) or tool.executor.config is None:
            raise NotFound(f"{run.agent_id} has no sub-agent {call.tool_name!r} any more")
        return self._written(tool.executor.config, run.agent_id)

    def _written(self, config: dict[str, Any], agent_id: str) -> AgentSpec:
        spec = configure(config, agent_id=config.get("id") or "inline", trusted=True)
        tools = tuple(map(self._complete, spec.tools))
        return msgspec.structs.replace(spec, id=agent_id, tools=tools)

    async def _equipped(self, agent: AgentSpec) -> AgentSpec:
        if self._more_tools is None or not agent.mcp_servers:
            return agent
        return msgspec.structs.replace(agent, tools=(*agent.tools, *await self._more_tools(agent)))
