"""A space as a conversation: for programs that speak in envelopes."""

import msgspec
from starlette.types import ASGIApp

from roomful.domain.envelopes import MessageEnvelope, chat_topic
from roomful.domain.spaces import Space
from roomful.web.ask import AnyRoute, Ask, Route, json_answer, key_of
from roomful.web.feeds.conversation import ConversationFeed, ConversationQuery
from roomful.web.queries import NoQuery
from roomful.web.routes.streams import event_stream
from roomful.web.rules import POSTS, READS_SPACE


class EnvelopeSent(msgspec.Struct):
    status: str
    topic: str
    envelope_id: str
    message_id: str


async def send_envelope(ask: Ask[MessageEnvelope, NoQuery, None]) -> ASGIApp:
    envelope = ask.body
    posted = await ask.house.envelopes.post(ask.principal, envelope, key_of(ask.headers))
    topic = chat_topic(envelope.conversation_id)
    headers = {"idempotent-replay": "true"} if posted.replayed else None
    return json_answer(EnvelopeSent("ok", topic, envelope.id, posted.message.id), 200, headers)


async def stream_conversation(ask: Ask[None, ConversationQuery, Space]) -> ASGIApp:
    last = ask.headers.get("last-event-id") or ask.query.last_event_id or ""
    return await event_stream(ask, ConversationFeed(ask.desk, ask.principal, ask.about.id, last))


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "POST",
        "/send",
        send_envelope,
        POSTS,
        "Say what an envelope holds; the same envelope again is said once",
        body=MessageEnvelope,
        answer=EnvelopeSent,
        is_post=True,
        reads_key=True,
    ),
    Route(
        "GET",
        "/stream/{id}",
        stream_conversation,
        READS_SPACE,
        "A conversation, live: user_message, token, tool_step and output",
        query=ConversationQuery,
        streams=True,
    ),
)
