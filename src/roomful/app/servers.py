"""The MCP servers of configured agents, for those who look after them."""

from collections.abc import Sequence

from msgspec.structs import replace

from roomful.domain.agents import AgentSpec, McpServer
from roomful.domain.changes import Change
from roomful.domain.errors import NotFound
from roomful.domain.mcp import McpServerSeen
from roomful.executors.mcp import McpExecutor
from roomful.runs.agents import Agents


class ServersOfAgents:
    """Those of an agent that is written in a tool are its owner's too; of two with one name the outer."""

    def __init__(self, agents: Agents, executor: McpExecutor) -> None:
        self._agents = agents
        self._executor = executor

    async def look(self, agent_id: str) -> list[McpServerSeen]:
        return [
            seen
            for spec in _each_name_once(await self._agents.with_written(agent_id))
            for seen in await self._executor.look(spec)
        ]

    async def approve(
        self, agent_id: str, server: str, digest: str, tools: Sequence[str] | None, also: Sequence[Change]
    ) -> McpServerSeen:
        for spec in _each_name_once(await self._agents.with_written(agent_id)):
            for config in spec.mcp_servers:
                if config.name == server:
                    return await self._executor.approve(spec, config, digest, tools, also)
        raise NotFound(f"the agent {agent_id!r} has no MCP server {server[:80]!r}")


def _each_name_once(specs: Sequence[AgentSpec]) -> list[AgentSpec]:
    known: set[str] = set()
    left: list[AgentSpec] = []
    for spec in specs:
        servers: list[McpServer] = []
        for server in spec.mcp_servers:
            if server.name not in known:
                known.add(server.name)
                servers.append(server)
        left.append(replace(spec, mcp_servers=tuple(servers)))
    return left
