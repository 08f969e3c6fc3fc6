"""The page: a few files, known by name, read once."""

from importlib.resources import files

from starlette.responses import Response
from starlette.types import ASGIApp

from roomful.web.ask import AnyRoute, Ask, Handler, Route
from roomful.web.headers import PAGE_HEADERS
from roomful.web.queries import NoQuery
from roomful.web.rules import ANYONE

_FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/fold.js": ("fold.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}


def _server_of(name: str, kind: str) -> Handler[None, NoQuery, None]:
    content = (files("roomful.web") / "page" / name).read_bytes()

    async def get_file(ask: Ask[None, NoQuery, None]) -> ASGIApp:
        return Response(content, 200, PAGE_HEADERS, kind)

    return get_file


ROUTES: tuple[AnyRoute, ...] = tuple(
    Route("GET", path, _server_of(name, kind), ANYONE, f"The page: {name}", answer=bytes)
    for path, (name, kind) in _FILES.items()
)
