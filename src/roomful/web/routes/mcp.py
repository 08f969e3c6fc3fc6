"""The MCP server's door, and the document by which a client finds out how to get a token for it."""

import msgspec
from starlette.types import ASGIApp

from roomful.domain.shape import UNSET, Json, Unset
from roomful.web.addresses import own_address
from roomful.web.ask import Also, AnyRoute, Ask, Route, json_answer
from roomful.web.auth import check_page
from roomful.web.bodies import read_body
from roomful.web.mcp.server import serve
from roomful.web.queries import NoQuery
from roomful.web.rules import ANYONE, CALLER

PATH = "/mcp"
WELL_KNOWN = "/.well-known/oauth-protected-resource"


class ProtectedResource(msgspec.Struct):
    """RFC 9728."""

    resource: str
    resource_name: str = "Roomful"
    bearer_methods_supported: tuple[str, ...] = ("header",)
    authorization_servers: tuple[str, ...] | Unset = UNSET


async def serve_mcp(ask: Ask[None, NoQuery, None]) -> ASGIApp:
    check_page(ask.headers, ask.house.allowed_hosts)
    return await serve(ask, await read_body(ask.headers, ask.receive))


async def describe_resource(ask: Ask[None, NoQuery, None]) -> ASGIApp:
    return _described(ask)


async def describe_mcp(ask: Ask[None, NoQuery, None]) -> ASGIApp:
    return _described(ask)


def _described(ask: Ask[None, NoQuery, None]) -> ASGIApp:
    base = own_address(ask.house, ask.headers, ask.scheme)
    issuers = ask.house.oauth_issuers
    return json_answer(ProtectedResource(base + PATH, authorization_servers=issuers or UNSET))


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "POST",
        PATH,
        serve_mcp,
        CALLER,
        "The MCP server: one JSON-RPC request of the Model Context Protocol",
        answer=dict[str, Json],
        also=(
            Also(202, "A notification was taken"),
            Also(400, "The request is wrong: a JSON-RPC error", "the same"),
            Also(404, "There is no such method: a JSON-RPC error", "the same"),
        ),
        takes_bytes=True,
        described_at=WELL_KNOWN + PATH,
    ),
    Route(
        "GET",
        WELL_KNOWN,
        describe_resource,
        ANYONE,
        "How to get a token for /mcp (RFC 9728)",
        answer=ProtectedResource,
    ),
    Route(
        "GET",
        WELL_KNOWN + PATH,
        describe_mcp,
        ANYONE,
        "How to get a token for /mcp, where its address leads",
        answer=ProtectedResource,
    ),
)
