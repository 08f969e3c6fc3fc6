"""One server of one agent: its session, opened when needed, and what it offers."""

import asyncio
import logging

from roomful.domain.agents import AgentSpec, Dialect, McpServer
from roomful.domain.outbound import Egress
from roomful.domain.shape import Json
from roomful.executors.masking import Masker
from roomful.executors.mcp_listing import Listing, make_listing
from roomful.executors.mcp_pins import Pins
from roomful.executors.mcp_session import McpFailed, Session
from roomful.tools import Env

log = logging.getLogger("roomful.mcp")


class Server:
    def __init__(
        self,
        agent: AgentSpec,
        config: McpServer,
        egress: Egress,
        env: Env,
        pins: Pins,
        seconds: tuple[float, float, float],
    ) -> None:
        self._agent_id = agent.id
        self._dialect: Dialect = agent.dialect
        self._config = config
        self._egress = egress
        self._pins = pins
        self._connect_seconds, self._fresh_seconds, self._retry_seconds = seconds
        self.masker = Masker(env)
        self._session: Session | None = None
        self._listing = Listing()
        self._old_at = 0.0
        self._lock = asyncio.Lock()
        self._parting: list[Session] = []

    @property
    def is_busy(self) -> bool:
        return self._lock.locked() or (self._session is not None and self._session.is_busy)

    def is_for(self, config: McpServer, dialect: Dialect) -> bool:
        return (self._config, self._dialect) == (config, dialect)

    async def listing(self) -> Listing:
        """What the server offers now; nothing, and a warning, when it cannot be reached."""
        async with self._lock:
            now = asyncio.get_running_loop().time()
            if now >= self._old_at or not (self._listing.unreachable or self._is_open):
                self._listing = await self._list()
                fresh = self._retry_seconds if self._listing.unreachable else self._fresh_seconds
                self._old_at = asyncio.get_running_loop().time() + fresh
            return self._listing

    async def call(
        self, tool: str, args: dict[str, Json], responses: dict[str, Json] | None, state: str | None
    ) -> dict[str, Json]:
        """Raises McpFailed. What was sent is sent again only when the server says that it did not know the
        session and therefore did nothing."""
        session = await self._ready_for(tool)
        try:
            return await session.call(tool, args, responses, state)
        except McpFailed:
            if not session.is_forgotten:
                raise
        session = await self._ready_for(tool)
        return await session.call(tool, args, responses, state)

    async def close(self) -> None:
        sessions = [*self._parting, *([self._session] if self._session else [])]
        await asyncio.gather(*(session.close() for session in sessions))

    @property
    def _is_open(self) -> bool:
        return self._session is not None and self._session.is_open

    async def _ready_for(self, tool: str) -> Session:
        listing = await self.listing()
        name = self._config.name
        if listing.unreachable is not None:
            raise McpFailed(f"the MCP server {name} cannot be reached: {listing.unreachable}")
        if tool in listing.refused:
            raise McpFailed(listing.refused[tool])
        if tool not in listing.tools or self._session is None:
            raise McpFailed(f"the MCP server {name} does not offer this tool any more")
        return self._session

    async def _list(self) -> Listing:
        try:
            async with asyncio.timeout(self._connect_seconds):
                definitions = await self._opened().list_tools()
                known = [self.masker.json(definition) for definition in definitions]
                return await make_listing(self._agent_id, self._config, self._dialect, known, self._pins)
        except TimeoutError:  # the session stays: perhaps it gets ready before somebody asks again
            reason = f"it did not answer within {self._connect_seconds:g} seconds"
        except McpFailed as failure:
            reason = self.masker.text(str(failure))
            self._part()
        log.warning(
            "agent %s goes without the tools of the MCP server %s: %s",
            self._agent_id,
            self._config.name,
            reason,
        )
        return Listing(unreachable=reason)

    def _opened(self) -> Session:
        if not self._is_open:
            self._part()
        if self._session is None:
            self._session = Session(self._config, self._egress, self.masker.read)
        return self._session

    def _part(self) -> None:
        self._parting = [session for session in self._parting if not session.has_ended]
        if self._session is not None:
            self._session.abandon()
            self._parting.append(self._session)
        self._session = None
