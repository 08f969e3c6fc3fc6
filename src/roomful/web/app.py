"""The web application: the route table, made into something that a server can serve."""

from collections.abc import Mapping

from starlette.routing import Route as StarletteRoute
from starlette.routing import Router
from starlette.types import Receive, Scope, Send

from roomful.web.ask import AnyRoute
from roomful.web.desk import Desk
from roomful.web.dispatch import NothingHere, PathApp
from roomful.web.house import House
from roomful.web.table import paths, routes_of


class WebApp:
    """An ASGI application. `drain` tells every open stream that it ends here, lets no new one begin, and
    hands over the runs."""

    def __init__(self, house: House) -> None:
        self._desk = Desk(house)
        served = [
            StarletteRoute(_pattern(path, routes), PathApp(self._desk, routes))
            for path, routes in paths(routes_of(house)).items()
        ]
        self._is_draining = False
        self._router = Router(served, redirect_slashes=False, default=NothingHere(self._desk))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close"})
            return
        await self._router(scope, receive, send)

    @property
    def desk(self) -> Desk:
        return self._desk

    def drain(self) -> None:
        """Once: whoever is told again while they hand over would be interrupted in it."""
        if self._is_draining:
            return
        self._is_draining = True
        self._desk.readers.drain()
        self._desk.house.bus.close("draining")
        self._desk.house.worker.drain()


def _pattern(path: str, routes: Mapping[str, AnyRoute]) -> str:
    """With slashes where a text may have some."""
    for name in {text for route in routes.values() for text in route.slashed}:
        path = path.replace(f"{{{name}}}", f"{{{name}:path}}")
    return path


def make_app(house: House) -> WebApp:
    return WebApp(house)
