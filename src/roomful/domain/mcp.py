"""What MCP servers say of their tools, and what of it somebody agreed to."""

import hashlib
from collections.abc import Mapping
from typing import Literal

from roomful.domain.agents import McpServer
from roomful.domain.shape import UNSET, Frozen, Json, Noun, Unset, encode_json

McpState = Literal["ok", "changed", "new", "unavailable"]


class Pinned(Frozen):
    """Whose agreement, and with whom. A server that is reached elsewhere is another one."""

    agent_id: str
    server: str
    address: str


def pinned_at(agent_id: str, server: McpServer) -> Pinned:
    reached = encode_json([server.transport, server.url, server.command])
    return Pinned(agent_id, server.name, hashlib.sha256(reached).hexdigest()[:32])


class McpToolSeen(Noun):
    """`title`, `description` and `input_schema` are the server's own words: data, whatever they say."""

    name: str
    state: McpState
    pinned: str | Unset = UNSET
    """The digest of the definition that was agreed to."""
    current: str | Unset = UNSET
    """The digest of what the server says now."""
    why: str | Unset = UNSET
    title: str | Unset = UNSET
    description: str | Unset = UNSET
    input_schema: Json | Unset = UNSET


class McpServerSeen(Noun):
    name: str
    state: McpState
    tools: list[McpToolSeen]
    digest: str | Unset = UNSET
    """Of everything that the server says now. Whoever approves names what they looked at."""
    why: str | Unset = UNSET


def digest_of_all(digests: Mapping[str, str]) -> str:
    return hashlib.sha256(encode_json(sorted(digests.items()))).hexdigest()
