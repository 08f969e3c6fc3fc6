"""Query parameters: declared like bodies, refused by name when unknown, and never a place for a token."""

import functools
from typing import Annotated, TypeVar
from urllib.parse import parse_qsl

import msgspec

from roomful.domain.errors import Invalid, Unauthorized
from roomful.domain.shape import clean_text
from roomful.web.auth import SECRETS_IN_QUERIES

Q = TypeVar("Q", bound="Query")

Seq = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Limit = Annotated[int, msgspec.Meta(ge=1, le=200)]
SHORT = 64
KNOWN = 512
"""So many short queries are read once: what they say does not change."""


class Query(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """The parameters that a route knows."""


class NoQuery(Query, frozen=True):
    pass


@functools.cache
def _names(type: type[Query]) -> frozenset[str]:
    return frozenset(field.encode_name for field in msgspec.structs.fields(type))


def read_query(query_string: bytes, type: type[Q]) -> Q:
    read = _read_again if len(query_string) <= SHORT else _read
    return read(query_string, type)


def _read(query_string: bytes, type: type[Q]) -> Q:
    values: dict[str, str] = {}
    for name, value in parse_qsl(query_string.decode("latin-1"), keep_blank_values=True):
        if name.lower() in SECRETS_IN_QUERIES:
            raise Unauthorized("a token in an address ends up in logs: send it as Authorization: Bearer")
        if name in values:
            raise Invalid(f"the parameter {name[:80]!r} is given twice")
        values[name] = clean_text(value)
    if unknown := values.keys() - _names(type):
        raise Invalid(f"there is no parameter {min(unknown)[:80]!r} here")
    try:
        return msgspec.convert(values, type, strict=False)
    except msgspec.ValidationError as error:
        raise Invalid(f"in the address: {error}") from None


_read_again = functools.lru_cache(maxsize=KNOWN)(_read)
