"""Messages as words for a model: who said what, in order, with what their tools did."""

from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from roomful.domain.messages import Message, Part, ReasoningPart, TextPart, ToolCallPart
from roomful.domain.shape import UNSET, Json, encode_json
from roomful.domain.spaces import Member

LONGEST_TEXT = 20_000
LONGEST_VALUE = 2_000


def names_of(members: Iterable[Member]) -> dict[str, str]:
    return {member.entity_id: one_line(member.name) for member in members}


def transcript(messages: Sequence[Message], names: Mapping[str, str]) -> str:
    return "\n".join(_said(message, names) for message in messages)


def short(value: Json) -> str:
    text = value if isinstance(value, str) else encode_json(value).decode()
    return one_line(_cut(text, LONGEST_VALUE))


def one_line(text: str) -> str:
    return " ".join(text.split())


def _said(message: Message, names: Mapping[str, str]) -> str:
    """The head begins a line and nothing else does, so that nobody can write one for somebody else."""
    who = names.get(message.entity_id, message.entity_id)
    head = f"[{message.seq}] {who} ({message.entity_id}) at {message.created_at}, {message.id}"
    if message.reply_to is not UNSET:
        head += f", in reply to {message.reply_to}"
    if message.status == "open":
        head += ", still writing"
    lines = ["(deleted)"] if message.deleted else [line for part in message.parts for line in _part(part)]
    if message.attachments:
        lines.append(f"(attached: {', '.join(message.attachments)})")
    return "\n".join([f"{head}:", *(f"  {line}" for line in lines)])


def _part(part: Part) -> list[str]:
    match part:
        case TextPart():
            return _cut(part.text, LONGEST_TEXT).splitlines()
        case ReasoningPart():
            return [f"(thinks) {line}" for line in _cut(part.text, LONGEST_TEXT).splitlines()]
        case ToolCallPart():
            return [_call(part)]
        case _:
            assert_never(part)


def _call(part: ToolCallPart) -> str:
    line = f"* {part.tool_name}"
    if part.args is not UNSET:
        line += f" {short(part.args)}"
    line += f" is {part.status}"
    if part.status == "waiting" and part.run_id is not UNSET:
        line += f" (runId {part.run_id}, callId {part.tool_call_id})"
    if part.result is not UNSET and part.result is not None:
        line += f": {short(part.result)}"
    if part.error is not UNSET:
        line += f": {short(part.error)}"
    return line


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]} … ({len(text) - longest} more characters)"
