"""Events as bytes. Each is encoded once per form, and every reader of that form gets the same bytes."""

from collections.abc import Sequence
from typing import Final

import msgspec

from roomful.domain.arguments import Growth, Op
from roomful.domain.events import WORDS, Announcement, CallCompleted, CallInput, SpaceEvent, TextDelta
from roomful.domain.shape import Json, encode_json

EVENT_LIMIT = 256 * 1024


class Form:
    """How a reader wants events: arguments as operations, the older event names, several spaces in one. Plain
    numbers to be added up: every event asks for them several times."""

    PLAIN: Final = 0
    OPS: Final = 1
    V1: Final = 2
    MANY: Final = 4


class _Ops(msgspec.Struct, rename="camel", gc=False):
    tool_call_id: str
    ops: Sequence[Op]


_MATTERS: dict[type, int] = {
    CallInput: Form.OPS | Form.MANY,
    TextDelta: Form.MANY,
    CallCompleted: Form.V1,
}
"""What of a form makes a difference to an event. Every other event is the same in all of them."""


def event_name(event: SpaceEvent, form: int) -> str:
    if form & Form.V1 and isinstance(event, CallCompleted):
        return "tool-call.result"
    return event.type


def event_data(event: SpaceEvent, form: int, space_id: str) -> bytes:
    data = _whole(event, form, space_id)
    return data if len(data) <= EVENT_LIMIT else _truncated(event, space_id)


def frame(announcement: Announcement, form: int) -> bytes:
    """The event and data lines of one SSE frame, without its id and without the closing blank line."""
    event, space_id, encoded = announcement.event, announcement.space_id, announcement.encoded
    form &= _MATTERS.get(type(event), Form.PLAIN)
    if encoded and (known := encoded.get(form) or encoded.get((form, space_id))) is not None:
        return known
    if form == Form.OPS and space_id and isinstance(event, CallInput):  # By far the most of what is sent.
        data = encode_json(_Ops(event.tool_call_id, event.ops))
    else:
        data = _whole(event, form, space_id)
    names_space = form & Form.MANY or len(data) > EVENT_LIMIT
    if len(data) > EVENT_LIMIT:
        data = _truncated(event, space_id)
    name = event.type if form != Form.V1 else event_name(event, form)
    made = b"event: %b\ndata: %b\n" % (name.encode(), data)
    if encoded is not None:
        encoded[(form, space_id) if names_space else form] = made
    return made


def growth_frame(growth: Growth, form: int) -> tuple[bytes, bytes] | None:
    """What is before and behind the text, as JSON, in the frames of more of one argument. None in a form that
    tells arguments whole, or names the space."""
    if form & _MATTERS[CallInput] != Form.OPS:
        return None
    told = _Ops(growth.call_id, (("append", growth.path, ""),))
    whole = b"event: %b\ndata: %b\n" % (CallInput.type.encode(), encode_json(told))
    before, _, behind = whole.rpartition(b'""')
    return before, behind


def one_frame(name: str, data: bytes, position: str | None = None) -> bytes:
    head = f"id: {position}\n".encode() if position else b""
    return head + b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


def _whole(event: SpaceEvent, form: int, space_id: str) -> bytes:
    body: Json = event
    if isinstance(event, CallInput):
        if form & Form.OPS or event.so_far is None:
            body = _Ops(event.tool_call_id, event.ops)
        else:
            body = {"toolCallId": event.tool_call_id, "partialArgs": event.so_far.at(event.mark)}
    if not space_id:
        return encode_json(_of_no_space(body))
    data = encode_json(body)
    if form & Form.MANY and isinstance(event, WORDS):
        return b'{"spaceId":' + encode_json(space_id) + b"," + data[1:]
    return data


def _truncated(event: SpaceEvent, space_id: str) -> bytes:
    return encode_json({"truncated": True, "spaceId": space_id, "url": _url(event, space_id)})


def _of_no_space(body: Json) -> Json:
    """On a run's own stream: what has no space has no message and no part there either."""
    return {name: value for name, value in msgspec.to_builtins(body).items() if value != ""}


def _url(event: SpaceEvent, space_id: str) -> str:
    message_id = getattr(event, "message_id", None)
    if message_id is None and (message := getattr(event, "message", None)) is not None:
        message_id = message.id
    if not space_id:
        return f"/api/runs/{getattr(event, 'run_id', '')}"
    path = f"/api/spaces/{space_id}/messages"
    return f"{path}/{message_id}" if message_id else path


def problem(title: str, status: int, detail: str, code: str, **more: Json) -> bytes:
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, "code": code}
    return msgspec.json.encode(body | more)
