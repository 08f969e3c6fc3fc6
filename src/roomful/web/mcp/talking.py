"""Tools that take part: say something, wait for what comes of it, stop a run."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from roomful.domain.errors import NotFound, RoomfulError
from roomful.domain.messages import Message
from roomful.domain.runs import WAITING, Run, RunError, RunStatus
from roomful.domain.shape import UNSET, Noun, Unset
from roomful.spaces.trails import spaces_showing
from roomful.web.mcp.cards import Card, card_line, cards_in
from roomful.web.mcp.reading import Id, page_of
from roomful.web.mcp.tool import Arguments, Guest, Later, Tell, Told, Tool
from roomful.web.mcp.waiting import Waiting
from roomful.web.mcp.words import names_of, transcript
from roomful.web.routes.messages import NewMessage, post
from roomful.web.routes.runs import cancel
from roomful.web.views import run_seen

LONGEST_WAIT = 300
MOST_CARDS = 20
SAID = 100
"""Messages behind the one that woke the runs among which their words are looked for."""

Seconds = Annotated[int, Meta(ge=0, le=LONGEST_WAIT)]


class PostMessage(Arguments):
    space_id: Id
    text: Annotated[str, Meta(min_length=1, max_length=100_000)]
    mentions: Annotated[
        list[Id], Meta(max_length=50, description="Ids of members. A mentioned agent starts to work.")
    ] = []
    reply_to: Annotated[Id, Meta(description="The id of the message that this one answers.")] | Unset = UNSET
    client_message_id: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=128,
                description="Your own name for it: sent again with the same one, it is posted once.",
            ),
        ]
        | Unset
    ) = UNSET
    wait_seconds: Annotated[
        Seconds, Meta(description="How long to wait for the agents that it wakes; 0 does not wait.")
    ] = 0


class WaitForRuns(Arguments):
    space_id: Id
    run_ids: Annotated[list[Id], Meta(min_length=1, max_length=16)]
    timeout_seconds: Seconds = 60


class StopRun(Arguments):
    run_id: Id


class RunState(Noun):
    run_id: str
    agent_id: str
    status: RunStatus
    error: RunError | Unset = UNSET


class Outcome(Noun):
    """`is_over` when every run has ended or waits for a person; `messages` are what these runs said."""

    runs: list[RunState]
    is_over: bool
    messages: list[Message] = []
    has_more: bool = False
    cards: list[Card] = []


class Posted(Outcome, kw_only=True):
    message: Message
    replayed: bool = False


async def post_message(guest: Guest, sent: PostMessage) -> Told | Later:
    house = guest.house
    new = NewMessage(
        text=sent.text,
        mentions=sent.mentions,
        client_message_id=sent.client_message_id,
        reply_to=sent.reply_to,
    )
    posted = await post(house, guest.principal, sent.space_id, new)
    message, run_ids = posted.message, [run.id for run in posted.runs]

    def told(outcome: Outcome, words: str) -> Told:
        more = msgspec.structs.asdict(outcome)
        text = f"Posted as {message.id}, seq {message.seq}.\n{words}"
        return Told(text, Posted(message=message, replayed=posted.replayed, **more))

    if not run_ids:
        return told(Outcome([], True), "It woke no agent: mention one to have it answer.")
    if not sent.wait_seconds:
        agents = ", ".join(f"{run.agent_id} (runId {run.id})" for run in posted.runs)
        words = f"It woke {agents}: wait_for_runs waits for the reply."
        return told(Outcome(list(map(_state, posted.runs)), False), words)

    async def wait(tell: Tell) -> Told:
        """Whatever comes in between: what was posted is posted, and is not to be posted again."""
        try:
            outcome = await _outcome(guest, sent.space_id, run_ids, message.seq, sent.wait_seconds, tell)
            return told(outcome, await _words(guest, sent.space_id, outcome))
        except RoomfulError as error:
            return told(Outcome(list(map(_state, posted.runs)), False), f"No waiting for it: {error.detail}.")

    return wait


async def wait_for_runs(guest: Guest, asked: WaitForRuns) -> Later:
    house, me = guest.house, guest.principal
    space = await house.access.space(me, asked.space_id, "read")
    since: list[int] = []
    for run_id in asked.run_ids:
        run, _ = await house.access.run(me, run_id)
        if space.id not in await spaces_showing(house.store, run):
            raise NotFound(f"there is no run {run_id!r} that you may see")
        since.append(await _began_at(guest, space.id, run))

    async def wait(tell: Tell) -> Told:
        outcome = await _outcome(guest, space.id, asked.run_ids, min(since), asked.timeout_seconds, tell)
        return Told(await _words(guest, space.id, outcome), outcome)

    return wait


async def stop_run(guest: Guest, asked: StopRun) -> Told:
    access = guest.house.access
    run, through = await access.run(guest.principal, asked.run_id)
    await access.may_stop(guest.principal, run)
    state = _state(run_seen(await cancel(guest.house, guest.principal, run), through))
    return Told(_run_line(state), state)


async def _began_at(guest: Guest, space_id: str, run: Run) -> int:
    """The seq of what woke the run; where it was woken elsewhere, that of its own first words here."""
    house, trigger = guest.house, run.trigger
    if trigger.space_id == space_id and trigger.message_id:
        message = await house.store.message(space_id, trigger.message_id)
        return message.seq if message is not None else 0
    places = [place for call in await house.store.calls(run.id) for place in call.places]
    for place in places:
        if place.space_id == space_id:
            message = await house.store.message(space_id, place.message_id)
            return message.seq - 1 if message is not None else 0
    return 0


async def _outcome(
    guest: Guest, space_id: str, run_ids: Sequence[str], since: int, seconds: float, tell: Tell
) -> Outcome:
    is_over = await Waiting(guest, space_id, run_ids, tell).rest(seconds)
    access = guest.house.access
    runs = [run_seen(*await access.run(guest.principal, run_id)) for run_id in run_ids]
    page = await page_of(guest, space_id, SAID, after=since)
    waits = any(run.status in WAITING for run in runs)
    return Outcome(
        runs=[_state(run) for run in runs],
        is_over=is_over,
        messages=[message for message in page.messages if message.run_id in run_ids],
        has_more=page.has_more,
        cards=(await cards_in(guest, space_id))[-MOST_CARDS:] if waits else [],
    )


def _state(run: Run) -> RunState:
    return RunState(run.id, run.agent_id, run.status, run.error)


async def _words(guest: Guest, space_id: str, outcome: Outcome) -> str:
    lines = [_run_line(run) for run in outcome.runs]
    if not outcome.is_over:
        lines.append("Not all of this is over yet: call wait_for_runs to wait on.")
    if outcome.messages:
        lines.append(transcript(outcome.messages, names_of(await guest.house.store.members(space_id))))
    if outcome.cards:
        lines += ["These cards wait for an answer:", *map(card_line, outcome.cards)]
    return "\n".join(lines)


def _run_line(run: RunState) -> str:
    why = "" if run.error is UNSET else f": {run.error.message}"
    return f"The run {run.run_id} of {run.agent_id} is {run.status}{why}."


POST_MESSAGE = Tool(
    "post_message",
    "Post a message",
    "Say something in a space as yourself; everybody there reads it. Mention an agent to have it answer; in "
    "a space with one agent that one answers by itself. With waitSeconds the result also holds what the "
    "agents replied and which cards wait for an answer. They go on when you no longer wait.",
    PostMessage,
    Posted,
    post_message,
    is_post=True,
)
WAIT_FOR_RUNS = Tool(
    "wait_for_runs",
    "Wait for a reply",
    "Wait until agents' runs (from post_message or list_cards) have ended or a person has to do something, "
    "or until the time is up, and read what they said in this space. Call it again to wait on; it stops "
    "nothing.",
    WaitForRuns,
    Outcome,
    wait_for_runs,
    reads_only=True,
)
STOP_RUN = Tool(
    "stop_run",
    "Stop a run",
    "Stop an agent's run for good. What it said and did so far stays.",
    StopRun,
    RunState,
    stop_run,
    destroys=True,
    repeatable=True,
)
