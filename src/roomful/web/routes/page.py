"""The page: a few files, known by name, built from `web/` into `static/` and read once."""

import functools
import gzip
import hashlib
from importlib.resources import files
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import ASGIApp

from roomful.domain.errors import Unavailable
from roomful.web.ask import AnyRoute, Ask, Handler, Route
from roomful.web.headers import PAGE_HEADERS
from roomful.web.queries import NoQuery, Query
from roomful.web.rules import ANYONE

_FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}


class DoorQuery(Query, frozen=True):
    person: str | None = msgspec.field(default=None, name="as")
    """In a demo: as whom to come in. The page itself reads it."""


class _File(msgspec.Struct, frozen=True):
    plain: bytes
    zipped: bytes
    tag: str


@functools.cache
def _read(name: str) -> _File:
    try:
        content = (files("roomful.web") / "static" / name).read_bytes()
    except FileNotFoundError:
        raise Unavailable("the page is not built: run `make setup` where Roomful's source is") from None
    tag = hashlib.sha256(content).hexdigest()[:32]
    return _File(content, gzip.compress(content, 9, mtime=0), f'"{tag}"')


def _server_of(name: str, kind: str) -> Handler[None, Any, None]:
    async def get_file(ask: Ask[None, Any, None]) -> ASGIApp:
        file = _read(name)
        headers = {**PAGE_HEADERS, "etag": file.tag, "vary": "accept-encoding"}
        if file.tag in ask.headers.get("if-none-match", ""):
            return Response(b"", 304, headers)
        if "gzip" in ask.headers.get("accept-encoding", ""):
            return Response(file.zipped, 200, {**headers, "content-encoding": "gzip"}, kind)
        return Response(file.plain, 200, headers, kind)

    return get_file


ROUTES: tuple[AnyRoute, ...] = tuple(
    Route(
        "GET",
        path,
        _server_of(name, kind),
        ANYONE,
        f"The page: {name}",
        query=DoorQuery if path == "/" else NoQuery,
        answer=bytes,
    )
    for path, (name, kind) in _FILES.items()
)
