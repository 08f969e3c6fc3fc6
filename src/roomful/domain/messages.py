"""What a space holds: messages made of parts."""

from typing import Literal, TypeAlias

import msgspec

from roomful.domain.shape import UNSET, Json, Noun, Unset
from roomful.domain.tools import Approvers
from roomful.domain.trails import Child

PartStatus = Literal["streaming", "ready", "running", "waiting", "complete", "error", "canceled", "unknown"]
UNSETTLED: frozenset[PartStatus] = frozenset({"streaming", "ready", "running"})
MessageStatus = Literal["open", "final"]
Asks = Literal["answer", "approval"]
"""What a call wants of people: that they answer it, or that they agree before it is executed."""
BOUND_PART = "limit"
"""The tool name of a part that no model asked for: it says that a bound was hit."""


class TextPart(Noun, tag_field="type", tag="text"):
    id: str
    text: str
    status: PartStatus = "complete"
    tool_call_id: str | Unset = UNSET
    step: int | Unset = UNSET
    """The model's answer they belong to. If that has to be given again, plain words are too."""


class ReasoningPart(Noun, tag_field="type", tag="reasoning"):
    id: str
    text: str
    status: PartStatus = "complete"
    step: int | Unset = UNSET


class MemberAnswer(Noun):
    """One member's word in a poll."""

    entity_id: str
    result: Json
    at: str


class ApprovalCard(Noun):
    """What whoever approves a call must know: whose it is, where it comes from, and its exact arguments."""

    agent_id: str
    args_hash: str
    trigger_space_id: str | Unset = UNSET
    trigger_entity_id: str | Unset = UNSET
    approved: bool | Unset = UNSET
    """What was decided, once it was."""
    reason: str | Unset = UNSET
    from_space_ids: list[str] | Unset = UNSET
    """What is asked is whether content of these spaces may be shown,"""
    to_space_ids: list[str] | Unset = UNSET
    """here, where not everybody may read it there."""


class ToolCallPart(Noun, tag_field="type", tag="tool_call"):
    """A tool call as this space may see it: what its visibility hides is unset, not null."""

    id: str
    tool_call_id: str
    tool_name: str
    status: PartStatus
    run_id: str | Unset = UNSET
    """Unset where the call was imported: it ran elsewhere."""
    args: Json | Unset = UNSET
    result: Json | Unset = UNSET
    error: str | Unset = UNSET
    custom_ui: str | Unset = msgspec.field(default=UNSET, name="customUI")
    target_entity_id: str | Unset = UNSET
    asks: Asks | Unset = UNSET
    agent_id: str | Unset = UNSET
    """Of a delegation: to whom."""
    step: int | Unset = UNSET
    """The model's answer that it belongs to, where that is not the run's first."""
    approval: ApprovalCard | Unset = UNSET
    approvers: Approvers | Unset = UNSET
    """Who alone may answer a card that waits, beyond that they may write here. Unset: everybody who may."""
    closers: Approvers | Unset = UNSET
    """The same for closing a poll, in which everybody votes."""
    answers: list[MemberAnswer] | Unset = UNSET
    question: Json | Unset = UNSET
    """What a tool wants to know before it can go on: `{"requests": {key: {message, schema}}}`."""
    answered_by: str | Unset = UNSET
    answered_at: str | Unset = UNSET
    child: Child | Unset = UNSET
    """What happened inside, when the call is a delegation and wholly visible."""
    provider_call_id: str | Unset = UNSET
    """The id under which another system knew an imported call."""


Part: TypeAlias = TextPart | ReasoningPart | ToolCallPart


class Woke(Noun):
    """What became of a message for an agent that was busy."""

    run_id: str
    agent_id: str
    how: Literal["queued", "steered"]


class Message(Noun):
    id: str
    space_id: str
    entity_id: str
    seq: int
    status: MessageStatus
    role: Literal["user", "assistant"]
    parts: list[Part]
    created_at: str
    updated_at: str
    run_id: str | Unset = UNSET
    mentions: list[str] = []
    reply_to: str | Unset = UNSET
    attachments: list[str] = []
    client_message_id: str | Unset = UNSET
    deleted: bool | Unset = UNSET
    woke: list[Woke] | Unset = UNSET

    @property
    def text(self) -> str:
        """The words alone, without tool parts."""
        return "\n".join(part.text for part in self.parts if isinstance(part, TextPart))


def delegations(message: Message) -> list[ToolCallPart]:
    """The parts of sub-agents that are still at work: what they do is read from their own rows."""
    return [
        part
        for part in message.parts
        if isinstance(part, ToolCallPart) and part.child is not UNSET and part.child.status == "running"
    ]


def plain_step(part: Part) -> int | None:
    """The model's answer that plain words or reasoning belong to; None for what a call says or shows."""
    if isinstance(part, ToolCallPart) or (isinstance(part, TextPart) and part.tool_call_id is not UNSET):
        return None
    return part.step if part.step is not UNSET else None


def part_for_one(part: Part) -> str | None:
    """The only member who may see this part, or None when the whole space may."""
    if isinstance(part, ToolCallPart) and part.target_entity_id is not UNSET:
        return part.target_entity_id
    return None


def is_private(message: Message) -> bool:
    return any(part_for_one(part) for part in message.parts)


def as_seen_by(message: Message, entity_id: str | None) -> Message:
    """The message without the parts that are meant for somebody else."""
    if not is_private(message):
        return message
    seen = [part for part in message.parts if part_for_one(part) in (None, entity_id)]
    return msgspec.structs.replace(message, parts=seen)


def answered_parts(message: Message) -> dict[str, Part]:
    return {
        part.id: part
        for part in message.parts
        if isinstance(part, ToolCallPart) and part.answered_at is not UNSET
    }


def left(part: Part) -> Part:
    """The part when nobody will go on with it."""
    return msgspec.structs.replace(part, status="canceled") if part.status in UNSETTLED else part


def with_answers(message: Message, stored: Message) -> Message:
    """The message, but each answered part of the stored one whose answer it does not know. Once it is final,
    none of them goes on."""
    kept = answered_parts(stored)
    if message.status == "final":
        kept = {part_id: left(part) for part_id, part in kept.items()}
    for part_id in answered_parts(message):
        kept.pop(part_id, None)
    return msgspec.structs.replace(message, parts=[kept.get(part.id, part) for part in message.parts])
