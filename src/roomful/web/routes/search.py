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
from roomful.web.house import House
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


class Hit(Noun):
    """A message that is found, still the JSON it will be sent as."""

    space_id: str
    message: msgspec.Raw


class _Hits(Noun):
    results: list[Hit]


class _When(Noun):
    created_at: str
    seq: int


_when = msgspec.json.Decoder(_When).decode


async def search(ask: Ask[None, SearchQuery, None]) -> ASGIApp:
    return json_answer(_Hits(await find(ask.house, ask.principal, ask.query.q, ask.query.limit)))


async def find(house: House, me: Principal, words: str, limit: int) -> list[Hit]:
    """In the hundred newest of my spaces. The admin has all of them, but nobody's private parts."""
    if not words.strip():
        raise Invalid("q: say which words to look for")
    hits: list[tuple[str, int, Hit]] = []
    for space_id in await _spaces(house.store, me):
        for raw in await house.history.look(space_id, viewer_of(me), limit=limit, query=words):
            when = _when(raw)
            hits.append((when.created_at, when.seq, Hit(space_id=space_id, message=raw)))
    hits.sort(key=lambda hit: hit[:2], reverse=True)
    return [hit for _, _, hit in hits[:limit]]


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
        is_counted=True,
    ),
)
