"""The other end of the wire: bytes as the events and errors that they tell of."""

from typing import Any, TypeAlias, cast, get_args

import msgspec

from roomful.domain.answers import Snapshot
from roomful.domain.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    OverBound,
    RateLimited,
    RoomfulError,
    TooLarge,
    Unauthorized,
    Unavailable,
)
from roomful.domain.events import CallCompleted, RunChanged, SpaceEvent
from roomful.domain.runs import RunStatus
from roomful.domain.shape import Json, Noun

_BEGUN = ("queued", "running")
_LONGEST_SHORT = 4096
"""An event that was too large for the wire is told of in fewer bytes than this."""


class Draining(Noun):
    """The server ends this stream because it stops; come back later."""

    retry_ms: int = 1000


class Truncated(Noun):
    """An event was too large for the wire. At `url` is what it is about, as it is now."""

    truncated: bool = False
    url: str = ""


Told: TypeAlias = SpaceEvent | Snapshot | Draining | Truncated


def _names() -> dict[str, Any]:
    kinds: dict[str, Any] = {kind.type: kind for kind in get_args(SpaceEvent) if kind is not RunChanged}
    kinds |= {f"run.{status}": RunChanged for status in get_args(RunStatus) if status not in _BEGUN}
    kinds |= {"run.started": RunChanged, "tool-call.result": CallCompleted}
    return kinds | {"snapshot": Snapshot, "draining": Draining}


_DECODERS: dict[str, msgspec.json.Decoder[Told]] = {
    name: msgspec.json.Decoder(kind) for name, kind in _names().items()
}
_short = msgspec.json.Decoder(Truncated)
_any = msgspec.json.Decoder()


def read_event(name: str, data: bytes) -> Told | None:
    """None for an event that this version does not know: a newer server may tell of more. Arguments are
    understood as operations."""
    decoder = _DECODERS.get(name)
    if decoder is None:
        return None
    try:
        if len(data) < _LONGEST_SHORT and b'"truncated"' in data and (short := _short.decode(data)).truncated:
            return short
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"the server sent a {name!r} that cannot be read: {error}", malformed=True) from None


_BY_CODE: dict[str, type[RoomfulError]] = {
    kind.code: kind
    for kind in (Invalid, Unauthorized, Forbidden, NotFound, Conflict, TooLarge, RateLimited, Unavailable)
}
_BY_STATUS: dict[int, type[RoomfulError]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    422: Invalid,
    429: RateLimited,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


def read_problem(status: int, body: bytes, retry_after: float = 1.0) -> RoomfulError:
    """An answer that is not what was asked for, as the error it tells of. What stands before a gateway does
    not write problem JSON: then the status alone counts."""
    told = _told(body)
    code, detail = told.get("code"), told.get("detail")
    kind = _BY_CODE.get(str(code)) or _BY_STATUS.get(status) or RoomfulError
    words = str(detail) if detail else f"the server answered with HTTP {status}"
    error: RoomfulError
    if code == OverBound.code:
        error = OverBound("", words)
    elif kind is Conflict:
        error = Conflict(words, told.get("outcome"))
    elif kind is RateLimited:
        error = RateLimited(words, retry_after)
    elif kind is Invalid:
        error = Invalid(words, malformed=status == 400)
    else:
        error = kind(words)
    error.status = status
    return error


def _told(body: bytes) -> dict[str, Json]:
    try:
        told = _any.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return cast("dict[str, Json]", told) if isinstance(told, dict) else {}
