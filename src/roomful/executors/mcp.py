"""Tools of MCP servers: what an agent's servers offer it, and calls to them.

The SDK is an extra and takes a second to load, so it is loaded when the first agent has a server.
"""

import asyncio
import importlib
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from roomful.domain.agents import AgentSpec, McpServer
from roomful.domain.changes import Change
from roomful.domain.errors import Conflict, Invalid
from roomful.domain.mcp import McpServerSeen
from roomful.domain.outbound import Egress
from roomful.domain.outcomes import Failed, Outcome
from roomful.domain.ports import CallContext
from roomful.domain.tools import Mcp, ToolSpec
from roomful.executors.mcp_pins import Pins
from roomful.executors.mcp_results import continued, later_state, outcome_of
from roomful.tools import Env

if TYPE_CHECKING:
    from roomful.executors.mcp_server import Server

log = logging.getLogger("roomful.mcp")

DEFAULT_TIMEOUT: Final = 60.0
MOST_SERVERS: Final = 256
_ROUNDS: Final = 10
_PAUSE: Final = 0.1


class McpExecutor:
    """Each agent has its own session with each of its servers. `close` it when done."""

    has_effects = True

    def __init__(
        self,
        egress: Egress,
        env: Env,
        *,
        pins: Pins,
        connect_seconds: float = 5.0,
        fresh_seconds: float = 300.0,
        retry_seconds: float = 30.0,
    ) -> None:
        """A server has `connect_seconds` to list its tools. What it listed holds for `fresh_seconds`; one
        that could not be reached is tried again after `retry_seconds`."""
        self._egress = egress
        self._env = env
        self._pins = pins
        self._seconds = (connect_seconds, fresh_seconds, retry_seconds)
        self._servers: dict[tuple[str, str], Server] = {}
        self._parting: set[asyncio.Task[None]] = set()
        self._is_missing = False

    def can(self, spec: ToolSpec) -> bool:
        return not self._is_missing

    async def offered(self, agent: AgentSpec) -> tuple[ToolSpec, ...]:
        """The tools of the agent's servers that can be had now. Never raises, never takes longer than one
        server may take to connect."""
        if not agent.mcp_servers or not await self._loaded(agent.id):
            return ()
        self._forget(
            [
                key
                for key, server in self._servers.items()
                if key[0] == agent.id and not _has(agent, key[1]) and not server.is_busy
            ]
        )
        servers = [self._server(agent, server) for server in agent.mcp_servers]
        listings = await asyncio.gather(*(server.listing() for server in servers))
        return tuple(
            tool for listing in listings for tool in (*listing.tools.values(), *listing.held.values())
        )

    async def look(self, agent: AgentSpec) -> list[McpServerSeen]:
        """Its servers as they are now, also those that cannot be had."""
        if not agent.mcp_servers or not await self._loaded(agent.id):
            missing = "the gateway lacks the extra: pip install 'roomful[mcp]'"
            return [
                McpServerSeen(name=server.name, state="unavailable", tools=[], why=missing)
                for server in agent.mcp_servers
            ]
        servers = [self._server(agent, server) for server in agent.mcp_servers]
        return list(await asyncio.gather(*(server.look() for server in servers)))

    async def approve(
        self,
        agent: AgentSpec,
        config: McpServer,
        digest: str,
        tools: Sequence[str] | None,
        also: Sequence[Change],
    ) -> McpServerSeen:
        """Raises Conflict and Invalid, as McpServers says."""
        if not await self._loaded(agent.id):
            raise Conflict("the gateway lacks the extra: pip install 'roomful[mcp]'")
        server = self._server(agent, config)
        await server.approve(digest, tools, also)
        return await server.look()

    async def execute(self, context: CallContext) -> Outcome:
        spec = context.spec.executor
        assert isinstance(spec, Mcp)
        server = self._servers.get((context.agent_id, spec.server))
        if server is None:
            return Failed(f"the agent has no MCP server {spec.server!r}")
        seconds = context.spec.timeout or DEFAULT_TIMEOUT
        try:
            async with asyncio.timeout(seconds):
                return await _call(server, spec.tool, context)
        except TimeoutError:
            return Failed(f"no result within {seconds:g} seconds")

    async def close(self) -> None:
        servers, self._servers = list(self._servers.values()), {}
        await asyncio.gather(*(server.close() for server in servers), *self._parting)

    async def _loaded(self, agent_id: str) -> bool:
        try:
            await asyncio.to_thread(importlib.import_module, "roomful.executors.mcp_server")
        except ImportError:
            self._is_missing = True
            log.warning(
                "agent %s has MCP servers, but their tools need the extra: pip install 'roomful[mcp]'",
                agent_id,
            )
            return False
        return True

    def _server(self, agent: AgentSpec, config: McpServer) -> "Server":
        from roomful.executors.mcp_server import Server

        key = (agent.id, config.name)
        known = self._servers.pop(key, None)
        if known is not None and not known.is_for(config, agent.dialect):
            self._close_later(known)
            known = None
        if known is None:
            self._make_room()
            known = Server(agent, config, self._egress, self._env, self._pins, self._seconds)
        self._servers[key] = known  # behind all others: the one that was used last
        return known

    def _make_room(self) -> None:
        idle = [key for key, server in self._servers.items() if not server.is_busy]
        self._forget(idle[: max(0, len(self._servers) - MOST_SERVERS + 1)])

    def _forget(self, keys: list[tuple[str, str]]) -> None:
        for key in keys:
            self._close_later(self._servers.pop(key))

    def _close_later(self, server: "Server") -> None:
        task = asyncio.create_task(server.close())
        self._parting.add(task)
        task.add_done_callback(self._parting.discard)


async def _call(server: "Server", tool: str, context: CallContext) -> Outcome:
    from roomful.executors.mcp_session import McpFailed

    try:
        responses, state = continued(context.call.continuation)
        for _ in range(_ROUNDS):
            result = await server.call(tool, dict(context.args), responses, state)
            again = later_state(result)
            if again is None:
                return outcome_of(result, server.masker)
            responses, state = None, again
            await asyncio.sleep(_PAUSE)
    except Invalid as error:
        return Failed(error.detail)
    except McpFailed as failure:
        return Failed(server.masker.text(str(failure)))
    return Failed("the tool wants to be called again and again")


def _has(agent: AgentSpec, name: str) -> bool:
    return any(server.name == name for server in agent.mcp_servers)
