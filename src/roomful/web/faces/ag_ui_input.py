"""What an AG-UI client sends. It repeats all it has ever heard: only the end of it is news."""

import itertools
from typing import Literal, cast

import msgspec

from roomful.domain.errors import Invalid
from roomful.domain.shape import UNSET, Json, Unset, decode_json

_LONGEST_ID = 128
_DECISION = {
    "approved": "approved",
    "args": "args",
    "editedArgs": "args",
    "reason": "reason",
    "remember": "remember",
}


class Foreign(msgspec.Struct, rename="camel"):
    """Somebody else's form: what is not known here is passed over."""


class ClientFunction(Foreign):
    name: str = ""
    arguments: str = ""


class ClientCall(Foreign):
    id: str
    function: ClientFunction


class ClientMessage(Foreign):
    role: str
    id: str = ""
    content: Json = None
    tool_calls: list[ClientCall] | None = None
    tool_call_id: str = ""
    metadata: Json = None


class ClientTool(Foreign):
    name: str


class Resumed(Foreign):
    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: Json | Unset = UNSET


class RunAgentInput(Foreign):
    """`tools` says which of the agent's own client tools this client answers with messages."""

    thread_id: str
    messages: list[ClientMessage]
    run_id: str | None = None
    tools: list[ClientTool] | None = None
    resume: list[Resumed] | None = None


class CardAnswer(msgspec.Struct, frozen=True):
    call_id: str
    result: Json
    is_canceled: bool = False
    is_claimed: bool = True
    """It is sent as an answer, and not perhaps only as a copy of one."""


class Words(msgspec.Struct, frozen=True):
    id: str
    text: str
    is_last: bool
    """Nothing stands behind it: it may be new."""


def answers_in(sent: RunAgentInput) -> list[CardAnswer]:
    if sent.resume:
        return [
            CardAnswer(
                one.interrupt_id, None if one.payload is UNSET else one.payload, one.status == "cancelled"
            )
            for one in sent.resume
        ]
    last = itertools.takewhile(lambda message: message.role == "tool", reversed(sent.messages))
    return [
        CardAnswer(one.tool_call_id, _value(_text(one.content)), is_claimed=False)
        for one in reversed(list(last))
    ]


def words_in(sent: RunAgentInput, me: str) -> Words | None:
    """What this person said last, if anything."""
    mine = [at for at, one in enumerate(sent.messages) if one.role == "user" and _author(one, me) == me]
    if not mine:
        return None
    message = sent.messages[mine[-1]]
    if len(message.id) > _LONGEST_ID:
        raise Invalid(f"messages: an id has at most {_LONGEST_ID} characters")
    return Words(message.id, _text(message.content), mine[-1] == len(sent.messages) - 1)


def decision_in(result: Json) -> Json:
    """An answer to a card that asks for consent, in our words."""
    if isinstance(result, bool):
        return {"approved": result}
    if not isinstance(result, dict):
        return result
    given = cast("dict[str, Json]", result)
    return {_DECISION[key]: value for key, value in given.items() if key in _DECISION and value is not None}


def _author(message: ClientMessage, me: str) -> str:
    """A replay tells whose a message is, unless it is one's own."""
    try:
        return msgspec.convert(message.metadata, _Metadata).roomful.entity_id or me
    except msgspec.ValidationError:
        return me


class _About(Foreign):
    entity_id: str = ""


class _Metadata(Foreign):
    roomful: _About


def _text(content: Json) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise Invalid("messages: the content of a message is a text or a list of parts")
    try:
        parts = msgspec.convert(content, list[_ContentPart])
    except msgspec.ValidationError as problem:
        raise Invalid(f"messages: {problem}") from None
    if other := next((part.type for part in parts if part.type != "text"), None):
        raise Invalid(f"messages: a part of type {other[:80]!r} cannot be sent here; upload it to /api/blobs")
    return "\n".join(part.text for part in parts)


class _ContentPart(Foreign):
    type: str
    text: str = ""


def _value(text: str) -> Json:
    try:
        return decode_json(text)
    except msgspec.DecodeError:
        return text
