"""A message as plain lines, for a terminal or a file."""

import re
from collections.abc import Iterator, Mapping

from roomful.domain.messages import Message, ReasoningPart, TextPart, ToolCallPart
from roomful.domain.shape import UNSET, Json, encode_json
from roomful.domain.trails import Child

LONGEST = 200
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def in_lines(message: Message, names: Mapping[str, str]) -> list[str]:
    """`names` by entity id. Nothing in them can move the cursor or change a colour."""
    lines = [line for part in _parts(message) for line in part.splitlines()]
    name = names.get(message.entity_id, message.entity_id)
    head = f"{name}: {lines[0]}" if len(lines) == 1 else f"{name}:"
    return [plain(line) for line in [head, *(f"  {line}" for line in lines if len(lines) > 1)]]


def plain(text: str) -> str:
    return _CONTROLS.sub("\ufffd", text)


def _parts(message: Message) -> Iterator[str]:
    if message.deleted:
        yield "(deleted)"
    for part in message.parts:
        match part:
            case TextPart():
                yield part.text
            case ReasoningPart():
                yield f"({part.text})"
            case ToolCallPart():
                yield _call(part)
                if part.child is not UNSET:
                    yield from _inside(part.child, 1)
    if message.attachments:
        yield f"[{len(message.attachments)} attached]"


def _call(part: ToolCallPart) -> str:
    asked = f" {_short(part.args)}" if part.args is not UNSET else ""
    by = f" by {part.answered_by}" if part.answered_by is not UNSET else ""
    return f"[{part.tool_name}{asked}: {part.status}{by}{_outcome(part.result, part.error)}]"


def _inside(child: Child, depth: int) -> Iterator[str]:
    indent = "  " * depth
    yield f"{indent}{child.name}: {_short(child.text)}"
    for call in child.calls or ():
        yield f"{indent}[{call.tool_name}: {call.status}{_outcome(call.result, call.error)}]"
        if call.child is not UNSET:
            yield from _inside(call.child, depth + 1)


def _outcome(result: Json, error: Json) -> str:
    if error is not UNSET:
        return f" {_short(error)}"
    return f" {_short(result)}" if result is not UNSET and result is not None else ""


def _short(value: Json) -> str:
    text = value if isinstance(value, str) else encode_json(value).decode()
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
