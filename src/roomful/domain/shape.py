"""How nouns are written on the wire: camelCase, absent when unset; and what may stand in a text or an id."""

import re
from typing import Any, TypeAlias, cast, dataclass_transform

import msgspec

from roomful.domain.errors import Invalid

Json: TypeAlias = Any
"""A value made of dict, list, str, int, float, bool and None only."""

UNSET = msgspec.UNSET
Unset: TypeAlias = msgspec.UnsetType

ID_PATTERN = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
_ID = re.compile(ID_PATTERN)
_DIRT = re.compile("[\x00\ud800-\udfff]")


class Noun(msgspec.Struct, rename="camel"):
    """A thing with a place on the wire."""


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class Frozen(msgspec.Struct, rename="camel", frozen=True):
    """A noun that never changes once made."""


encode_json = msgspec.json.Encoder().encode
decode_json = msgspec.json.Decoder().decode


def check_id(value: str, what: str = "id") -> str:
    if not _ID.fullmatch(value):
        raise Invalid(
            f"{what} {value[:80]!r} is not an id: use 1 to 64 of A-Z a-z 0-9 _ . - "
            "and begin with a letter or a digit"
        )
    return value


def clean_text(text: str) -> str:
    """Without NUL and lone surrogates, which neither the store nor every reader can hold."""
    return _DIRT.sub("\ufffd", text) if _DIRT.search(text) else text


def clean_json(value: Json) -> Json:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [clean_json(item) for item in cast("list[Json]", value)]
    if isinstance(value, dict):
        fields = cast("dict[str, Json]", value)
        return {clean_text(key): clean_json(item) for key, item in fields.items()}
    return value
