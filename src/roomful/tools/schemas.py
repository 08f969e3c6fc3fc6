"""What an author may write as a schema, and what a schema knows of."""

from collections.abc import Iterator, Sequence

import jsonschema_rs

from roomful.domain.shape import Json, encode_json
from roomful.tools.checking import compiled
from roomful.tools.reading import as_list, as_object, children_of, did_you_mean, kind_of, one_of
from roomful.tools.unfolding import REFERENCES, inner_schemas, resolve, unfold

DEEPEST = 64
LONGEST_PATTERN = 512
LARGEST_SCHEMA = 256 * 1024
MOST_UNFOLDED = 20_000

_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
_DEFINED = ("$defs", "definitions")


def wrong_schema(schema: Json) -> str | None:
    """What is wrong with a schema, or None."""
    if depth_of(schema) > DEEPEST:
        return f"is nested more than {DEEPEST} deep: write a flatter schema"
    if len(encode_json(schema)) > LARGEST_SCHEMA:
        return f"is larger than {LARGEST_SCHEMA // 1024} KiB: write a smaller schema"
    for path, part in _walk(schema, ""):
        wrong = _wrong_part(part)
        if wrong:
            return f"{path or 'at its root'}: {wrong}"
    unfolded = unfold(schema)
    if unfolded.lost:
        return f"has {unfolded.lost}"
    if unfolded.size > MOST_UNFOLDED:
        return "has references that multiply without end: write fewer of them"
    try:
        compiled(encode_json(schema))
    except (jsonschema_rs.ValidationError, ValueError) as error:
        return _not_a_schema(error, schema)
    return None


def wrong_object_schema(schema: Json) -> str | None:
    """The same for the arguments of a tool, which are always an object."""
    root = as_object(schema)
    if root is None:
        return 'is not an object: write {"type": "object", "properties": {…}}'
    if root.get("type", "object") != "object":
        return 'describes no object: write "type": "object", since a tool takes named arguments'
    return wrong_schema(schema)


def as_object_schema(schema: dict[str, Json]) -> dict[str, Json]:
    """With the type, which an author may leave out."""
    return {"type": "object", **schema}


def depth_of(value: Json) -> int:
    """How deep lists and objects are nested; stops counting a little above the bound."""
    deepest, waiting = 0, [(value, 1)]
    while waiting and deepest <= DEEPEST:
        item, depth = waiting.pop()
        if isinstance(item, (dict, list)):
            deepest = max(deepest, depth)
            waiting.extend((child, depth + 1) for child in children_of(item))  # pyright: ignore[reportUnknownArgumentType]
    return deepest


def declared(schema: dict[str, Json]) -> set[str]:
    """Every argument that the schema names at its root, also by way of a combination."""
    names: set[str] = set()
    for option in _options(schema, schema, set()):
        names.update(as_object(option.get("properties")) or {})
        names.update(name for name in as_list(option.get("required")) or [] if isinstance(name, str))
    return names


def has_path(schema: dict[str, Json], path: tuple[str, ...]) -> bool:
    """Whether the schema knows of such a value. The root must name it; below, a value whose shape is not
    described may hold anything."""
    if path and path[0] not in declared(schema):
        return False
    here: list[Json] = [schema]
    for step in path:
        options = [option for part in here for option in _options(part, schema, set())]
        here = [found for option in options for found in _step(option, step)]
        if not here:
            return any(_shapeless(option) for option in options)
    return True


def _walk(schema: Json, path: str) -> Iterator[tuple[str, dict[str, Json]]]:
    part = as_object(schema)
    if part is None:
        return
    yield path, part
    for step, inner in inner_schemas(part):
        yield from _walk(inner, f"{path}/{step}")
    for key in _DEFINED:
        for name, inner in (as_object(part.get(key)) or {}).items():
            yield from _walk(inner, f"{path}/{key}/{name}")


def _wrong_part(part: dict[str, Json]) -> str | None:
    for key in REFERENCES:
        if key in part and not (isinstance(part[key], str) and part[key].startswith("#")):
            return f'"{key}" leads outside: write a reference inside this schema, as in "#/$defs/address"'
    patterns = [part.get("pattern"), *(as_object(part.get("patternProperties")) or {})]
    if any(isinstance(pattern, str) and len(pattern) > LONGEST_PATTERN for pattern in patterns):
        return f"a pattern is longer than {LONGEST_PATTERN} characters: write a shorter one"
    return None


def _not_a_schema(error: Exception, schema: Json) -> str:
    if not isinstance(error, jsonschema_rs.ValidationError):
        return f"is not a JSON Schema: {error}"
    where = "/".join(str(step) for step in error.instance_path)
    told = _advice(error.instance_path, schema) or error.message[:300]
    if '"regex"' in told:
        told += " that can be matched in linear time: write it without look-around and back-references"
    return f"is not a JSON Schema (draft 2020-12){f', at {where}' if where else ''}: {told}"


def _advice(path: Sequence[str | int], schema: Json) -> str | None:
    """What to write for a keyword that authors often get wrong."""
    value = schema
    for step in path:
        items = as_list(value)
        value = items[int(step)] if items is not None else (as_object(value) or {}).get(str(step))
    match str(path[-1]) if path else "":
        case "type" if isinstance(value, str):
            return f"is {value[:60]!r}: write {one_of(_TYPES)}{did_you_mean(value, _TYPES)}"
        case "properties":
            return f'is {kind_of(value)}: write an object, as in {{"city": {{"type": "string"}}}}'
        case "required":
            return f'is {kind_of(value)}: write a list of names beside "properties", as in ["city"]'
        case "enum":
            return f'is {kind_of(value)}: write a list of values, as in ["small", "large"]'
        case _:
            return None


def _options(schema: Json, root: dict[str, Json], seen: set[str]) -> Iterator[dict[str, Json]]:
    """The schema itself and all that it is combined of."""
    part = as_object(schema)
    if part is None:
        return
    yield part
    reference = part.get("$ref")
    if isinstance(reference, str) and reference not in seen:
        seen.add(reference)
        yield from _options(resolve(reference, root), root, seen)
    for key in ("allOf", "anyOf", "oneOf"):
        for inner in as_list(part.get(key)) or []:
            yield from _options(inner, root, seen)
    for key in ("then", "else"):
        yield from _options(part.get(key), root, seen)


def _step(option: dict[str, Json], step: str) -> list[Json]:
    properties = as_object(option.get("properties")) or {}
    if step in properties:
        return [as_object(properties[step]) or {}]
    if step.isdecimal() and ("items" in option or "prefixItems" in option):
        return [as_object(option.get("items")) or {}, *(as_list(option.get("prefixItems")) or [])]
    more = option.get("additionalProperties")
    if more is True or "patternProperties" in option:
        return [{}]
    return [more] if as_object(more) is not None else []


def _shapeless(option: dict[str, Json]) -> bool:
    """Says nothing of what is inside: any value, or any object or list."""
    types = option.get("type", "object")
    may_hold = any(name in ("object", "array") for name in (as_list(types) or [types]))
    described = ("properties", "items", "prefixItems", "enum", "const", "additionalProperties")
    combined = ("$ref", "allOf", "anyOf", "oneOf")
    return may_hold and not any(key in option for key in (*described, *combined))
