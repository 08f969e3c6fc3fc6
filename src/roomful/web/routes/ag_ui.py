"""AG-UI's face: a thread is a space, and what runs in it is one of an agent's runs there."""

import contextlib

import msgspec
from starlette.types import ASGIApp

from roomful.domain.entities import Principal
from roomful.domain.errors import Conflict, Invalid, NotFound
from roomful.domain.messages import Message
from roomful.domain.runs import Call, Run
from roomful.domain.shape import UNSET
from roomful.domain.spaces import Space
from roomful.runs.intake import checked_text, client_key
from roomful.web.ask import AnyRoute, Ask, Route
from roomful.web.bodies import HISTORY_LIMIT
from roomful.web.chats import open_chat, run_at_work
from roomful.web.faces.ag_ui import AgUiFace, Thread
from roomful.web.faces.ag_ui_events import REATTACH, error
from roomful.web.faces.ag_ui_input import (
    CardAnswer,
    RunAgentInput,
    Words,
    answers_in,
    decision_in,
    words_in,
)
from roomful.web.feeds.following import viewer_of
from roomful.web.feeds.one_run import Followed, OneRunFeed
from roomful.web.house import House
from roomful.web.queries import Limit, NoQuery, Query, Seq
from roomful.web.routes.messages import NewMessage, post
from roomful.web.routes.runs import cancel
from roomful.web.routes.streams import event_stream
from roomful.web.rules import CHATS, READS_THREAD
from roomful.web.sse import Manner

_MANNER = Manner(draining=error(REATTACH, "This gateway is closing: replay the thread to go on."))
_NOTHING_NEW = "messages: nothing here is new; add a user message, or answer what is asked"
_decode = msgspec.json.Decoder(Message).decode


class ReplayQuery(Query, frozen=True):
    agent_id: str | None = None
    run_id: str | None = None
    before: Seq | None = None
    """Older messages only: nothing is followed then."""
    limit: Limit = 50


async def run_agent(ask: Ask[RunAgentInput, NoQuery, None]) -> ASGIApp:
    sent, me, agent_id = ask.body, ask.principal, ask.params["agentId"]
    answers, words = answers_in(sent), words_in(sent, me.entity_id)
    if not answers and words is None:
        raise Invalid(_NOTHING_NEW)
    if words is not None:
        if me.entity_id == agent_id:
            raise Invalid("agentId: an agent that talks to itself wakes nobody")
        checked_text(words.text, ())
    begins = words is not None and not answers
    space = await open_chat(ask.desk, me, sent.thread_id, agent_id, begins=begins)
    thread = Thread(
        id=sent.thread_id,
        space_id=space.id,
        run_id=sent.run_id or "",
        viewer=me.entity_id,
        tools=frozenset(tool.name for tool in sent.tools or ()),
    )
    face = AgUiFace(thread, known=msgspec.to_builtins(sent.messages))

    async def find() -> Followed:
        run, answered = await _answer(ask.house, me, space.id, answers)
        if words is not None and (words.is_last or run is None):
            run = await _post(ask.house, me, space.id, agent_id, words)
        if run is None:
            raise Invalid(_NOTHING_NEW)
        face.run = run
        return Followed(run, answered)

    return await event_stream(ask, OneRunFeed(ask.desk, me, space.id, find, face), _MANNER)


async def replay_thread(ask: Ask[None, ReplayQuery, Space]) -> ASGIApp:
    house, me, query, space = ask.house, ask.principal, ask.query, ask.about
    face = AgUiFace(Thread(id=ask.params["id"], space_id=space.id, viewer=viewer_of(me)))

    async def find() -> Followed:
        face.run = await _to_follow(house, space.id, query)
        page = await house.history.page(space.id, viewer_of(me), before=query.before, limit=query.limit)
        face.page = [_decode(message) for message in page.messages]
        return Followed(face.run)

    return await event_stream(ask, OneRunFeed(ask.desk, me, space.id, find, face), _MANNER)


async def _to_follow(house: House, space_id: str, query: ReplayQuery) -> Run | None:
    """The run that was asked for, or the newest that nobody called."""
    if query.run_id is not None:
        run = await house.store.run(query.run_id)
        if run is None or space_id not in run.shown_in:
            raise NotFound(f"there is no run {query.run_id[:80]!r} in this space")
        return run
    if query.before is not None:
        return None
    return await run_at_work(house, space_id, query.agent_id)


async def _answer(
    house: House, me: Principal, space_id: str, answers: list[CardAnswer]
) -> tuple[Run | None, frozenset[str]]:
    """The run that asked, and which of its cards were answered now. Who comes too late is told what was
    decided like everybody else."""
    run, answered = None, set[str]()
    for answer in answers:
        call = await house.store.call(answer.call_id)
        if call is None or not any(place.space_id == space_id for place in call.places):
            if answer.is_claimed:
                raise NotFound(f"there is no interrupt {answer.call_id[:80]!r} in this thread")
            continue
        asked_by = await house.store.run(call.run_id)
        assert asked_by is not None, "a call has a run"
        if call.status == "waiting":
            with contextlib.suppress(Conflict):
                await _settle(house, me, asked_by, call, answer)
            answered.add(call.id)
        run = await _top_of(house, asked_by, space_id)
    return run, frozenset(answered)


async def _settle(house: House, me: Principal, run: Run, call: Call, answer: CardAnswer) -> None:
    """Consent that is not given is refused; a question that nobody wants to answer ends its run."""
    is_approval = call.waits_for == "approval"
    if answer.is_canceled and not is_approval:
        await house.access.may_stop(me, run)
        await cancel(house, me, run)
        return
    result = {"approved": False} if answer.is_canceled else answer.result
    await house.answers.answer(me, run.id, call.id, decision_in(result) if is_approval else result)


async def _top_of(house: House, run: Run, space_id: str) -> Run:
    """The run that the reader knows: the one that called, where that shows itself here."""
    while run.parent_call_id:
        call = await house.store.call(run.parent_call_id)
        caller = await house.store.run(call.run_id) if call is not None else None
        if caller is None or space_id not in caller.shown_in:
            break
        run = caller
    return run


async def _post(house: House, me: Principal, space_id: str, agent_id: str, words: Words) -> Run | None:
    """Said once, however often it is sent. What stands before other messages was said before."""
    if words.id and (said := await house.store.message(space_id, words.id)) is not None:
        return await _woken_by(house, said, agent_id)
    if not words.is_last:
        key = client_key(space_id, words.id)
        known = await house.intake.message_by_key(me, space_id, key) if words.id else None
        return await _woken_by(house, known, agent_id) if known is not None else None
    message = NewMessage(text=words.text, mentions=[agent_id], client_message_id=words.id or UNSET)
    posted = await post(house, me, space_id, message)
    return next((run for run in posted.runs if run.agent_id == agent_id), None)


async def _woken_by(house: House, said: Message, agent_id: str) -> Run | None:
    """The newest run that it started."""
    runs = await house.store.runs(agent_id=agent_id, space_id=said.space_id)
    return next((run for run in runs if run.trigger.message_id == said.id), None)


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "POST",
        "/ag-ui/{agentId}",
        run_agent,
        CHATS,
        "Say something to an agent, or answer it, as AG-UI; and watch its run",
        body=RunAgentInput,
        body_limit=HISTORY_LIMIT,
        streams=True,
        is_post=True,
    ),
    Route(
        "GET",
        "/ag-ui/{id}/replay",
        replay_thread,
        READS_THREAD,
        "A space as AG-UI: its messages, and its active run, live",
        query=ReplayQuery,
        streams=True,
        texts=("id",),
        slashed=("id",),
    ),
)
