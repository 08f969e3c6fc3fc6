"""The tools of a server, from what it says of them to what an agent is offered."""

import logging
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from roomful.domain.agents import Dialect, McpServer
from roomful.domain.mcp import McpServerSeen, McpState, McpToolSeen, digest_of_all, pinned_at
from roomful.domain.shape import UNSET, Json, clean_json, encode_json
from roomful.domain.tools import ToolSpec
from roomful.executors.mcp_pins import Pins, digest_of
from roomful.tools import ConfigRefused, offered_name, offered_tool
from roomful.tools.servers import LONGEST_DESCRIPTION

log = logging.getLogger("roomful.mcp")

MOST_TOOLS: Final = 128
LARGEST_SCHEMA: Final = 32 * 1024
_LONGEST_NAME: Final = 128
_NO_ARGUMENTS: Final[dict[str, Json]] = {"type": "object", "properties": {}}


class Definition(msgspec.Struct, frozen=True):
    """A tool as its server describes it; the spec is missing, and `why` is there, if we would not take it."""

    name: str
    digest: str
    title: str
    description: str
    schema: Json
    spec: ToolSpec | None = None
    why: str = ""


class Listing(msgspec.Struct, frozen=True):
    tools: dict[str, ToolSpec] = {}
    """By the server's own name of the tool."""
    held: dict[str, ToolSpec] = {}
    """What the model is told, in our words, of tools that it had and that are switched off."""
    refused: dict[str, str] = {}
    """Why a tool that the server has cannot be called, in a sentence for whoever calls it anyway."""
    seen: tuple[McpToolSeen, ...] = ()
    current: dict[str, str] = {}
    """The digests of what can be approved."""
    unreachable: str | None = None

    def of(self, server: McpServer) -> McpServerSeen:
        state = _worst([tool.state for tool in self.seen]) if self.unreachable is None else "unavailable"
        return McpServerSeen(
            name=server.name,
            state=state,
            tools=list(self.seen),
            digest=digest_of_all(self.current) if self.unreachable is None else UNSET,
            why=self.unreachable or UNSET,
        )


def read_definitions(
    agent_id: str, server: McpServer, dialect: Dialect, definitions: Sequence[dict[str, Json]]
) -> tuple[Definition, ...]:
    """What the server has, each name once, well made or with what is wrong with it."""
    read: dict[str, Definition] = {}
    taken: set[str] = set()
    for given in map(clean_json, definitions[:MOST_TOOLS]):
        found = _definition(server, dialect, given)
        if found.name in read:
            continue
        if found.spec is not None and found.spec.name in taken:
            why = f"{found.spec.name} would name two tools: the second is left out"
            found = msgspec.structs.replace(found, spec=None, why=why)
        if found.why:
            log.warning("agent %s: %s", agent_id, found.why)
        elif found.spec is not None:
            taken.add(found.spec.name)
        read[found.name] = found
    if len(definitions) > MOST_TOOLS:
        log.warning("agent %s: only the first %d tools of %s are read", agent_id, MOST_TOOLS, server.name)
    return tuple(read.values())


async def make_listing(
    agent_id: str, server: McpServer, dialect: Dialect, definitions: Sequence[Definition], pins: Pins
) -> Listing:
    """What is offered of what the server has: what is allowed, well made, and as it was agreed to."""
    digests = {one.name: one.digest for one in definitions}
    agreed = await pins.agreed(pinned_at(agent_id, server), digests)
    allowed = [one for one in definitions if _allows(server, one.name)]
    listing = Listing(current={one.name: one.digest for one in allowed})
    seen: list[McpToolSeen] = []
    for one in allowed:
        tool = _seen(server, one, agreed.get(one.name))
        seen.append(tool)
        if tool.state == "ok" and one.spec is not None:
            listing.tools[one.name] = one.spec
            continue
        listing.refused[one.name] = tool.why or ""
        if tool.state == "changed" and (held := _held(server, dialect, one.name, tool.why or "")) is not None:
            listing.held[one.name] = held
    gone = [name for name in agreed if name not in digests and _allows(server, name)]
    seen += [_missing(name, agreed[name]) for name in gone]
    return msgspec.structs.replace(listing, seen=tuple(seen))


def unreachable_listing(server: McpServer, why: str, agreed: Mapping[str, str]) -> Listing:
    seen = [_missing(name, digest) for name, digest in agreed.items() if _allows(server, name)]
    return Listing(unreachable=why, seen=tuple(seen))


def _allows(server: McpServer, name: str) -> bool:
    return server.allowed_tools is None or name in server.allowed_tools


def _seen(server: McpServer, one: Definition, agreed: str | None) -> McpToolSeen:
    state, why = _judged(server, one, agreed)
    return McpToolSeen(
        name=one.name,
        state=state,
        pinned=agreed or UNSET,
        current=one.digest,
        why=why or UNSET,
        title=one.title or UNSET,
        description=one.description,
        input_schema=one.schema,
    )


def _judged(server: McpServer, one: Definition, agreed: str | None) -> tuple[McpState, str]:
    told = offered_name(server.name, one.name)
    if one.spec is None:
        return "unavailable", one.why
    if agreed is None:
        return "new", f"{told} is new at the MCP server, and the agent's owner must approve it first"
    if agreed != one.digest:
        return "changed", (
            f"{told} is switched off: the MCP server describes it otherwise than before, and the agent's "
            "owner must approve that first"
        )
    return "ok", ""


def _missing(name: str, agreed: str) -> McpToolSeen:
    return McpToolSeen(name=name, state="unavailable", pinned=agreed, why="the server does not list it now")


def _worst(states: Sequence[McpState]) -> McpState:
    ranks: tuple[McpState, ...] = ("changed", "new", "ok", "unavailable")
    found: list[McpState] = [state for state in ranks if state in states]
    return found[0] if found else "ok"


def _held(server: McpServer, dialect: Dialect, name: str, why: str) -> ToolSpec | None:
    """Stands in for a tool that the model had. None of the server's words are in it."""
    plain = msgspec.structs.replace(server, visibility={}, approval={})
    try:
        return offered_tool(plain, dialect, name, f"Not available now: {why}.", _NO_ARGUMENTS)
    except ConfigRefused:
        return None


def _definition(server: McpServer, dialect: Dialect, given: dict[str, Json]) -> Definition:
    """Its words are the server's and are marked as such."""
    name = str(given.get("name", ""))[:_LONGEST_NAME]
    title = str(given.get("title") or "")[:LONGEST_DESCRIPTION]
    words = str(given.get("description") or "")[:LONGEST_DESCRIPTION]
    schema = given.get("inputSchema")
    too_large = len(encode_json(schema)) > LARGEST_SCHEMA
    told = offered_name(server.name, name)
    read = Definition(name, digest_of(given), title, words, None if too_large else schema)
    if too_large:
        why = f"{told} is not offered: its inputSchema is larger than {LARGEST_SCHEMA // 1024} KiB"
        return msgspec.structs.replace(read, why=why)
    if not _allows(server, name):
        return read
    marked = f'[In the words of the MCP server "{server.name}"] {words or title}'
    try:
        return msgspec.structs.replace(read, spec=offered_tool(server, dialect, name, marked, schema))
    except ConfigRefused as refused:
        return msgspec.structs.replace(read, why=f"{told} is not offered: {refused.problems[0]}")
