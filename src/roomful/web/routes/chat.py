"""The AI SDK's face: a space as a chat, its messages as UI messages."""

import msgspec
from starlette.types import ASGIApp

from roomful.domain.errors import Invalid
from roomful.domain.messages import Message
from roomful.recall.ui_messages import UiMessage, ui_messages
from roomful.web.ask import AnyRoute, Ask, Route, json_answer
from roomful.web.feeds.following import viewer_of
from roomful.web.queries import Limit, Query, Seq
from roomful.web.rules import READS_CHAT

_decode = msgspec.json.Decoder(Message).decode


class ChatQuery(Query, frozen=True):
    thread_id: str = ""
    """The space; it has to be given."""
    resource_id: str | None = None
    """Whose messages upstream would look for. Who asks is known by the token: this can only narrow."""
    before: Seq | None = None
    after: Seq | None = None
    limit: Limit = 50


async def list_chat(ask: Ask[None, ChatQuery, None]) -> ASGIApp:
    query, me = ask.query, ask.principal
    if not query.thread_id:
        raise Invalid("threadId: say which space")
    space = await ask.house.access.space(me, query.thread_id, "read")
    if query.resource_id not in (None, me.entity_id):
        return json_answer([])
    page = await ask.house.history.page(
        space.id, viewer_of(me), before=query.before, after=query.after, limit=query.limit
    )
    return json_answer(ui_messages(map(_decode, page.messages)))


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "GET",
        "/api/chat",
        list_chat,
        READS_CHAT,
        "A space's messages as the AI SDK's UI messages",
        query=ChatQuery,
        answer=list[UiMessage],
    ),
)
