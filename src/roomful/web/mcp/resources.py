"""Resources: each space of mine as a transcript of its newest messages, each message of one as JSON."""

import re
from collections.abc import Sequence

from roomful.domain.errors import NotFound
from roomful.domain.shape import Json, encode_json
from roomful.web.feeds.following import viewer_of
from roomful.web.mcp.reading import page_of, spaces_of
from roomful.web.mcp.rpc import INVALID_PARAMS, RpcError
from roomful.web.mcp.tool import Guest
from roomful.web.mcp.words import names_of, transcript
from roomful.web.views import SpaceOfMine

PAGE = 100
NEWEST = 50
_URI = re.compile(r"roomful://spaces/([\w.-]{1,64})(?:/messages/([\w.-]{1,64}))?", re.ASCII)

TEMPLATES: Sequence[Json] = (
    {
        "uriTemplate": "roomful://spaces/{spaceId}",
        "name": "space",
        "title": "A space",
        "description": "The newest messages of a space you are in, as a transcript.",
        "mimeType": "text/plain",
    },
    {
        "uriTemplate": "roomful://spaces/{spaceId}/messages/{messageId}",
        "name": "message",
        "title": "A message",
        "description": "One message with all its parts, as JSON.",
        "mimeType": "application/json",
    },
)


async def list_resources(guest: Guest, cursor: Json) -> dict[str, Json]:
    """By id, a page at a time; the cursor is the last id of the page before."""
    if cursor is not None and not isinstance(cursor, str):
        raise RpcError(INVALID_PARAMS, "cursor: give the nextCursor of the page before")
    spaces = sorted(await spaces_of(guest), key=lambda space: space.id)
    left = [space for space in spaces if cursor is None or space.id > cursor]
    page: dict[str, Json] = {"resources": [_resource(space) for space in left[:PAGE]]}
    if len(left) > PAGE:
        page["nextCursor"] = left[PAGE - 1].id
    return page


async def read_resource(guest: Guest, uri: Json, unknown: int) -> dict[str, Json]:
    """What one may not see is not there; `unknown` is the code that says so."""
    named = _URI.fullmatch(uri) if isinstance(uri, str) else None
    if named is None:
        raise RpcError(
            INVALID_PARAMS, "uri: it is roomful://spaces/{spaceId}, /messages/{messageId} may follow"
        )
    space_id, message_id = named.groups()
    try:
        space = await guest.house.access.space(guest.principal, space_id, "read")
        if message_id is not None:
            text, kind = await _message(guest, space.id, message_id), "application/json"
        else:
            text, kind = await _space(guest, space.id), "text/plain"
    except NotFound as error:
        raise RpcError(unknown, error.detail, {"uri": uri}) from None
    return {"contents": [{"uri": uri, "mimeType": kind, "text": text}]}


def _resource(space: SpaceOfMine) -> dict[str, Json]:
    unread = f", {space.unread} of them unread" if space.unread else ""
    return {
        "uri": f"roomful://spaces/{space.id}",
        "name": space.id,
        "title": space.name,
        "description": f"The newest messages of {space.name}{unread}.",
        "mimeType": "text/plain",
    }


async def _space(guest: Guest, space_id: str) -> str:
    read = await page_of(guest, space_id, NEWEST)
    return transcript(read.messages, names_of(await guest.house.store.members(space_id)))


async def _message(guest: Guest, space_id: str, message_id: str) -> str:
    message = await guest.house.history.message(space_id, viewer_of(guest.principal), message_id)
    if message is None:
        raise NotFound(f"there is no message {message_id!r} in this space")
    return encode_json(message).decode()
