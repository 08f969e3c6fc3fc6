"""Words, looked for in every space of mine."""

from typing import Annotated

import msgspec
from starlette.types import ASGIApp

from roomful.domain.entities import Principal
from roomful.domain.errors import Invalid
from roomful.domain.messages import Message
from roomful.domain.ports import Store
from roomful.domain.shape import Noun
from roomful.web.ask import AnyRoute, Ask, Route, json_answer
from roomful.web.feeds.following import viewer_of
from roomful.web.queries import Query
from roomful.web.rules import CALLER

MOST_SPACES = 100


class SearchQuery(Query, frozen=True):
    q: Annotated[str, msgspec.Meta(max_length=200)] = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=50)] = 20


class Found(Noun):
    space_id: str
    message: Message


class SearchResults(Noun):
    results: list[Found]


class _Hit(Noun):
    """A message that is found, still the JSON it will be sent as."""

    space_id: str
    message: msgspec.Raw


class _Hits(Noun):
    results: list[_Hit]


class _When(Noun):
    created_at: str
    seq: int


_when = msgspec.json.Decoder(_When).decode


async def search(ask: Ask[None, SearchQuery, None]) -> ASGIApp:
    """In the hundred newest of my spaces. The admin has all of them, but nobody's private parts."""
    house, query, viewer = ask.house, ask.query, viewer_of(ask.principal)
    if not query.q.strip():
        raise Invalid("q: say which words to look for")
    hits: list[tuple[str, int, _Hit]] = []
    for space_id in await _spaces(house.store, ask.principal):
        for raw in await house.history.look(space_id, viewer, limit=query.limit, query=query.q):
            when = _when(raw)
            hits.append((when.created_at, when.seq, _Hit(space_id=space_id, message=raw)))
    hits.sort(key=lambda hit: hit[:2], reverse=True)
    return json_answer(_Hits([hit for _, _, hit in hits[: query.limit]]))


async def _spaces(store: Store, me: Principal) -> list[str]:
    if me.is_admin:
        spaces = await store.all_spaces()
    else:
        spaces = [space for space, _ in await store.spaces_of(me.entity_id)]
    return [space.id for space in spaces[-MOST_SPACES:]]


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "GET",
        "/api/search",
        search,
        CALLER,
        "Messages with these words across my spaces, newest first",
        query=SearchQuery,
        answer=SearchResults,
    ),
)
