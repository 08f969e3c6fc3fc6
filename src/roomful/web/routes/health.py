"""Is it alive, is it ready."""

from starlette.types import ASGIApp

from roomful.domain.errors import Unavailable
from roomful.domain.shape import Noun
from roomful.web.ask import AnyRoute, Ask, Route, json_answer
from roomful.web.queries import NoQuery
from roomful.web.rules import ANYONE


class Health(Noun):
    status: str


async def is_alive(ask: Ask[None, NoQuery, None]) -> ASGIApp:
    return json_answer(Health("ok"))


async def is_ready(ask: Ask[None, NoQuery, None]) -> ASGIApp:
    if not await ask.house.is_ready():
        raise Unavailable("the gateway is up but not ready: its database does not answer as it should")
    return json_answer(Health("ready"))


ROUTES: tuple[AnyRoute, ...] = (
    Route("GET", "/healthz", is_alive, ANYONE, "Alive", answer=Health),
    Route("GET", "/readyz", is_ready, ANYONE, "Ready: the database answers", answer=Health),
)
