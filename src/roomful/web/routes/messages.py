"""What is said in a space."""

from typing import Annotated

import msgspec
from starlette.types import ASGIApp

from roomful.domain.answers import MessagePage, MessagePosted, RunBegun
from roomful.domain.changes import MarkRead, SaveMessage
from roomful.domain.entities import Principal
from roomful.domain.errors import Conflict, Forbidden, NotFound
from roomful.domain.events import Announcement, MessageChanged, ReadUpTo
from roomful.domain.messages import Message, TextPart
from roomful.domain.shape import UNSET, Unset
from roomful.domain.spaces import Space
from roomful.runs.intake import Posted, client_key
from roomful.web.ask import (
    Also,
    AnyRoute,
    Ask,
    Body,
    Route,
    digest_of_request,
    json_answer,
    key_of,
    no_content,
)
from roomful.web.feeds.following import StreamQuery, following, viewer_of
from roomful.web.feeds.post import PostFeed
from roomful.web.house import House
from roomful.web.queries import Limit, NoQuery, Query, Seq
from roomful.web.routes.streams import event_stream
from roomful.web.rules import POSTS, READS_SPACE, WRITES_SPACE

Text = Annotated[str, msgspec.Meta(min_length=1)]


class NewMessage(Body):
    text: str = ""
    """May be left out where files are attached."""
    mentions: list[str] = []
    client_message_id: Annotated[str, msgspec.Meta(min_length=1, max_length=128)] | Unset = UNSET
    reply_to: str | Unset = UNSET
    attachments: list[str] = []


class NewText(Body):
    text: Text


class ReadMark(Body):
    message_id: str


class PageQuery(Query, frozen=True):
    before: Seq | None = None
    after: Seq | None = None
    limit: Limit = 50
    q: Annotated[str, msgspec.Meta(min_length=1, max_length=200)] | None = None


async def post_message(ask: Ask[NewMessage, StreamQuery, None]) -> ASGIApp:
    if "text/event-stream" in ask.headers.get("accept", "").lower():
        await ask.house.access.space(ask.principal, ask.params["id"], "write")
        who = following(ask.principal, ask.headers, ask.query)
        return await event_stream(ask, PostFeed(ask.desk, who, ask.params["id"], lambda: _post(ask)))
    posted = await _post(ask)
    runs = [RunBegun(run.id, run.agent_id) for run in posted.runs]
    headers = {"idempotent-replay": "true"} if posted.replayed else None
    return json_answer(MessagePosted(posted.message, runs), 201, headers)


async def _post(ask: Ask[NewMessage, StreamQuery, None]) -> Posted:
    return await post(ask.house, ask.principal, ask.params["id"], ask.body, key_of(ask.headers))


async def post(
    house: House, me: Principal, space_id: str, sent: NewMessage, key: str | None = None
) -> Posted:
    client_id = sent.client_message_id or None
    key = key or (client_id and client_key(space_id, client_id))
    return await house.intake.post(
        me,
        space_id,
        text=sent.text,
        mentions=sent.mentions,
        client_message_id=client_id,
        reply_to=sent.reply_to or None,
        attachments=sent.attachments,
        key=key,
        digest=digest_of_request("POST", space_id, sent) if key else b"",
    )


async def list_messages(ask: Ask[None, PageQuery, Space]) -> ASGIApp:
    query = ask.query
    page = await ask.house.history.page(
        ask.about.id,
        viewer_of(ask.principal),
        before=query.before,
        after=query.after,
        limit=query.limit,
        query=query.q,
    )
    return json_answer(page)


async def get_message(ask: Ask[None, NoQuery, Space]) -> ASGIApp:
    message = await ask.house.history.message(ask.about.id, viewer_of(ask.principal), ask.params["messageId"])
    if message is None:
        raise _no_message(ask.params["messageId"])
    return json_answer(message)


async def change_message(ask: Ask[NewText, NoQuery, Space]) -> ASGIApp:
    """Who was erased or put out before the message was read may not write any more; whatever happens to it
    afterwards is found when it is stored."""
    message = await _find(ask)
    await ask.house.access.space(ask.principal, ask.about.id, "write")
    if message.entity_id != ask.principal.entity_id or message.run_id is not UNSET:
        raise Forbidden("only who wrote a text may change it")
    if message.deleted:
        raise Conflict("this message was deleted")
    first = next((part for part in message.parts if isinstance(part, TextPart)), None)
    if first is None:
        raise Conflict("this message has no text")
    changed = msgspec.structs.replace(
        message,
        parts=[
            msgspec.structs.replace(first, text=ask.body.text) if part is first else part
            for part in message.parts
        ],
        updated_at=ask.house.clock.iso(),
    )
    await _save(ask, changed, message)
    return json_answer(changed)


async def delete_message(ask: Ask[None, NoQuery, Space]) -> ASGIApp:
    """Its place stays, and says that something was here."""
    message = await _find(ask)
    is_mine = message.entity_id == ask.principal.entity_id and message.run_id is UNSET
    if not (is_mine or ask.principal.is_admin):
        raise Forbidden("only who wrote a text, or the admin, may delete it")
    if message.status == "open":
        raise Conflict("this message is still being written: stop its run first")
    tombstone = msgspec.structs.replace(
        message,
        parts=[],
        mentions=[],
        attachments=[],
        reply_to=UNSET,
        deleted=True,
        updated_at=ask.house.clock.iso(),
    )
    if not message.deleted:
        await _save(ask, tombstone)
    return no_content()


async def mark_read(ask: Ask[ReadMark, NoQuery, Space]) -> ASGIApp:
    if ask.principal.is_admin:
        raise Forbidden("the admin key reads for nobody: name a member in X-Roomful-As")
    space_id, me = ask.about.id, ask.principal.entity_id
    message = await ask.house.store.message(space_id, ask.body.message_id)
    if message is None:
        raise _no_message(ask.body.message_id)
    event = ReadUpTo(space_id=space_id, entity_id=me, message_id=message.id)
    await ask.house.store.commit(
        [MarkRead(space_id, me, message.seq)],
        lambda _: ask.house.announcer([Announcement(event=event, space_id=space_id)]),
    )
    return no_content()


async def _find(ask: Ask[NewText, NoQuery, Space] | Ask[None, NoQuery, Space]) -> Message:
    message = await ask.house.store.message(ask.about.id, ask.params["messageId"])
    if message is None:
        raise _no_message(ask.params["messageId"])
    return message


async def _save(
    ask: Ask[NewText, NoQuery, Space] | Ask[None, NoQuery, Space],
    message: Message,
    was: Message | None = None,
) -> None:
    event = MessageChanged(space_id=message.space_id, message=message)
    heard = Announcement(event=event, space_id=message.space_id)
    await ask.house.store.commit([SaveMessage(message, was)], lambda _: ask.house.announcer([heard]))


def _no_message(message_id: str) -> NotFound:
    return NotFound(f"there is no message {message_id[:80]!r} in this space")


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "POST",
        "/api/spaces/{id}/messages",
        post_message,
        POSTS,
        "Say something; with Accept: text/event-stream, and watch what comes of it",
        body=NewMessage,
        query=StreamQuery,
        answer=MessagePosted,
        status=201,
        also=(Also(200, "What comes of it, where the request accepts text/event-stream", "a stream"),),
        is_post=True,
        reads_key=True,
    ),
    Route(
        "GET",
        "/api/spaces/{id}/messages",
        list_messages,
        READS_SPACE,
        "A page of what was said",
        query=PageQuery,
        answer=MessagePage,
    ),
    Route(
        "GET",
        "/api/spaces/{id}/messages/{messageId}",
        get_message,
        READS_SPACE,
        "One message as it stands",
        answer=Message,
    ),
    Route(
        "PATCH",
        "/api/spaces/{id}/messages/{messageId}",
        change_message,
        WRITES_SPACE,
        "Change one's own text",
        body=NewText,
        answer=Message,
    ),
    Route(
        "DELETE",
        "/api/spaces/{id}/messages/{messageId}",
        delete_message,
        READS_SPACE,
        "Delete one's own text; its place stays",
        status=204,
    ),
    Route(
        "POST",
        "/api/spaces/{id}/read",
        mark_read,
        READS_SPACE,
        "I have read up to here",
        body=ReadMark,
        status=204,
    ),
)
