"""The route table: everything that can be asked, as data. The routes, the OpenAPI document and the tests of
who may do what are made of it."""

import functools
from collections.abc import Mapping, Sequence

from starlette.responses import Response
from starlette.types import ASGIApp

from roomful.domain.shape import Json, encode_json
from roomful.web.ask import AnyRoute, Ask, Route
from roomful.web.headers import API_HEADERS
from roomful.web.house import House
from roomful.web.openapi import describe
from roomful.web.queries import NoQuery
from roomful.web.routes import (
    ag_ui,
    agents,
    audit,
    blobs,
    chat,
    conversations,
    demo,
    entities,
    goals,
    grants,
    health,
    invites,
    mcp,
    members,
    memories,
    messages,
    metrics,
    page,
    plans,
    runs,
    search,
    servers,
    session,
    spaces,
    streams,
    triggers,
)
from roomful.web.rules import ANYONE


async def get_openapi(ask: Ask[None, NoQuery, None]) -> ASGIApp:
    return Response(_document(bool(ask.house.demo_people)), 200, API_HEADERS, "application/json")


TABLE: tuple[AnyRoute, ...] = (
    *messages.ROUTES,
    *blobs.ROUTES,
    *streams.ROUTES,
    *spaces.ROUTES,
    *members.ROUTES,
    *invites.ROUTES,
    *search.ROUTES,
    *chat.ROUTES,
    *ag_ui.ROUTES,
    *conversations.ROUTES,
    *runs.ROUTES,
    *grants.ROUTES,
    *triggers.ROUTES,
    *agents.ROUTES,
    *plans.ROUTES,
    *memories.ROUTES,
    *goals.ROUTES,
    *servers.ROUTES,
    *entities.ROUTES,
    *audit.ROUTES,
    *session.ROUTES,
    *health.ROUTES,
    *metrics.ROUTES,
    *mcp.ROUTES,
    *page.ROUTES,
    Route("GET", "/openapi.json", get_openapi, ANYONE, "This document", answer=dict[str, Json]),
)


def routes_of(house: House) -> tuple[AnyRoute, ...]:
    return _routes(bool(house.demo_people))


def paths(routes: Sequence[AnyRoute]) -> Mapping[str, Mapping[str, AnyRoute]]:
    by_path: dict[str, dict[str, AnyRoute]] = {}
    for route in routes:
        by_path.setdefault(route.path, {})[route.method] = route
    return by_path


def _routes(is_demo: bool) -> tuple[AnyRoute, ...]:
    return TABLE + demo.ROUTES if is_demo else TABLE


@functools.cache
def _document(is_demo: bool) -> bytes:
    return encode_json(describe(_routes(is_demo)))
