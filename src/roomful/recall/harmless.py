"""JSON that a careful JavaScript reader takes. The AI SDK ends a stream in which an object has a key that
could reach a prototype: what a model, a tool or a person put there is left out, live and after a reload."""

from collections.abc import Sequence
from typing import cast

from roomful.domain.arguments import Op, unpointer
from roomful.domain.shape import Json, decode_json, encode_json

_PROTO = "__proto__"
_SUSPECT = (b'"__proto__"', b'"prototype"')


def harmless_json(value: Json) -> bytes:
    """The value is looked at only where its text shows that there may be something."""
    data = encode_json(value)
    if not any(suspect in data for suspect in _SUSPECT):
        return data
    return encode_json(harmless(decode_json(data)))


def harmless(value: Json, *, is_constructor: bool = False) -> Json:
    if isinstance(value, list):
        return [harmless(item) for item in cast("list[Json]", value)]
    if not isinstance(value, dict):
        return value
    return {
        key: harmless(item, is_constructor=key == "constructor")
        for key, item in cast("dict[str, Json]", value).items()
        if key != _PROTO and not (is_constructor and key == "prototype")
    }


def harmless_ops(ops: Sequence[Op]) -> list[Op]:
    kept: list[Op] = []
    for kind, path, value in ops:
        [key] = unpointer(path)
        if key != _PROTO:
            kept.append((kind, path, harmless(value, is_constructor=key == "constructor")))
    return kept
