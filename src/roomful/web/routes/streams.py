"""What happens, as it happens."""

from typing import Any

from starlette.types import ASGIApp

from roomful.domain.runs import Run
from roomful.domain.spaces import Space
from roomful.web.ask import AnyRoute, Ask, Route
from roomful.web.feeds.following import StreamQuery, following
from roomful.web.feeds.person import PersonFeed
from roomful.web.feeds.run import RunFeed
from roomful.web.feeds.space import SpaceFeed
from roomful.web.rules import ENTITY, OWNS_RUN, READS_SPACE
from roomful.web.sse import PLAIN, EventStream, Feed, Manner


async def event_stream(ask: Ask[Any, Any, Any], feed: Feed, manner: Manner = PLAIN) -> ASGIApp:
    assert ask.credential is not None, "a stream is for somebody"
    heartbeat = ask.house.heartbeat_seconds
    stream = EventStream(feed, ask.desk.readers, ask.principal, ask.credential, heartbeat, manner)
    return await stream.opened()


async def stream_space(ask: Ask[None, StreamQuery, Space]) -> ASGIApp:
    who = following(ask.principal, ask.headers, ask.query)
    return await event_stream(ask, SpaceFeed(ask.desk, who, ask.about.id))


async def stream_run(ask: Ask[None, StreamQuery, Run]) -> ASGIApp:
    who = following(ask.principal, ask.headers, ask.query)
    return await event_stream(ask, RunFeed(ask.desk, who, ask.about))


async def stream_everything(ask: Ask[None, StreamQuery, None]) -> ASGIApp:
    return await event_stream(ask, PersonFeed(ask.desk, following(ask.principal, ask.headers, ask.query)))


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "GET",
        "/api/spaces/{id}/stream",
        stream_space,
        READS_SPACE,
        "A space, live",
        query=StreamQuery,
        streams=True,
    ),
    Route(
        "GET",
        "/api/runs/{id}/stream",
        stream_run,
        OWNS_RUN,
        "A run, live and whole, until it has ended",
        query=StreamQuery,
        streams=True,
    ),
    Route(
        "GET",
        "/api/stream",
        stream_everything,
        ENTITY,
        "All my spaces, live",
        query=StreamQuery,
        streams=True,
    ),
)
