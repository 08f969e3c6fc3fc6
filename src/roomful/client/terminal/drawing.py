"""A message as lines of a terminal. Drawing is a function of what is drawn and of the width, of nothing else;
all that others wrote is made harmless here."""

from collections.abc import Mapping
from typing import cast

import msgspec

from roomful.client.terminal.harmless import fitted, harmless, one_line, width, wrap
from roomful.domain.messages import Message, Part, TextPart, ToolCallPart
from roomful.domain.shape import UNSET, Json
from roomful.domain.trails import Child, ChildCall

NARROWEST = 24
MOST_LINES = 16
"""Lines of one value; what is longer is looked at elsewhere."""
_STATES = {
    "streaming": "writing…",
    "ready": "calling…",
    "running": "running…",
    "waiting": "waits for an answer",
    "complete": "done",
    "error": "failed",
    "canceled": "stopped",
    "unknown": "nobody knows what became of it",
}
_INKS = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_COLOURS = {"error": "red", "waiting": "yellow", "complete": "green"}


class Ink:
    """How a line is coloured; not at all when nobody wants colours."""

    def __init__(self, *, has_colours: bool) -> None:
        self._has_colours = has_colours

    def __call__(self, style: str, text: str) -> str:
        code = _INKS.get(style)
        return f"\x1b[{code}m{text}\x1b[0m" if self._has_colours and code and text else text


def draw_message(message: Message, names: Mapping[str, str], columns: int, ink: Ink) -> list[str]:
    """Who said it, and below it every part."""
    columns = max(columns, NARROWEST)
    name = one_line(names.get(message.entity_id, message.entity_id))
    head = ink("bold" if message.role == "user" else "cyan", fitted(name, min(width(name), columns - 8)))
    lines = [f"{head} {ink('dim', one_line(message.created_at[11:16]))}"]
    if message.deleted:
        return [*lines, ink("dim", "  (deleted)")]
    for part in message.parts:
        lines += [f"  {line}" for line in draw_part(part, names, columns - 2, ink)]
    if message.attachments:
        lines.append(ink("dim", f"  [{len(message.attachments)} attached]"))
    return lines


def draw_part(part: Part, names: Mapping[str, str], columns: int, ink: Ink) -> list[str]:
    if isinstance(part, ToolCallPart):
        return draw_card(part, names, columns, ink)
    style = "" if isinstance(part, TextPart) else "dim"
    lines = [ink(style, line) for line in wrap(harmless(part.text), columns)]
    if part.status in ("canceled", "error"):
        lines.append(ink("dim", f"({_STATES[part.status]})"))
    return lines


def draw_card(part: ToolCallPart, names: Mapping[str, str], columns: int, ink: Ink) -> list[str]:
    """A box: the tool and its state above, what it was given and gave inside."""
    inner = columns - 4
    state = _state(part, names)
    blocks = [_fields(part.args, inner), _outcome(part, inner)]
    if part.child is not UNSET:
        blocks.insert(1, draw_trail(part.child, inner))
    if part.answers is not UNSET:
        said = [f"{_name(one.entity_id, names)}: {_value(one.result)}" for one in part.answers]
        blocks.insert(1, [line for text in said for line in wrap(text, inner)])
    edge = {"error": "red", "waiting": "yellow"}.get(part.status, "dim")
    lines = [_top(one_line(part.tool_name), state, columns, part.status, ink)]
    filled = [block for block in blocks if block]
    for number, block in enumerate(filled):
        if number:
            lines.append(ink(edge, "├" + "─" * (columns - 2) + "┤"))
        lines += [f"{ink(edge, '│')} {fitted(line, inner)} {ink(edge, '│')}" for line in block]
    return [*lines, ink(edge, "╰" + "─" * (columns - 2) + "╯")]


def _top(title: str, state: str, columns: int, status: str, ink: Ink) -> str:
    room = columns - 6
    title = fitted(title, min(width(title), room // 2))
    state = fitted(state, min(width(state), room - width(title)))
    line = "─" * (room - width(title) - width(state))
    edge = {"error": "red", "waiting": "yellow"}.get(status, "dim")
    shown = f"{ink(edge, '╭─')} {ink('bold', title)} {ink(edge, line)}"
    return f"{shown} {ink(_COLOURS.get(status, 'dim'), state)}{ink(edge, '╮')}"


def _state(part: ToolCallPart, names: Mapping[str, str]) -> str:
    if part.answered_by is not UNSET:
        return f"answered by {_name(part.answered_by, names)}"
    if part.status == "waiting" and part.approval is not UNSET:
        return "waits for approval"
    if part.status == "waiting" and part.child is not UNSET:
        return "at work…"
    return _STATES[part.status]


def _name(entity_id: str, names: Mapping[str, str]) -> str:
    return one_line(names.get(entity_id, entity_id))


def _outcome(part: ToolCallPart, columns: int) -> list[str]:
    lines: list[str] = []
    if part.result is not UNSET and part.result is not None and part.child is UNSET:
        lines += _fields(part.result, columns)
    if part.error is not UNSET:
        lines += wrap(f"! {harmless(part.error)}", columns)
    return lines


def draw_trail(child: Child, columns: int) -> list[str]:
    """What a sub-agent does, each depth a little further in."""
    lines = wrap(f"{one_line(child.name)}: {child.status}", columns)
    for call in child.calls or ():
        lines += [f"  {line}" for line in _trail_call(call, columns - 2)]
    if child.text:
        lines += [f"  {line}" for line in _shortened(wrap(harmless(child.text), columns - 2))]
    return lines


def _trail_call(call: ChildCall, columns: int) -> list[str]:
    columns = max(columns, 8)
    lines = wrap(f"· {one_line(call.tool_name)} {_STATES.get(call.status, call.status)}", columns)
    if call.args is not UNSET and call.args:
        lines += [f"  {line}" for line in _shortened(wrap(_value(call.args), columns - 2))]
    if call.child is not UNSET:
        lines += [f"  {line}" for line in draw_trail(call.child, columns - 2)]
    elif call.result is not UNSET and call.result is not None:
        lines += [f"  {line}" for line in _shortened(wrap(f"→ {_value(call.result)}", columns - 2))]
    if call.error is not UNSET:
        lines += [f"  {line}" for line in wrap(f"! {harmless(call.error)}", columns - 2)]
    return lines


def _fields(value: Json, columns: int) -> list[str]:
    """An object by its names, anything else as it is written."""
    if value is UNSET or value == {}:
        return []
    if not isinstance(value, dict):
        return _shortened(wrap(_value(value), columns))
    lines: list[str] = []
    for name, item in cast("dict[str, Json]", value).items():
        lines += wrap(f"{one_line(name)}: {_value(item)}", columns)
    return _shortened(lines)


def _value(value: Json) -> str:
    if isinstance(value, str):
        return harmless(value)
    return harmless(msgspec.json.encode(value).decode())


def short_value(value: Json, columns: int) -> str:
    return fitted(_value(value).replace("\n", " "), columns).rstrip()


def _shortened(lines: list[str]) -> list[str]:
    if len(lines) <= MOST_LINES:
        return lines
    return [*lines[:MOST_LINES], f"… {len(lines) - MOST_LINES} more lines"]
