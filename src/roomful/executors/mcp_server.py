"""One server of one agent: its session, opened when needed, and what it offers."""

import asyncio
import logging
from collections.abc import Sequence

from roomful.domain.agents import AgentSpec, Dialect, McpServer
from roomful.domain.changes import Change
from roomful.domain.errors import Conflict, Invalid, RoomfulError
from roomful.domain.mcp import McpServerSeen, digest_of_all, pinned_at
from roomful.domain.outbound import Egress
from roomful.domain.shape import Json
from roomful.executors.masking import Masker
from roomful.executors.mcp_listing import (
    Definition,
    Listing,
    make_listing,
    read_definitions,
    unreachable_listing,
)
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
        self._definitions: tuple[Definition, ...] = ()
        self._unreachable: str | None = None
        self._old_at = 0.0
        self._warned: dict[str, str] = {}
        self._lock = asyncio.Lock()
        self._parting: list[Session] = []

    @property
    def is_busy(self) -> bool:
        return self._lock.locked() or (self._session is not None and self._session.is_busy)

    def is_for(self, config: McpServer, dialect: Dialect) -> bool:
        return (self._config, self._dialect) == (config, dialect)

    async def listing(self, *, anew: bool = False) -> Listing:
        """What the server offers now, by what is agreed to now; nothing, and a warning, when it cannot be
        reached. `anew` asks the server even if it was asked lately."""
        async with self._lock:
            now = asyncio.get_running_loop().time()
            if anew or now >= self._old_at or not (self._unreachable or self._is_open):
                await self._list()
                fresh = self._retry_seconds if self._unreachable else self._fresh_seconds
                self._old_at = asyncio.get_running_loop().time() + fresh
            return await self._judged()

    async def look(self) -> McpServerSeen:
        return (await self.listing()).of(self._config)

    async def approve(self, digest: str, tools: Sequence[str] | None, also: Sequence[Change]) -> None:
        """Agrees to what has this digest. Conflict when that is not what the server says."""
        listing = await self.listing()
        if digest_of_all(listing.current) != digest:
            listing = await self.listing(anew=True)
        if listing.unreachable is not None:
            raise Conflict(f"the MCP server cannot be reached: {listing.unreachable}")
        if digest_of_all(listing.current) != digest:
            raise Conflict("the MCP server says something else by now: look again and name that digest")
        unknown = [name for name in tools or () if name not in listing.current]
        if unknown:
            raise Invalid(f"tools: the MCP server has no {unknown[0][:80]!r}")
        wanted = listing.current if tools is None else {name: listing.current[name] for name in tools}
        await self._pins.approve(pinned_at(self._agent_id, self._config), wanted, also)

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

    async def _judged(self) -> Listing:
        """What is agreed to is read each time: another gateway's approval counts here at once."""
        place = pinned_at(self._agent_id, self._config)
        try:
            if self._unreachable is not None:
                return unreachable_listing(
                    self._config, self._unreachable, await self._pins.known(place) or {}
                )
            listing = await make_listing(
                self._agent_id, self._config, self._dialect, self._definitions, self._pins
            )
        except RoomfulError as error:
            return Listing(unreachable=f"what was agreed to cannot be read: {error.detail}")
        self._warn_of(listing)
        return listing

    def _warn_of(self, listing: Listing) -> None:
        """Once for each thing that is switched off."""
        held = {tool.name: tool.why or "" for tool in listing.seen if tool.state in ("changed", "new")}
        for name, why in held.items():
            if self._warned.get(name) != why:
                log.warning("agent %s: %s", self._agent_id, why)
        self._warned = held

    async def _list(self) -> None:
        try:
            async with asyncio.timeout(self._connect_seconds):
                definitions = await self._opened().list_tools()
            known = [self.masker.json(definition) for definition in definitions]
            self._definitions = read_definitions(self._agent_id, self._config, self._dialect, known)
            self._unreachable = None
            return
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
        self._unreachable = reason

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
