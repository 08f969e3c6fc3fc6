"""What a schema may be, and which values it knows of."""

import time
from typing import Any

import pytest

from roomful.tools import check_arguments
from tests.tools.written import config, problems, tool

SCHEMA = {
    "properties": {
        "city": {"type": "string"},
        "person": {"type": "object", "properties": {"name": {"type": "string"}, "age": {}}},
        "any": {},
        "bag": {"type": "object"},
        "open": {"type": "object", "properties": {"a": {}}, "additionalProperties": True},
        "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {}}}},
        "list": {"type": "array", "items": {"type": "object", "properties": {"x": {}}}},
        "plain": {"type": "array"},
        "pair": {"type": "array", "prefixItems": [{"type": "object", "properties": {"x": {}}}]},
        "place": {"$ref": "#/$defs/place"},
        "either": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"x": {}}}]},
        "loose": {"anyOf": [{"type": "string"}, {"type": "object"}]},
        "maybe": {"type": ["object", "null"]},
        "user-id": {"type": "string"},
        "größe": {"type": "number"},
    },
    "$defs": {"place": {"type": "object", "properties": {"lat": {}, "inner": {"$ref": "#/$defs/place"}}}},
    "allOf": [{"properties": {"more": {"type": "string"}}}],
}
KNOWN = [
    "city", "input.city", " city ", "person", "person.name", "input.person.age", "any.x.y", "bag.x", "open.b",
    "map.k.x", "list.0", "list.12.x", "plain.3.y", "pair.0.x", "place.lat", "place.inner.inner.lat",
    "either.x", "loose.x", "maybe.x", "user-id", "größe", "more", "input",
]  # fmt: skip
UNKNOWN = [
    "town", "input.town", "city.x", "person.town", "input.input.city", "map.k.y", "list.x", "list.0.y",
    "place.x", "place.inner.x", "either.y", "more.x", "0", "$defs", "properties", "__class__",
    "person.__class__", "input.0",
]  # fmt: skip


def asking(path: str) -> dict[str, Any]:
    return {
        "name": "it",
        "executionType": "request",
        "inputSchema": SCHEMA,
        "execution": {"url": "https://example.com/", "body": f"{{{{{path}}}}}"},
    }


@pytest.mark.parametrize("path", KNOWN)
def test_a_placeholder_that_the_schema_knows(path: str) -> None:
    assert problems(config(asking(path))) == []


@pytest.mark.parametrize("path", UNKNOWN)
def test_a_placeholder_that_the_schema_does_not_know(path: str) -> None:
    assert [found[:2] for found in problems(config(asking(path)))] == [("it", "execution.body")]


def test_an_argument_that_is_merely_not_forbidden_is_not_known() -> None:
    for rest in ({}, {"additionalProperties": True}, {"patternProperties": {"^c": {}}}, {"type": "object"}):
        raw = {**asking("city"), "inputSchema": {"properties": {"a": {}}, **rest}}
        assert [found[:2] for found in problems(config(raw))] == [("it", "execution.body")]


def with_schema(schema: Any) -> dict[str, Any]:
    return {"name": "it", "executionType": "basic", "inputSchema": schema}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"properties": {}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {}}, "type": "object"},
        {"properties": {"$ref": {"type": "string"}, "pattern": {"type": "string"}}},
        {"properties": {"a": {"enum": [{"$ref": "https://x.example/"}], "default": {"pattern": "("}}}},
        {"properties": {"a": {"$ref": "#"}}},
        {
            "properties": {"a": {"$ref": "#/$defs/b"}},
            "$defs": {"b": {"properties": {"c": {"$ref": "#/$defs/b"}}}},
        },
        {"properties": {"a": {"pattern": "^[a-z]{1,64}$"}, "b": {"pattern": r"^\p{L}+$"}}},
        {"properties": {"a": True}, "additionalProperties": False},
    ],
)
def test_schemas_that_are_taken(schema: Any) -> None:
    assert tool(with_schema(schema)).input_schema == schema


def test_references_that_multiply_are_refused() -> None:
    defs: dict[str, Any] = {
        f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(40)
    }
    started = time.perf_counter()
    found = problems(
        config(with_schema({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {**defs, "d40": {}}}))
    )
    assert time.perf_counter() - started < 2
    assert [problem[:2] for problem in found] == [("it", "inputSchema")]
    assert "multiply" in found[0][2]


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "#b"}}, "$defs": {"b": {"$anchor": "b"}}},
        {"properties": {"a": {"$dynamicRef": "#b"}}, "$defs": {"b": {"$dynamicAnchor": "b"}}},
        {"properties": {"a": {"$ref": "#/%24defs/b"}}, "$defs": {"b": {}}},
        {"properties": {"a": {"$ref": "#/$defs/c"}}, "$defs": {"b": {}}},
        {"properties": {"a": {"$id": "https://example.com/b", "$ref": "#"}}},
        {
            "properties": {"a": {"$ref": "#/more/b"}},
            "more": {"b": {"$ref": "#c", "$defs": {"d": {"$anchor": "c"}}}},
        },
    ],
)
def test_a_reference_that_cannot_be_followed_is_refused(schema: Any) -> None:
    assert [found[:2] for found in problems(config(with_schema(schema)))] == [("it", "inputSchema")]


def endless(reference: str, **more: Any) -> dict[str, Any]:
    """An expression of expressions, told apart by their kind."""
    kinds = [
        {"type": "object", "properties": {"left": {"$ref": reference}, "kind": {"const": kind}}}
        for kind in "abc"
    ]
    return {"properties": {"of": {"anyOf": kinds}, "n": {"type": "integer"}}, **more}


@pytest.mark.parametrize("reference", ["#/properties/of", "#/$defs/of", "#/properties/of/anyOf/1"])
def test_a_deep_value_against_a_schema_without_end_is_answered_soon(reference: str) -> None:
    schema = endless(reference, required=["n"], additionalProperties=False)
    schema["$defs"] = {"of": schema["properties"]["of"]}
    spec = tool(with_schema(schema))
    value: dict[str, Any] = {"kind": 5}
    for _ in range(60):
        value = {"left": value, "kind": "b"}
    started = time.perf_counter()
    said = check_arguments(spec, {"of": value, "more": 1}) or ""
    assert time.perf_counter() - started < 2
    assert all(
        word in said for word in ('"n" is a required', "of: the value is not as", "more was unexpected")
    )
    assert check_arguments(spec, {"of": {"kind": "a", "left": {"kind": "b"}}, "n": 1}) is None


def test_a_schema_that_leads_back_to_itself_is_walked_once() -> None:
    spec = tool(with_schema({"properties": {"a": {"$ref": "#"}}, "required": ["a"]}))
    assert "a" in (check_arguments(spec, {"a": {"a": {}}}) or "")
