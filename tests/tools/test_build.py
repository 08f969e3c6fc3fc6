"""What a model is told, and what is done with what it says."""

import copy
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roomful.domain.agents import Dialect
from roomful.tools import builtin_tools, check_arguments, check_result, model_tools, strip_routing
from tests.tools.written import FORM, HTTP, agent, config, tool

names = st.text("abcdefgh", min_size=1, max_size=4)
leaves = st.sampled_from(
    [{"type": "string"}, {"type": "number", "minimum": 0}, {"type": "array", "items": {"type": "string"}}, {}]
)
schemas = st.recursive(
    leaves,
    lambda inner: st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(names, inner, max_size=3)}
    ),
    max_leaves=8,
)
roots = st.fixed_dictionaries(
    {"properties": st.dictionaries(names, schemas, max_size=4)},
    optional={
        "type": st.just("object"),
        "additionalProperties": st.booleans(),
        "required": st.lists(names, unique=True, max_size=3),
        "description": st.text("abc é", max_size=8),
    },
)


def shown(raw: Any, **fields: Any) -> dict[str, Any]:
    return model_tools(agent(raw, **fields))[0].parameters


@given(root=roots, dialect=st.sampled_from(["composite", "display", "active"]))
def test_routing_stands_first_and_the_authors_schema_is_untouched(root: Any, dialect: Dialect) -> None:
    raw: dict[str, Any] = {
        **FORM,
        "inputSchema": root,
        **({"displayTool": True} if dialect == "display" else {}),
    }
    given_config = config(raw, dialect=dialect)
    before = copy.deepcopy(given_config)
    spec = agent(raw, dialect=dialect)
    kept = copy.deepcopy(spec)
    (told, *_) = model_tools(spec)
    ours = [*spec.tools[0].route.args, *filter(None, [spec.tools[0].route.entity_arg])]
    assert list(told.parameters["properties"]) == [*ours, *root["properties"]]
    assert told.parameters.get("required") == root.get("required")
    assert told.parameters["type"] == "object"
    rest = {name: part for name, part in told.parameters["properties"].items() if name not in ours}
    assert rest == root["properties"]
    _spoil(told.parameters)
    assert (given_config, spec) == (before, kept)
    assert spec.tools[0].input_schema == root


def _spoil(value: Any) -> None:
    for item in list(value.values() if isinstance(value, dict) else value if isinstance(value, list) else []):
        _spoil(item)
    if isinstance(value, (dict, list)):
        value.clear()


def test_what_each_kind_of_tool_is_given() -> None:
    def given_to(raw: dict[str, Any], **fields: Any) -> list[str]:
        return list(shown({**raw, "inputSchema": {"properties": {"a": {}}}}, **fields)["properties"])

    assert given_to(FORM) == ["targetSpaceId", "targetSpaceIds", "targetEntityId", "a"]
    assert given_to({**HTTP, "visibility": "minimal"})[:2] == ["targetSpaceId", "targetSpaceIds"]
    assert given_to(HTTP) == ["a"]
    assert given_to({**HTTP, "displayTool": True}) == ["targetSpaceId", "a"]
    assert given_to({**HTTP, "displayTool": False}) == ["a"]
    assert given_to(FORM, dialect="display") == ["a"]
    assert given_to({**FORM, "executionType": "space"}) == ["a"]


def test_the_added_arguments_are_described_as_to_be_given_first() -> None:
    for raw in ({**FORM}, {**FORM, "displayTool": True}, {**HTTP, "displayTool": True}):
        for name, part in shown(raw)["properties"].items():
            assert name.startswith("target")
            assert "provide" in part["description"]
            assert "first" in part["description"]
    silent = shown({**HTTP, "displayTool": True})["properties"]["targetSpaceId"]["description"]
    asking = shown({**FORM, "displayTool": True})["properties"]["targetSpaceId"]["description"]
    assert silent != asking


def test_routing_is_stripped_only_where_it_was_added() -> None:
    args = {"targetSpaceId": "a", "targetSpaceIds": None, "targetEntityId": "b", "x": {"targetSpaceId": 1}}
    assert strip_routing(tool(FORM), args) == {"x": {"targetSpaceId": 1}}
    assert strip_routing(tool({**FORM, "displayTool": True}), {"targetSpaceId": "a", "x": 1}) == {"x": 1}
    assert strip_routing(tool({**FORM, "executionType": "space"}), args) == args
    (say, *_) = builtin_tools("composite")
    assert strip_routing(say, {"spaceId": "a", "text": "b"}) == {"spaceId": "a", "text": "b"}
    assert args["targetSpaceId"] == "a"


ORDER = tool(
    {
        **HTTP,
        "inputSchema": {
            "properties": {
                "items": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"n": {"type": "integer"}}},
                },
                "to": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
                "size": {"enum": ["s", "m"]},
            },
            "required": ["items"],
            "additionalProperties": False,
        },
    }
)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"items": []}, None),
        ({"items": [{"n": 1}], "to": ["a"], "size": "s"}, None),
        ({}, ['"items" is a required property']),
        ({"items": [{"n": 1}, {"n": "two"}]}, ["items[1].n", "integer"]),
        ({"items": [], "to": 5}, ["to:", 'not of type "string" or', '"array"']),
        ({"items": [], "size": "xl"}, ["size:", '"s"', '"m"']),
        ({"items": [], "more": 1}, ["more", "unexpected"]),
        ({"items": 1, "to": 1}, ["items:", "to:"]),
        ([], ["a list", "JSON object"]),
        (None, ["null"]),
        (5, ["a number"]),
        ("{}", ["a string"]),
    ],
)
def test_arguments_are_checked_in_words_that_help(args: Any, said: list[str] | None) -> None:
    message = check_arguments(ORDER, args)
    if said is None:
        assert message is None
    else:
        assert message
        assert all(word in message for word in said), message


def deep(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "args",
    [
        {"items": [{"n": "x"}] * 200_000},
        {"items": [], "x" * 1_000_000: 1},
        {"items": [], **{f"k{n}": 1 for n in range(50_000)}},
        {"items": [], "size": "y" * 5_000_000},
        {"items": deep(100_000)},
        {"items": [{"n": 10**5000}], "size": 1},
        {"items": [], "to": float("nan")},
        {"items": [{"n": {"\ud800": "\ud800"}}]},
        {"items": object()},
        {1: 2},
    ],
    ids=[
        "many errors",
        "long key",
        "many keys",
        "long value",
        "deep",
        "big number",
        "nan",
        "surrogate",
        "object",
        "key",
    ],
)
def test_hostile_arguments_are_answered_soon_and_briefly(args: Any) -> None:
    started = time.perf_counter()
    message = check_arguments(ORDER, args)
    assert time.perf_counter() - started < 5
    assert message
    assert len(message) <= 1500


def test_an_argument_of_no_described_shape_may_be_deep() -> None:
    anything = tool({**HTTP, "inputSchema": {"properties": {"a": {}}}})
    for args in ({"a": deep(60)}, {"a": 10**30}, {"a": "\ud800"}, {"a": "\x00"}):
        assert check_arguments(anything, args) is None


def test_slow_patterns_are_matched_in_linear_time() -> None:
    slow = tool({**HTTP, "inputSchema": {"properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}})
    started = time.perf_counter()
    assert check_arguments(slow, {"a": "a" * 1_000_000 + "b"})
    assert check_arguments(slow, {"a": "a" * 1_000_000}) is None
    assert time.perf_counter() - started < 5


def test_results_are_checked_where_the_author_says_how() -> None:
    form = tool({**FORM, "resultSchema": {"type": "object", "required": ["approved"]}})
    assert check_result(form, {"approved": True}) is None
    assert "approved" in (check_result(form, {}) or "")
    assert check_result(tool(FORM), object()) is None
