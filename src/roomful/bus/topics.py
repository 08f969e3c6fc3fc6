"""Messages by topic: the synchronous port of agents outside the gateway. What the gateway itself announces to
its readers goes another way, `roomful.domain.ports.Bus`."""

import re
from typing import Any, Protocol, TypeAlias

import msgspec

from roomful.domain.shape import Json, encode_json

START = "0-0"
"""A cursor before every message: what is kept is read from its oldest on."""
KEPT = 10_000
"""How many messages a topic keeps, unless its bus was told otherwise."""
LARGEST = 1024 * 1024
"""Bytes of a payload as JSON."""

Cursor: TypeAlias = tuple[int, int]

_ID = re.compile(r"([0-9]{1,20})-([0-9]{1,20})")
_LAST_NUMBER = 2**64 - 1
_decode_object = msgspec.json.Decoder(dict[str, Any]).decode


class BusMessage(msgspec.Struct, frozen=True):
    """`payload` is a JSON object, often an envelope. The bus gives the `id`, which is also a cursor."""

    topic: str
    payload: dict[str, Json]
    id: str | None = None


class Bus(Protocol):
    """Keeps the newest messages of each topic, up to a bound.

    Order: every reader sees a topic in the order of its publishing, which is that of the ids. Atomicity: a
    message is there whole or not at all; two topics are two messages. Loss: a cursor whose message is no
    longer kept is refused, so nobody skips messages unknowingly. Threads may share a bus. Errors: ValueError
    for what is asked wrongly, Unavailable when the bus does not answer; what was published then may be there
    or not.
    """

    def publish(self, topic: str, message: BusMessage) -> str:
        """Puts the message behind all others of the topic and answers with its id."""
        ...

    def read(self, topic: str, last_id: str | None = None, limit: int = 100) -> list[BusMessage]:
        """The first `limit` messages after `last_id`; without one the last `limit`; always oldest first.

        ValueError when `last_id` is malformed, of a message that is no longer kept, or beyond the end.
        """
        ...

    def read_blocking(
        self, topic: str, last_id: str | None = None, limit: int = 100, block_ms: int = 1000
    ) -> list[BusMessage]:
        """The same, but when there is nothing yet it waits for it; empty after `block_ms` milliseconds."""
        ...


def encode_message(topic: str, message: BusMessage) -> bytes:
    """The payload, if it may be published."""
    if not topic:
        raise ValueError("A topic has a name.")
    if message.topic != topic:
        raise ValueError(f"The message is for {message.topic!r} and cannot be published on {topic!r}.")
    try:
        payload = encode_json(message.payload)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"The payload cannot be written as JSON: {error}.") from None
    if len(payload) > LARGEST:
        raise ValueError(f"The payload has {len(payload)} bytes as JSON; {LARGEST} are allowed.")
    return payload


def decode_payload(payload: bytes) -> dict[str, Json]:
    return _decode_object(payload)


def check_read(last_id: str | None, limit: int, block_ms: int = 0) -> Cursor | None:
    """Where to read from; None is at the last messages."""
    if limit < 1:
        raise ValueError(f"limit is {limit} and has to be 1 or more.")
    if block_ms < 0:
        raise ValueError(f"block_ms is {block_ms} and has to be 0 or more.")
    return None if last_id is None else parse_id(last_id)


def parse_id(text: str) -> Cursor:
    found = _ID.fullmatch(text)
    cursor = (int(found[1]), int(found[2])) if found else None
    if cursor is None or max(cursor) > _LAST_NUMBER:
        raise ValueError(f"{text[:80]!r} is not the id of a message: those look like 1700000000000-0.")
    return cursor


def format_id(cursor: Cursor) -> str:
    return f"{cursor[0]}-{cursor[1]}"


def check_length(max_length: int) -> int:
    if max_length < 1:
        raise ValueError(f"max_length is {max_length} and has to be 1 or more.")
    return max_length


def no_such_message(topic: str, cursor: Cursor, ends: tuple[Cursor, Cursor] | None) -> ValueError:
    """Says what is wrong with a cursor that names no message of the topic; `ends` are its first and last."""
    text = format_id(cursor)
    if ends is None or cursor > ends[1]:
        return ValueError(
            f"{text} is beyond the end of {topic}: the bus lost messages, or the id is another's."
        )
    if cursor < ends[0]:
        return ValueError(
            f"{text} is no longer kept on {topic}: messages may be missed; read without last_id."
        )
    return ValueError(f"{text} is the id of no message on {topic}.")
