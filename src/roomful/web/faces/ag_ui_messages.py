"""A space's messages as AG-UI's, which are flat: every text, call, result and sub-agent is one of its own.

Their ids are made of ours, so that a stream, its replay and a reload give the same ones. Their order is one
that a reader can keep who only ever adds to the end: where sub-agents work side by side, the inner ones of a
later one wait until those of an earlier one are known.
"""

import itertools
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Literal, TypeAlias, assert_never, cast

import msgspec

from roomful.domain.messages import Message, Part, PartStatus, ReasoningPart, TextPart, ToolCallPart
from roomful.domain.shape import UNSET, Json, Unset, encode_json
from roomful.domain.trails import Child, ChildCall, ChildCallStatus, ChildStatus
from roomful.recall.argument_text import ArgumentText
from roomful.recall.ui_messages import FAILED, NO_OUTCOME

_Object: TypeAlias = dict[str, Json]


class Subagent(msgspec.Struct, frozen=True):
    """One invocation: `id` is its run, where that is known here."""

    id: str
    name: str
    status: ChildStatus
    call_id: str
    parent: "Subagent | None" = None


class Called(msgspec.Struct):
    id: str
    name: str
    arguments: str
    is_open: bool = False
    metadata: Json | Unset = UNSET
    growing: ArgumentText | None = None
    """While the model still writes arguments that may be seen: what makes more text of them."""


class Said(msgspec.Struct):
    """Words, calls, or both. `content` is None where there are only calls."""

    id: str
    role: Literal["assistant", "reasoning"]
    content: str | None = None
    is_open: bool = False
    calls: list[Called] = []
    by: Subagent | None = None
    metadata: Json | Unset = UNSET


class Result(msgspec.Struct):
    id: str
    call_id: str
    content: str
    metadata: Json | Unset = UNSET
    by: Subagent | None = None


Shown: TypeAlias = Said | Result


def shown(messages: Iterable[Message]) -> Iterator[Shown]:
    """All that one run shows in a space, in order."""
    return (item for _, item in _placed(messages))


def history(messages: Sequence[Message], viewer: str | None) -> list[Json]:
    """A page of a space as AG-UI messages, for whoever looks at it."""
    order = {message.id: at for at, message in enumerate(messages)}
    placed: list[tuple[int, Json]] = []
    runs: dict[str, list[Message]] = {}
    for message in messages:
        if message.role == "user" and not message.deleted:
            placed.append((order[message.id], _user_message(message, viewer)))
        elif message.role == "assistant":
            runs.setdefault(message.run_id or message.id, []).append(message)
    for said in runs.values():
        placed += [(order[message_id], as_message(item)) for message_id, item in _placed(said)]
    in_order = [message for _, message in sorted(placed, key=lambda pair: pair[0])]
    return _with_own_ids(in_order)


def as_message(item: Shown) -> Json:
    """As it stands in AG-UI's list of messages."""
    more: dict[str, Json] = {} if item.metadata is UNSET else {"metadata": item.metadata}
    if item.by is not None:
        more["subagentRunId"] = item.by.id
    if isinstance(item, Result):
        return {"id": item.id, "role": "tool", "toolCallId": item.call_id, "content": item.content, **more}
    if item.content is not None:
        more["content"] = item.content
    if item.by is not None:
        more["name"] = item.by.name
    if item.calls:
        more["toolCalls"] = [_as_tool_call(call) for call in item.calls]
    return {"id": item.id, "role": item.role, **more}


def _as_tool_call(call: Called) -> Json:
    function = {"name": call.name, "arguments": call.arguments}
    more = {} if call.metadata is UNSET else {"metadata": call.metadata}
    return {"id": call.id, "type": "function", "function": function, **more}


def _user_message(message: Message, viewer: str | None) -> Json:
    """Under the id that its author's client gave it, who has it already."""
    about: dict[str, Json] = {} if message.entity_id == viewer else {"entityId": message.entity_id}
    if message.attachments:
        about["attachments"] = message.attachments
    more = {"metadata": {"roomful": about}} if about else {}
    id = message.client_message_id or message.id
    return {"id": id, "role": "user", "content": message.text, **more, "_own": message.id}


def _with_own_ids(messages: list[Json]) -> list[Json]:
    """Ids of clients are of no use where two chose the same."""
    seen: set[str] = set()
    for message in messages:
        own = message.pop("_own", message["id"])
        if message["id"] in seen:
            message["id"] = own
        seen.add(message["id"])
    return messages


def _placed(messages: Iterable[Message]) -> Iterator[tuple[str, Shown]]:
    """With the id of the message where each belongs. A step's sub-agents come behind all that the step said:
    they begin when it is over."""
    parts = [(message, part) for message in messages for part in message.parts]
    for _, step in itertools.groupby(parts, key=lambda pair: pair[1].step or 0):
        said = list(step)
        for message, part in said:
            yield from ((message.id, item) for item in _part(part, message.entity_id))
        last, _ = said[-1]
        calls = [part for _, part in said if isinstance(part, ToolCallPart)]
        yield from ((last.id, item) for item in _subagents(calls))


def _part(part: Part, entity_id: str) -> Iterator[Shown]:
    about: dict[str, Json] = {"entityId": entity_id}
    match part:
        case TextPart():
            yield Said(part.id, "assistant", part.text, part.status == "streaming", metadata=_roomful(about))
        case ReasoningPart():
            yield Said(part.id, "reasoning", part.text, part.status == "streaming", metadata=_roomful(about))
        case ToolCallPart():
            if part.custom_ui is not UNSET:
                about["customUI"] = part.custom_ui
            is_open = part.status == "streaming"
            growing = ArgumentText() if is_open and part.args is not UNSET else None
            args = cast("_Object", part.args)
            text = _arguments(args) if growing is None else growing.begin(args)
            call = Called(part.tool_call_id, part.tool_name, text, is_open, _roomful(about), growing)
            yield Said(part.id, "assistant", calls=[call])
            if (result := _result(part, None)) is not None:
                yield result
        case _:
            assert_never(part)


def _subagents(calls: Sequence[ToolCallPart]) -> Iterator[Shown]:
    begun: list[tuple[Child, Subagent]] = []
    for part in calls:
        if part.child is not UNSET:
            one = _subagent(part.child, part.tool_call_id, None)
            begun.append((part.child, one))
            yield from _inside(part.child, one)
        elif part.agent_id is not UNSET and part.status in ("streaming", "ready", "running", "waiting"):
            return
    for child, one in begun:
        if not (yield from _below(child, one)):
            return


def _below(child: Child, one: Subagent) -> Generator[Shown, None, bool]:
    """Those that a sub-agent asked itself. Gives whether these are all."""
    for call in child.calls or []:
        if call.child is UNSET:
            if call.status == "running":
                return False
            continue
        inner = _subagent(call.child, call.tool_call_id, one)
        yield from _inside(call.child, inner)
        if not (yield from _below(call.child, inner)):
            return False
    return child.status != "running"


def _subagent(child: Child, call_id: str, parent: Subagent | None) -> Subagent:
    return Subagent(child.run_id or call_id, child.name, child.status, call_id, parent)


def _inside(child: Child, one: Subagent) -> Iterator[Shown]:
    """One message with the sub-agent's words and calls; behind it the results, in the order of the calls."""
    calls = child.calls or []
    called = [Called(call.tool_call_id, call.tool_name, _arguments(call.args)) for call in calls]
    yield Said(f"{one.id}.said", "assistant", child.text, child.status == "running", called, one)
    for call in calls:
        result = _result(call, one)
        if result is None:
            return
        yield result


def _arguments(args: Json | Unset) -> str:
    if args is UNSET:
        return ""
    if not isinstance(args, dict):
        return encode_json(args).decode()
    text = ArgumentText()
    return text.begin(cast("_Object", args)) + text.end()


def _result(call: ToolCallPart | ChildCall, by: Subagent | None) -> Result | None:
    """None while there is none."""
    status: PartStatus | ChildCallStatus = call.status
    id = f"{call.tool_call_id}.result"
    if status == "complete":
        return Result(id, call.tool_call_id, _as_text(call.result), by=by)
    if status not in ("error", "canceled", "unknown"):
        return None
    why = call.error or NO_OUTCOME.get(status, FAILED)
    content = encode_json({"error": why}).decode()
    return Result(id, call.tool_call_id, content, _roomful({"status": status}), by)


def _as_text(result: Json | Unset) -> str:
    if result is UNSET:
        return ""
    return result if isinstance(result, str) else encode_json(result).decode()


def _roomful(about: Json) -> Json:
    return {"roomful": about}
