"""The MCP servers of an agent: what they say of their tools, and whether that was agreed to."""

from typing import Annotated

import msgspec
from starlette.types import ASGIApp

from roomful.domain.agents import Agent
from roomful.domain.mcp import McpServerSeen
from roomful.domain.shape import UNSET, Noun, Unset
from roomful.web.ask import AnyRoute, Ask, Body, Route, json_answer
from roomful.web.queries import NoQuery
from roomful.web.rules import OWNS_AGENT

Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class McpApproval(Body):
    """`digest` is the server's, as it was looked at. Without `tools` everything that it has is meant."""

    digest: Digest
    tools: Annotated[list[str], msgspec.Meta(min_length=1, max_length=128)] | Unset = UNSET


class McpSeen(Noun):
    servers: list[McpServerSeen]


async def look_at_servers(ask: Ask[None, NoQuery, Agent]) -> ASGIApp:
    return json_answer(McpSeen(await ask.house.mcp.look(ask.about.id)))


async def approve_server(ask: Ask[McpApproval, NoQuery, Agent]) -> ASGIApp:
    server, sent = ask.params["server"], ask.body
    tools = None if sent.tools is UNSET else sent.tools
    detail = {"server": server, "digest": sent.digest} | ({} if tools is None else {"tools": tools})
    told = ask.audit("mcp.approved", agent_id=ask.about.id, entity_id=ask.about.id, detail=detail)
    return json_answer(await ask.house.mcp.approve(ask.about.id, server, sent.digest, tools, [told]))


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "GET",
        "/api/agents/{id}/mcp",
        look_at_servers,
        OWNS_AGENT,
        "The MCP servers of an agent, asked now, with what they say of their tools",
        answer=McpSeen,
    ),
    Route(
        "POST",
        "/api/agents/{id}/mcp/{server}/approve",
        approve_server,
        OWNS_AGENT,
        "Agree to what an MCP server says of its tools now",
        body=McpApproval,
        answer=McpServerSeen,
        is_counted=True,
        texts=("server",),
    ),
)
