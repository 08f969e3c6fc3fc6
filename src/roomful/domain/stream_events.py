"""What happens in a conversation, in the four words that agents outside know. A closed union."""

from typing import TypeAlias

import msgspec

from roomful.domain.shape import UNSET, Json, Unset, encode_json

LARGEST = 256 * 1024
"""Bytes of an event as JSON."""


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    conversation_id: str
    message_id: str
    sender: str | Unset = UNSET


class UserMessage(_Event, frozen=True, tag="user_message"):
    """Somebody said something: a person, a service, or an agent outside."""

    text: str
    created_at: str


class Token(_Event, frozen=True, tag="token"):
    """An agent of the house goes on. `index` is where the text begins in its part."""

    text: str
    index: int


class ToolStep(_Event, frozen=True, tag="tool_step"):
    """A call as the space sees it: once when it is made, once more with what became of it."""

    tool_call_id: str
    name: str
    args: dict[str, Json]
    result_summary: str | Unset = UNSET


class Output(_Event, frozen=True, tag="output"):
    """A message of an agent of the house is complete. `text` is all of its words."""

    text: str
    created_at: str


StreamEvent: TypeAlias = UserMessage | Token | ToolStep | Output


def event_name(event: StreamEvent) -> str:
    return str(event.__struct_config__.tag)


def encode_event(event: StreamEvent) -> bytes:
    """As JSON; of one that is too large, only where it can be read."""
    data = encode_json(event)
    if len(data) <= LARGEST:
        return data
    short = {"event": event_name(event), "conversation_id": event.conversation_id}
    return encode_json({**short, "message_id": event.message_id, "truncated": True})
