"""The check of a value against a schema, in words that a model can act on.

Patterns are matched in linear time, which look-around and back-references do not allow: a schema with such
a pattern does not compile. Nothing is ever fetched. Whether a value fits is found in bounded time; why it
does not is looked for only as far as that stays so.
"""

from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import jsonschema_rs

from roomful.domain.shape import Json, decode_json, encode_json
from roomful.tools.reading import as_list, as_object, children_of
from roomful.tools.unfolding import Unfolded, unfold

_LINEAR = jsonschema_rs.RegexOptions(size_limit=1 << 20, dfa_size_limit=1 << 20)
_MOST_ERRORS = 5
_LONGEST_ERROR = 300
_UNFIT = "the value is not as its schema says"
_SIMPLE = 1000
"""A larger schema is not asked for its errors: with every level of choices it takes twice as long."""
_MOST_WORK = 20_000
"""All errors are looked for only in a small value: the library finds every one before it tells the first."""


class Compiled(NamedTuple):
    validator: jsonschema_rs.Draft202012Validator
    unfolded: Unfolded


@lru_cache(maxsize=512)
def compiled(schema: bytes) -> Compiled:
    value = decode_json(schema)
    validator = jsonschema_rs.Draft202012Validator(
        value, retriever=_refuse_to_fetch, pattern_options=_LINEAR, mask="the value"
    )
    return Compiled(validator, unfold(value))


def errors_of(schema: dict[str, Json], value: Json) -> list[str]:
    """The first few places where a value is not as the schema says, each with what was expected there."""
    validator, unfolded = compiled(encode_json(schema))
    try:
        if validator.is_valid(value):
            return []
        if unfolded.is_endless or unfolded.size > _SIMPLE:
            return _roughly(schema, value)
        if _is_within(value, _MOST_WORK // unfolded.size):
            return [_told(error) for error in islice(validator.iter_errors(value), _MOST_ERRORS)]
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return [_told(error)]
    except ValueError as error:
        return [_short(f"the value cannot be checked: {error}")]
    return []


def _roughly(schema: dict[str, Json], value: Json) -> list[str]:
    """Which argument is wrong, without the places inside it."""
    given = as_object(value) or {}
    properties = as_object(schema.get("properties")) or {}
    missing = [name for name in as_list(schema.get("required")) or [] if name not in given]
    errors = [f'"{name}" is a required property' for name in missing]
    parts = {key: schema[key] for key in ("$defs", "definitions", "properties") if key in schema}
    try:
        fits = compiled(encode_json(parts)).validator.is_valid
    except jsonschema_rs.ValidationError:  # a reference to one of the other parts
        return errors or [_UNFIT]
    for name, item in given.items():
        if name in properties and not fits({name: item}):
            errors.append(f"{name}: {_UNFIT}")
        elif name not in properties and schema.get("additionalProperties") is False:
            errors.append(f"{name} was unexpected")
        if len(errors) >= _MOST_ERRORS:
            break
    return [_short(error) for error in errors[:_MOST_ERRORS]] or [_UNFIT]


def _told(error: jsonschema_rs.ValidationError) -> str:
    message = error.message
    if isinstance(error.kind, _BRANCHING):
        branches = [branch[0].message for branch in error.kind.context[:4] if branch]
        message = " or ".join(branches) or message
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path)
    text = f"{path.lstrip('.')}: {message}" if path else message
    return _short(text)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_ERROR else text[: _LONGEST_ERROR - 1] + "…"


_BRANCHING = (jsonschema_rs.ValidationErrorKind.AnyOf, jsonschema_rs.ValidationErrorKind.OneOfNotValid)


def _is_within(value: Json, most: int) -> bool:
    """Whether there are so few values in it."""
    count, waiting = 0, [value]
    while waiting and count <= most:
        count += 1
        waiting.extend(children_of(waiting.pop()))
    return count <= most


def _refuse_to_fetch(uri: str) -> Json:
    raise ValueError(f"nothing is fetched: {uri}")
