"""Request bodies: bounded while they are read, decoded once, cleaned of what no store can hold."""

import asyncio
import functools
import json
import re
from typing import Any, TypeVar

import msgspec
from starlette.datastructures import Headers
from starlette.types import Receive

from roomful.domain.errors import Invalid, TooLarge
from roomful.domain.shape import Json, clean_json
from roomful.web.problems import Refused

BODY_LIMIT = 1024 * 1024
HISTORY_LIMIT = 8 * BODY_LIMIT
"""For clients that send all that was said each time."""
NESTING_LIMIT = 64
BODY_SECONDS = 30.0

T = TypeVar("T")

_DIRTY = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
"""Escapes of NUL and of surrogates, paired or not."""
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
"""It never steps back: otherwise every character of a string would have to be remembered."""
_BRACKET = re.compile(rb"[\[\]{}]")


class Gone(Exception):
    """The client left before it had said everything."""


async def read_body(headers: Headers, receive: Receive, limit: int = BODY_LIMIT) -> bytes:
    _check_type(headers)
    return await read_bytes(headers, receive, limit, BODY_SECONDS)


def length_of(headers: Headers, unknown: int) -> int:
    length = headers.get("content-length", "")
    return int(length) if length.isdecimal() and len(length) < 20 else unknown


async def read_bytes(headers: Headers, receive: Receive, limit: int, seconds: float) -> bytes:
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Refused(415, "send the body as it is, without content-encoding")
    if length_of(headers, 0) > limit:
        raise _too_large(limit)
    pieces: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Gone
                piece: bytes = message.get("body", b"")
                size += len(piece)
                if size > limit:
                    raise _too_large(limit)
                pieces.append(piece)
                if not message.get("more_body", False):
                    return b"".join(pieces)
    except TimeoutError:
        detail = f"the body did not arrive within {seconds:g} seconds"
        raise Refused(408, detail, {"connection": "close"}) from None


def decode_body(data: bytes, type: type[T]) -> T:
    if not data:
        raise Invalid("the body is empty: send JSON", malformed=True)
    _check_nesting(data)
    try:
        if _DIRTY.search(data):
            return msgspec.convert(_clean(data), type)
        return _decoder(type).decode(data)
    except msgspec.ValidationError as error:
        raise Invalid(str(error)) from None
    except (ValueError, RecursionError) as error:
        raise Invalid(f"the body is not JSON: {error}", malformed=True) from None


def _check_type(headers: Headers) -> None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("", "application/json"):
        raise Refused(415, f"send application/json, not {kind[:80]}")


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body is larger than {limit} bytes")


def _check_nesting(data: bytes) -> None:
    if data.count(b"[") + data.count(b"{") <= NESTING_LIMIT:
        return
    depth = 0
    for bracket in _BRACKET.finditer(_STRING.sub(b"", data)):
        depth += 1 if bracket.group() in b"[{" else -1
        if depth > NESTING_LIMIT:
            raise Invalid(f"the body is nested more than {NESTING_LIMIT} deep", malformed=True)


def _clean(data: bytes) -> Json:
    return clean_json(json.loads(data.decode(), parse_constant=_refuse, parse_float=_finite))


def _refuse(constant: str) -> Json:
    raise ValueError(f"{constant} is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError("a number is out of range")
    return number


@functools.cache
def _decoder(type: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type)
