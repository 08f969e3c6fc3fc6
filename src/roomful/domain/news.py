"""What the processes of one deployment tell each other: what each announced, how far it has come, and what
the others have to do about it. A closed union; a parcel holds what one process has to say on one channel."""

from collections.abc import Sequence
from typing import Any, TypeAlias, dataclass_transform, get_args

import msgspec

from roomful.domain.events import Announcement, CallInput, SpaceEvent
from roomful.domain.messages import Message
from roomful.domain.shape import encode_json


@dataclass_transform(frozen_default=True)
class _News(msgspec.Struct, frozen=True, array_like=True, tag_field="kind"):
    pass


class Told(_News, tag="told"):
    """An announcement, and the number of the batch of commits that it came with; 0 when it came alone."""

    event_kind: int
    event: msgspec.Raw
    space_id: str
    run_id: str | None
    audience: str | None
    opens: bool
    batch: int


class TookUp(_News, tag="took_up"):
    """From now on this message grows where the sender is."""

    message: msgspec.Raw


class LetGo(_News, tag="let_go"):
    """The message does not grow any more: its row holds everything."""

    space_id: str
    message_id: str


class Disowned(_News, tag="disowned"):
    """The message was taken from the sender while it grew there. Whether it grows elsewhere, others know."""

    space_id: str
    message_id: str


class Asks(_News, tag="asks"):
    """What grows in these spaces where you are? And from now on tell of these runs."""

    number: int
    space_ids: list[str]
    run_ids: list[str]


class Grows(_News, tag="grows"):
    """All that grows in a space where the sender is, for the one who asked."""

    to: str
    space_id: str
    messages: list[msgspec.Raw]


class Answered(_News, tag="answered"):
    """Everything that was asked has been answered."""

    to: str
    number: int


class Hello(_News, tag="hello"):
    """The sender is connected. Unless it is new, something that it told before may be lost."""

    is_new: bool


class Reached(_News, tag="reached"):
    """Whatever the sender wrote up to this batch has been told."""

    number: int


class Follows(_News, tag="follows"):
    """Runs that somebody still watches where the sender is."""

    run_ids: list[str]


class Look(_News, tag="look"):
    """There may be a run that nobody drives."""


class Taken(_News, tag="taken"):
    """The sender took this run from whoever drove it, with a lease of this number."""

    run_id: str
    fence: int


class Moved(_News, tag="moved"):
    """Somebody came into a space, or left it."""

    entity_id: str
    space_id: str
    is_in: bool


class Revoked(_News, tag="revoked"):
    """One token of an entity has ended, or all of them."""

    entity_id: str
    token_id: str | None


class Removed(_News, tag="removed"):
    """A space is gone."""

    space_id: str


class Behind(_News, tag="behind"):
    """Something that others told may have been missed here. Never sent: a process tells it itself."""


News: TypeAlias = (
    Told
    | TookUp
    | LetGo
    | Disowned
    | Asks
    | Grows
    | Answered
    | Hello
    | Reached
    | Follows
    | Look
    | Taken
    | Moved
    | Revoked
    | Removed
    | Behind
)


class Parcel(msgspec.Struct, frozen=True, array_like=True):
    sender: str
    news: list[News]


_KINDS: tuple[Any, ...] = get_args(SpaceEvent)
_NUMBERS = {kind: number for number, kind in enumerate(_KINDS)}
_DECODERS = [msgspec.json.Decoder(kind) for kind in _KINDS]
decode_message = msgspec.json.Decoder(Message).decode
_decode_parcel = msgspec.json.Decoder(Parcel).decode


def told(announcement: Announcement, batch: int) -> Told:
    event = announcement.event
    body = {"toolCallId": event.tool_call_id, "ops": event.ops} if isinstance(event, CallInput) else event
    return Told(
        event_kind=_NUMBERS[type(event)],
        event=msgspec.Raw(encode_json(body)),
        space_id=announcement.space_id,
        run_id=announcement.run_id,
        audience=announcement.audience,
        opens=announcement.opens,
        batch=batch,
    )


def announcement_of(news: Told) -> Announcement:
    """As it was told. What only its sender needs to encode it is left out."""
    return Announcement(
        event=_DECODERS[news.event_kind].decode(news.event),
        space_id=news.space_id,
        run_id=news.run_id,
        audience=news.audience,
        opens=news.opens,
    )


def as_it_stands(message: Message) -> msgspec.Raw:
    return msgspec.Raw(encode_json(message))


def encode_parcel(sender: str, news: Sequence[News]) -> bytes:
    return encode_json(Parcel(sender, list(news)))


def decode_parcel(data: bytes) -> Parcel:
    """Raises msgspec.MsgspecError for what no process of this version wrote."""
    return _decode_parcel(data)
