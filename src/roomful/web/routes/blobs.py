"""Files: bytes in, and the same bytes out to whoever may have them. Nothing in them is ever run."""

import asyncio
import hashlib
import re
from collections.abc import Callable
from typing import Annotated
from urllib.parse import quote

import msgspec
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from roomful.domain.blobs import BLOB_LIMIT, Blob, file_name_in, media_type_in
from roomful.domain.errors import Conflict, Invalid, RoomfulError
from roomful.domain.shape import UNSET, Noun
from roomful.spaces.access import no_blob
from roomful.web.ask import AnyRoute, Ask, Once, Route, json_answer, key_of
from roomful.web.bodies import length_of, read_bytes
from roomful.web.desk import Desk
from roomful.web.headers import API_HEADERS
from roomful.web.line import ABORT
from roomful.web.problems import Refused, answer_to
from roomful.web.queries import NoQuery, Query
from roomful.web.rules import ENTITY, SEES_BLOB

UPLOAD_SECONDS = 120.0
STALL_SECONDS = 30.0
PIECE = 64 * 1024

_SHOWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_SAVED = re.compile(r"(audio|video)/.*|text/plain|application/(pdf|json|zip)")
"""Types that no browser runs. Whatever else there is goes out as bytes without a meaning."""
_HEADERS = {
    **API_HEADERS,
    "cache-control": "private, max-age=31536000, immutable",
    "content-security-policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
    "vary": "authorization, cookie",
}


class UploadQuery(Query, frozen=True):
    name: Annotated[str, msgspec.Meta(max_length=1000)] | None = None


class BlobMade(Noun):
    blob_id: str
    url: str
    media_type: str
    size: int


async def put_blob(ask: Ask[None, UploadQuery, None]) -> ASGIApp:
    media_type = _media_type(ask.headers)
    me = ask.principal.entity_id
    expected = min(length_of(ask.headers, BLOB_LIMIT), BLOB_LIMIT)
    async with ask.desk.transfers.room_for(me, expected):
        data = await read_bytes(ask.headers, ask.receive, BLOB_LIMIT, UPLOAD_SECONDS)
        if not data:
            raise Invalid("the body is empty: send the bytes of a file", malformed=True)
        name = file_name_in(ask.query.name or "")
        key = key_of(ask.headers)
        if key is None:
            return await _keep(ask, data, media_type, name)
        ask.once = Once(me, key, await asyncio.to_thread(_digest, data, media_type, name))
        try:
            return await ask.once.answer(ask.house.store) or await _keep(ask, data, media_type, name)
        except Conflict:
            if (known := await ask.once.answer(ask.house.store)) is not None:
                return known
            raise


async def _keep(ask: Ask[None, UploadQuery, None], data: bytes, media_type: str, name: str) -> ASGIApp:
    blob, changes = ask.house.blobs.new(ask.principal.entity_id, data, media_type, name=name)
    made = BlobMade(blob_id=blob.id, url=blob.url, media_type=media_type, size=blob.size)
    await ask.house.store.commit([*changes, *ask.remember(made)])
    return json_answer(made, 201)


async def get_blob(ask: Ask[None, NoQuery, Blob]) -> ASGIApp:
    return BlobAnswer(ask.desk, ask.principal.entity_id, ask.about)


class BlobAnswer:
    """Sends a blob piece by piece, so that a slow reader is waited for and one that is stuck is cut."""

    def __init__(self, desk: Desk, caller: str, blob: Blob) -> None:
        self._desk = desk
        self._caller = caller
        self._blob = blob

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with self._desk.transfers.room_for(self._caller, self._blob.size):
                data = await self._desk.house.store.blob_data(self._blob.id)
                if data is None:
                    raise no_blob()
                await self._send(data, send)
        except RoomfulError as error:
            await answer_to(error)(scope, receive, send)
        except TimeoutError:
            abort: Callable[[], None] | None = scope.get("state", {}).get(ABORT)
            if abort is not None:
                abort()

    async def _send(self, data: bytes, send: Send) -> None:
        headers = {**_HEADERS, **headers_of(self._blob), "content-length": str(len(data))}
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        await _write(send, {"type": "http.response.start", "status": 200, "headers": raw})
        for at in range(0, len(data) or 1, PIECE):
            piece, more = data[at : at + PIECE], at + PIECE < len(data)
            await _write(send, {"type": "http.response.body", "body": piece, "more_body": more})


async def _write(send: Send, message: Message) -> None:
    async with asyncio.timeout(STALL_SECONDS):
        await send(message)


def headers_of(blob: Blob) -> dict[str, str]:
    """What it is called and what a browser may do with it."""
    is_shown = blob.media_type in _SHOWN
    disposition = "inline" if is_shown else "attachment"
    if blob.name is not UNSET:
        disposition += f"; filename*=UTF-8''{quote(blob.name, safe='')}"
    is_harmless = is_shown or _SAVED.fullmatch(blob.media_type)
    media_type = blob.media_type if is_harmless else "application/octet-stream"
    return {"content-type": media_type, "content-disposition": disposition}


def _media_type(headers: Headers) -> str:
    given = headers.get("content-type", "application/octet-stream")
    media_type = media_type_in(given)
    if media_type is None:
        raise Refused(415, f"Content-Type: {given[:80]!r} is no media type, as image/png is one")
    if media_type == "multipart/form-data":
        raise Refused(415, "send the bytes of the file as they are, not a form with the file in it")
    return media_type


def _digest(data: bytes, media_type: str, name: str) -> bytes:
    return hashlib.sha256(f"POST /api/blobs {media_type} {name}\n".encode() + data).digest()


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "POST",
        "/api/blobs",
        put_blob,
        ENTITY,
        "Keep a file, to be attached to messages",
        query=UploadQuery,
        answer=BlobMade,
        status=201,
        is_post=True,
        reads_key=True,
        takes_bytes=True,
    ),
    Route("GET", "/api/blobs/{id}", get_blob, SEES_BLOB, "The bytes of a file", answer=bytes),
)
