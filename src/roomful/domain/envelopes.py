"""The envelope that agents put around what they say to each other, and the topics it travels on."""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal, Protocol, Self, cast

import msgspec

from roomful.domain.entities import EntityKind
from roomful.domain.shape import Json, encode_json


def chat_topic(name: str) -> str:
    """Where a conversation, or an agent, is written to."""
    return f"chat:{name}"


def stream_topic(conversation_id: str) -> str:
    """Where what happens in a conversation can be followed."""
    return f"stream:{conversation_id}"


def dead_letter_topic(conversation_id: str) -> str:
    """Where what was written to a conversation in vain is kept."""
    return f"dlq:{conversation_id}"


def address(kind: EntityKind | Literal["admin"], entity_id: str) -> str:
    """What an envelope calls somebody."""
    return f"agent:{entity_id}" if kind == "agent" else f"user:{entity_id}"


def _new_id() -> str:
    return str(uuid.uuid4())


def _now() -> datetime:
    return datetime.now(UTC)


class MessageEnvelope(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One addressed message. Made here it gets its id and time; read from JSON it has every field.

    The methods have the names that the users of such envelopes know from Pydantic.
    """

    id: str = msgspec.field(default_factory=_new_id)
    conversation_id: str
    sender: str
    recipient: str
    type: Literal["message", "control"] = "message"
    content: str | None = None
    metadata: dict[str, Json] = msgspec.field(default_factory=dict[str, Any])
    created_at: datetime = msgspec.field(default_factory=_now)

    def __post_init__(self) -> None:
        if self.created_at.tzinfo is None:
            raise ValueError("created_at has no time zone")
        try:
            at = self.created_at.astimezone(UTC)
        except OverflowError:
            raise ValueError("created_at is before the first year or after the last one") from None
        msgspec.structs.force_setattr(self, "created_at", at)

    def model_dump(self, *, mode: Literal["json", "python"] = "python") -> dict[str, Json]:
        """`json` writes the time as UTC ISO 8601; `python` leaves it a datetime."""
        return msgspec.to_builtins(self, builtin_types=(datetime,) if mode == "python" else ())

    def model_dump_json(self) -> str:
        return encode_json(self).decode()

    @classmethod
    def model_validate(cls, payload: Json) -> Self:
        """ValueError names the fields that are unknown, missing or wrong."""
        if not isinstance(payload, dict):
            raise ValueError("An envelope is a JSON object.")
        given, known = cast("dict[str, Json]", payload).keys(), cls.__struct_fields__
        if unknown := sorted(given - set(known)):
            raise ValueError(f"An envelope has no field {', '.join(unknown)}.")
        if missing := [name for name in known if name not in given]:
            raise ValueError(f"The envelope lacks {', '.join(missing)}.")
        try:
            return msgspec.convert(payload, cls)
        except msgspec.ValidationError as error:
            raise ValueError(f"The envelope is wrong: {error}.") from None

    @classmethod
    def model_validate_json(cls, text: str | bytes) -> Self:
        try:
            payload = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise ValueError(f"The envelope is not JSON: {error}.") from None
        return cls.model_validate(payload)


class Delivery(msgspec.Struct, frozen=True):
    """Something that was published on a topic: an envelope, or what somebody took for one."""

    topic: str
    id: str
    payload: dict[str, Json]


class Topics(Protocol):
    """The bus of agents outside, as the gateway uses it.

    What was received is received again, here or by another gateway, until it is done. Order: by topic, as
    published, as long as nothing has to be received again. Errors: Unavailable when the bus does not answer;
    what was published then may be there or not.
    """

    async def receive(self, topics: Sequence[str]) -> list[Delivery]:
        """What was published on these topics and nobody works on. Waits for it, a second at the most."""
        ...

    async def done(self, delivery: Delivery) -> None:
        """Nobody receives this one again."""
        ...

    async def publish(self, messages: Sequence[tuple[str, bytes]], forget: Sequence[str] = ()) -> None:
        """Topics, and what to put there: JSON objects, in this order. The topics to forget are emptied
        first, so that nobody's cursor there is known any more."""
        ...

    async def close(self) -> None: ...
