"""The tools of a server, from what it says of them to what an agent is offered."""

import logging
from collections.abc import Sequence
from typing import Final

import msgspec

from roomful.domain.agents import Dialect, McpServer
from roomful.domain.shape import Json, clean_json, encode_json
from roomful.domain.tools import ToolSpec
from roomful.executors.mcp_pins import Pins, digest_of
from roomful.tools import ConfigRefused, offered_name, offered_tool

log = logging.getLogger("roomful.mcp")

MOST_TOOLS: Final = 128
LARGEST_SCHEMA: Final = 32 * 1024
_LONGEST_NAME: Final = 128


class Listing(msgspec.Struct, frozen=True):
    tools: dict[str, ToolSpec] = {}
    """By the server's own name of the tool."""
    refused: dict[str, str] = {}
    """Why a tool that the server has is not offered, in a sentence for whoever calls it anyway."""
    unreachable: str | None = None


async def make_listing(
    agent_id: str, server: McpServer, dialect: Dialect, definitions: Sequence[dict[str, Json]], pins: Pins
) -> Listing:
    """What is offered of what the server has: what is allowed, well made, and as it was when first seen."""
    tools: dict[str, ToolSpec] = {}
    refused: dict[str, str] = {}
    taken: set[str] = set()
    for definition in map(clean_json, definitions[:MOST_TOOLS]):
        name = str(definition.get("name", ""))
        if server.allowed_tools is not None and name not in server.allowed_tools:
            continue
        spec = _spec(server, dialect, definition)
        if isinstance(spec, str):
            log.warning("agent %s: %s", agent_id, spec)
            refused[name[:_LONGEST_NAME]] = spec
        elif spec.name in taken:
            log.warning("agent %s: %s would name two tools: the second is left out", agent_id, spec.name)
        elif (changed := await _changed(agent_id, server.name, definition, pins)) is not None:
            log.warning("agent %s: %s", agent_id, changed)
            refused[name] = changed
        else:
            tools[name] = spec
            taken.add(spec.name)
    if len(definitions) > MOST_TOOLS:
        log.warning("agent %s: only the first %d tools of %s are read", agent_id, MOST_TOOLS, server.name)
    return Listing(tools, refused)


def _spec(server: McpServer, dialect: Dialect, definition: dict[str, Json]) -> ToolSpec | str:
    """The tool, or what is wrong with it. Its words are the server's and are marked as such."""
    name = str(definition["name"])
    told = offered_name(server.name, name[:_LONGEST_NAME])
    schema = definition.get("inputSchema")
    if len(encode_json(schema)) > LARGEST_SCHEMA:
        return f"{told} is not offered: its inputSchema is larger than {LARGEST_SCHEMA // 1024} KiB"
    words = definition.get("description") or definition.get("title") or ""
    marked = f'[In the words of the MCP server "{server.name}"] {words}'
    try:
        return offered_tool(server, dialect, name, marked, schema)
    except ConfigRefused as refused:
        return f"{told} is not offered: {refused.problems[0]}"


async def _changed(agent_id: str, server: str, definition: dict[str, Json], pins: Pins) -> str | None:
    """A sentence when the tool is not what it was. What is seen first is remembered."""
    name, digest = str(definition["name"]), digest_of(definition)
    known = await pins.get(agent_id, server, name)
    if known is None:
        await pins.set(agent_id, server, name, digest)
    if known is None or known == digest:
        return None
    return (
        f"{offered_name(server, name)} is switched off: the MCP server describes it otherwise than before, "
        "and the operator must approve that first"
    )
