"""The AI SDK's face: a space as a chat, its messages as UI messages, a run as a stream of chunks."""

from typing import Annotated

import msgspec
from starlette.types import ASGIApp

from roomful.domain.entities import Principal
from roomful.domain.errors import Invalid, NotFound
from roomful.domain.messages import Message
from roomful.domain.spaces import Space
from roomful.recall.harmless import harmless_json
from roomful.recall.ui_messages import ui_messages
from roomful.recall.ui_nouns import Sdk, UiMessage
from roomful.web.ask import Also, AnyRoute, Ask, Route, json_answer, no_content
from roomful.web.bodies import HISTORY_LIMIT
from roomful.web.chat_turns import ChatRequest, Turns, Words, words_of
from roomful.web.chats import open_chat, run_at_work, space_id_of
from roomful.web.faces.ui_stream import MANNER, UiStream
from roomful.web.feeds.following import viewer_of
from roomful.web.feeds.one_run import Followed, OneRunFeed
from roomful.web.house import House
from roomful.web.queries import Limit, Query, Seq
from roomful.web.routes.runs import cancel
from roomful.web.routes.streams import event_stream
from roomful.web.rules import CHATS, READS_CHAT, READS_THREAD, WRITES_THREAD

_decode = msgspec.json.Decoder(Message).decode
_Version = Annotated[int, msgspec.Meta(ge=5, le=7)]
_VERSIONS: dict[int, Sdk] = {5: 5, 6: 6, 7: 7}


class ChatsQuery(Query, frozen=True):
    agent_id: str | None = None
    sdk: _Version = 6
    """The client's version: what it understands differs."""


class ChatQuery(Query, frozen=True):
    thread_id: str = ""
    """The space; it has to be given."""
    resource_id: str | None = None
    """Whose messages upstream would look for. Who asks is known by the token: this can only narrow."""
    before: Seq | None = None
    after: Seq | None = None
    limit: Limit = 50
    agent_id: str | None = None
    sdk: _Version = 6


async def chat(ask: Ask[ChatRequest, ChatsQuery, None]) -> ASGIApp:
    sent, named = ask.body, {ask.query.agent_id, ask.body.agent_id} - {None}
    if len(named) > 1:
        raise Invalid("agentId: the address and the body name different agents")
    agent_id = named.pop() if named else None
    words = await _words(ask.house, ask.principal, sent)
    space = await open_chat(ask.desk, ask.principal, sent.id, agent_id, begins=words is not None)
    turns = Turns(ask.house, ask.principal, space, agent_id, _VERSIONS[ask.query.sdk])
    face, find = await turns.begin(sent, words)
    return await event_stream(ask, OneRunFeed(ask.desk, ask.principal, space.id, find, face), MANNER)


async def _words(house: House, me: Principal, sent: ChatRequest) -> Words | None:
    """What a person says with it; None when it answers cards. Whatever is wrong with them is said before
    anything is made for them."""
    last = sent.last()
    if last.role == "assistant" and sent.trigger == "submit-message":
        return None
    if last.role != "user":
        raise Invalid("messages: the last message has to be the user's, or an answered one of the agent's")
    words = words_of(last)
    for file in words.files:
        if file.blob_id:
            await house.access.blob(me, file.blob_id)
    return words


async def resume_chat(ask: Ask[None, ChatsQuery, Space]) -> ASGIApp:
    """From the beginning of what the run shows: that is how the SDK goes on."""
    run = await run_at_work(ask.house, ask.about.id, ask.query.agent_id)
    if run is None:
        return no_content()

    async def find() -> Followed:
        return Followed(run)

    face = UiStream(_VERSIONS[ask.query.sdk], viewer_of(ask.principal))
    return await event_stream(ask, OneRunFeed(ask.desk, ask.principal, ask.about.id, find, face), MANNER)


async def stop_chat(ask: Ask[None, ChatsQuery, Space]) -> ASGIApp:
    """The run that resuming would go on with is stopped for good."""
    run = await run_at_work(ask.house, ask.about.id, ask.query.agent_id)
    if run is None:
        raise NotFound("no run is at work in this chat")
    await ask.house.access.may_stop(ask.principal, run)
    await cancel(ask.house, ask.principal, run)
    return no_content()


async def list_chat(ask: Ask[None, ChatQuery, None]) -> ASGIApp:
    query, me = ask.query, ask.principal
    if not query.thread_id:
        raise Invalid("threadId: say which space")
    space = await ask.house.access.space(me, space_id_of(query.thread_id), "read")
    if query.resource_id not in (None, me.entity_id):
        return json_answer([])
    viewer = viewer_of(me)
    page = await ask.house.history.page(
        space.id, viewer, before=query.before, after=query.after, limit=query.limit
    )
    messages = ui_messages(map(_decode, page.messages), viewer, _VERSIONS[query.sdk])
    return json_answer(msgspec.Raw(harmless_json(messages)))


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "POST",
        "/api/chat",
        chat,
        CHATS,
        "Say something in a chat of the AI SDK, or answer its cards, and watch what the agent shows",
        body=ChatRequest,
        query=ChatsQuery,
        streams=True,
        is_post=True,
        body_limit=HISTORY_LIMIT,
    ),
    Route(
        "GET",
        "/api/chat",
        list_chat,
        READS_CHAT,
        "A space's messages as the AI SDK's UI messages",
        query=ChatQuery,
        answer=list[UiMessage],
    ),
    Route(
        "GET",
        "/api/chat/{id}/stream",
        resume_chat,
        READS_THREAD,
        "What the agent shows in this chat at the moment",
        query=ChatsQuery,
        streams=True,
        also=(Also(204, "No run is at work"),),
        texts=("id",),
        slashed=("id",),
    ),
    Route(
        "DELETE",
        "/api/chat/{id}/stream",
        stop_chat,
        WRITES_THREAD,
        "Stop what the agent does in this chat",
        query=ChatsQuery,
        status=204,
        texts=("id",),
        slashed=("id",),
    ),
)
