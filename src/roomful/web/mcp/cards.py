"""Tools for what waits for a person: find the cards, answer one."""

from typing import Annotated, Literal

from msgspec import Meta

from roomful.domain.errors import Invalid
from roomful.domain.messages import MemberAnswer, Message, ToolCallPart
from roomful.domain.runs import ACTIVE, Call
from roomful.domain.shape import UNSET, Json, Noun, Unset
from roomful.runs.answers import Asked
from roomful.web.feeds.following import viewer_of
from roomful.web.mcp.reading import MOST_SPACES, Id, spaces_of
from roomful.web.mcp.tool import Arguments, Guest, Told, Tool
from roomful.web.mcp.words import short
from roomful.web.routes.runs import ToolResult, answer

LATEST = 50
"""Messages of a space that are looked through for cards whose run did not wait for them."""
MOST_CARDS = 100


class ListCards(Arguments):
    space_id: Annotated[Id, Meta(description="Only cards of this space.")] | Unset = UNSET


class Card(Noun):
    """What is asked, as its space may see it."""

    space_id: str
    message_id: str
    run_id: str
    call_id: str
    agent_id: str
    kind: Literal["answer", "approval", "poll"]
    tool_name: str
    answerable_by: list[str]
    args: Json | Unset = UNSET
    question: Json | Unset = UNSET
    answers: list[MemberAnswer] | Unset = UNSET
    from_space_ids: list[str] | Unset = UNSET
    """The question is whether something of these spaces may be shown"""
    to_space_ids: list[str] | Unset = UNSET
    """in these, where not everybody may read it."""
    result_schema: dict[str, Json] | Unset = UNSET


class Cards(Noun):
    cards: list[Card]
    has_more: bool


class AnswerCard(Arguments):
    run_id: Id
    call_id: Id
    result: Annotated[Json, Meta(description="For kind answer or poll: the answer.")] | Unset = UNSET
    approved: Annotated[bool, Meta(description="For kind approval: may the tool run?")] | Unset = UNSET
    reason: Annotated[str, Meta(max_length=2000, description="With approved false: why.")] | Unset = UNSET
    args: (
        Annotated[dict[str, Json], Meta(description="With approved true: these replace the shown arguments.")]
        | Unset
    ) = UNSET
    remember: (
        Annotated[
            Literal["tool", "arguments"],
            Meta(description="With approved true: do not ask again for this tool, or for these arguments."),
        ]
        | Unset
    ) = UNSET
    close: Annotated[bool, Meta(description="For kind poll: end it, instead of voting.")] = False


class Answered(Noun):
    run_id: str
    call_id: str
    status: Literal["accepted"] = "accepted"


async def list_cards(guest: Guest, asked: ListCards) -> Told:
    if asked.space_id is not UNSET:
        space_ids = [(await guest.house.access.space(guest.principal, asked.space_id, "read")).id]
    else:
        space_ids = [space.id for space in (await spaces_of(guest))[:MOST_SPACES]]
    cards: list[Card] = []
    for space_id in space_ids:
        cards += await cards_in(guest, space_id)
    text = "\n".join(map(card_line, cards[:MOST_CARDS])) or "No card waits for an answer."
    return Told(text, Cards(cards[:MOST_CARDS], len(cards) > MOST_CARDS))


async def cards_in(guest: Guest, space_id: str) -> list[Card]:
    """Of runs that are at work or wait, wherever in the space; else among the latest messages."""
    house, viewer = guest.house, viewer_of(guest.principal)
    messages = {one.id: one for one in await house.history.recent(space_id, viewer, LATEST)}
    for run in await house.store.runs(space_id=space_id, statuses=ACTIVE):
        for message_id in _places(await house.store.calls(run.id), space_id) - messages.keys():
            message = await house.history.message(space_id, viewer, message_id)
            if message is not None:
                messages[message_id] = message
    in_order = sorted(messages.values(), key=lambda message: message.seq)
    found = [await _card(guest, message, part) for message in in_order for part in _waiting(message)]
    return [card for card in found if card is not None]


def card_line(card: Card) -> str:
    how = {
        "answer": "answer it with `result`",
        "approval": "it runs only if somebody sets `approved`",
        "poll": "vote with `result`",
    }[card.kind]
    what = "" if card.args is UNSET else f" {short(card.args)}"
    question = "" if card.question is UNSET else f" asks {short(card.question)}"
    if card.to_space_ids:
        sources = ", ".join(card.from_space_ids or ())
        question += (
            f" would be shown in {', '.join(card.to_space_ids)}, where not everybody may read {sources}"
        )
    who = ", ".join(card.answerable_by)
    return (
        f"- {card.agent_id}: {card.tool_name}{what}{question} (spaceId {card.space_id}, runId {card.run_id}, "
        f"callId {card.call_id}); {how}; for {who}"
    )


async def answer_card(guest: Guest, given: AnswerCard) -> Told:
    run, _ = await guest.house.access.run(guest.principal, given.run_id)
    sent = ToolResult(result=_result(given), call_id=given.call_id, close=given.close)
    await answer(guest.house, guest.principal, run, sent)
    text = f"The answer was accepted. wait_for_runs with {run.id} shows what comes of it."
    return Told(text, Answered(run.id, given.call_id))


def _result(given: AnswerCard) -> Json | Unset:
    decision = {
        name: value
        for name in ("approved", "reason", "args", "remember")
        if (value := getattr(given, name)) is not UNSET
    }
    if not decision:
        return given.result
    if given.approved is UNSET or given.result is not UNSET:
        raise Invalid("give `result`, or `approved` with its `reason`, `args` or `remember`, not both")
    return decision


def _places(calls: list[Call], space_id: str) -> set[str]:
    return {
        place.message_id
        for call in calls
        for place in call.places
        if call.status == "waiting" and place.space_id == space_id
    }


def _waiting(message: Message) -> list[ToolCallPart]:
    return [part for part in message.parts if isinstance(part, ToolCallPart) and part.status == "waiting"]


async def _card(guest: Guest, message: Message, part: ToolCallPart) -> Card | None:
    house = guest.house
    call = await house.store.call(part.tool_call_id)
    run = await house.store.run(call.run_id) if call is not None else None
    asked = await house.answers.asked(run, call) if call is not None and run is not None else None
    if run is None or call is None or asked is None:
        return None
    return Card(
        space_id=message.space_id,
        message_id=message.id,
        run_id=run.id,
        call_id=call.id,
        agent_id=run.agent_id,
        kind=asked.kind,
        tool_name=part.tool_name,
        answerable_by=_answerable_by(asked, part),
        args=part.args,
        question=part.question,
        answers=part.answers,
        from_space_ids=part.approval.from_space_ids if part.approval else UNSET,
        to_space_ids=part.approval.to_space_ids if part.approval else UNSET,
        result_schema=UNSET if asked.result_schema is None else asked.result_schema,
    )


def _answerable_by(asked: Asked, part: ToolCallPart) -> list[str]:
    if part.target_entity_id is not UNSET:
        return [part.target_entity_id]
    named = [*asked.approvers.entities, *(f"every {role}" for role in asked.approvers.roles)]
    return named or ["every member who may write"]


LIST_CARDS = Tool(
    "list_cards",
    "List waiting cards",
    "List what waits for a person's answer in your spaces: forms, approvals and polls, with the runId and "
    "callId that answer_card wants, what is asked, and who may answer.",
    ListCards,
    Cards,
    list_cards,
    reads_only=True,
)
ANSWER_CARD = Tool(
    "answer_card",
    "Answer a waiting card",
    "Answer a card from list_cards. For kind answer or poll give `result`, as its resultSchema says if it "
    "has one; for kind approval give `approved`, and then the tool runs with its real effects: approve only "
    "what the person you act for wants. The first answer counts: if somebody was faster, the error says what "
    "became of the card.",
    AnswerCard,
    Answered,
    answer_card,
    destroys=True,
    is_post=True,
)
