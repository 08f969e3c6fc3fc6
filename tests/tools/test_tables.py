"""The tables of the dialects, row by row: which types there are, who sees what, where a call goes."""

from typing import Any

import pytest

from roomful.domain.tools import (
    Client,
    Compute,
    Echo,
    ExecutorSpec,
    Fallback,
    Http,
    Image,
    PythonFunction,
    RouteRule,
    Static,
    SubAgent,
    Visibility,
    Webhook,
)
from roomful.tools import builtin_tools, model_tools
from tests.tools.written import FORM, HTTP, URL, V2, agent, tool

ROUTED = RouteRule(args=("targetSpaceId", "targetSpaceIds"), entity_arg="targetEntityId", injected=True)
HIDDEN, STATUS, RESULT, FULL = Visibility.HIDDEN, Visibility.STATUS, Visibility.RESULT, Visibility.FULL

V1_TYPES: list[tuple[str, Any, ExecutorSpec]] = [
    ("basic", None, Client()),
    ("basic", {"mode": "no-execution"}, Client()),
    ("basic", {"mode": "no-execution", "wait": False}, Client(wait=False)),
    ("basic", {"mode": "no-execution", "answers": "each"}, Client(answers="each")),
    ("basic", {"mode": "static", "output": {"status": "ok"}}, Static(output={"status": "ok"})),
    ("basic", {"mode": "static", "output": None}, Static(output=None)),
    ("basic", {"mode": "pass-through"}, Echo()),
    ("request", {"url": URL}, Http(url=URL)),
    ("http", {"url": URL, "method": "post"}, Http(url=URL, method="POST")),
    ("ai-agent", {"agentId": "helper"}, SubAgent(agent_id="helper")),
    ("image-generator", {"provider": "builtin"}, Image()),
    ("image-generator", None, Image()),
    ("compute", {"operation": "evaluate", "expression": "1 + 1"}, Compute(expression="1 + 1")),
    ("compute", {"expression": "1 + 1"}, Compute(expression="1 + 1")),
    ("python", {"function": "shop.add"}, PythonFunction(name="shop.add")),
]


@pytest.mark.parametrize("dialect", ["composite", "display", "active"])
@pytest.mark.parametrize(("kind", "execution", "executor"), V1_TYPES)
def test_v1_types_mean_the_same_in_every_dialect(
    dialect: str, kind: str, execution: Any, executor: ExecutorSpec
) -> None:
    raw = {"name": "it", "executionType": kind, "execution": execution}
    assert tool(raw, dialect=dialect).executor == executor


@pytest.mark.parametrize(
    ("kind", "execution", "visibility"),
    [
        ("basic", None, FULL),
        ("basic", {"mode": "static", "output": 1}, HIDDEN),
        ("basic", {"mode": "pass-through"}, FULL),
        ("request", {"url": URL}, FULL),
        ("ai-agent", {"agentId": "helper"}, FULL),
        ("image-generator", {"provider": "builtin"}, FULL),
        ("compute", {"expression": "1"}, FULL),
    ],
)
def test_v1_types_in_the_active_dialect_have_its_defaults(
    kind: str, execution: Any, visibility: Visibility
) -> None:
    raw = {"name": "it", "executionType": kind, "execution": execution}
    spec = tool(raw, dialect="active")
    assert (spec.visibility, spec.route) == (visibility, RouteRule())


@pytest.mark.parametrize(
    ("kind", "execution", "executor"),
    [
        ("gateway", {"url": URL}, Http(url=URL)),
        ("gateway", {"agentId": "helper", "includeContext": True}, SubAgent("helper", include_context=True)),
        ("gateway", {"provider": "builtin"}, Image()),
        ("gateway", {"operation": "evaluate", "expression": "2"}, Compute(expression="2")),
        ("gateway", {"expression": "2"}, Compute(expression="2")),
        ("gateway", {"mode": "pass-through"}, Echo()),
        ("gateway", {"mode": "static", "output": 3}, Static(output=3)),
        ("external", {"webhookUrl": URL}, Webhook(url=URL)),
        (
            "external",
            {"url": URL, "method": "PUT", "secret": "s"},
            Webhook(url=URL, method="PUT", secret="s"),
        ),
        ("space", None, Client()),
        ("space", {}, Client()),
        ("space", {"mode": "no-execution", "wait": False}, Client(wait=False)),
        ("space", {"answers": "each"}, Client(answers="each")),
        ("internal", None, Static(output=None)),
        ("internal", {}, Static(output=None)),
        ("internal", {"output": {"status": "ok"}}, Static(output={"status": "ok"})),
        ("internal", {"mode": "pass-through"}, Echo()),
        ("internal", {"url": URL}, Http(url=URL)),
        ("internal", {"expression": "2"}, Compute(expression="2")),
    ],
)
def test_v2_types(kind: str, execution: Any, executor: ExecutorSpec) -> None:
    raw = {"name": "it", "executionType": kind, "execution": execution}
    assert agent(raw).dialect == "active"
    assert tool(raw).executor == executor


@pytest.mark.parametrize(
    ("raw", "visibility", "route"),
    [
        (HTTP, HIDDEN, RouteRule()),
        ({**HTTP, "visibility": "hidden"}, HIDDEN, RouteRule()),
        ({**HTTP, "visibility": "minimal"}, STATUS, ROUTED),
        ({**HTTP, "visibility": "full"}, FULL, ROUTED),
        ({**HTTP, "executionType": "basic", "execution": {"mode": "pass-through"}}, HIDDEN, RouteRule()),
        (FORM, FULL, ROUTED),
        ({**FORM, "visibility": "full"}, FULL, ROUTED),
        ({**FORM, "execution": {"mode": "no-execution", "wait": False}}, FULL, ROUTED),
    ],
)
def test_visibility_and_route_in_the_composite_dialect(
    raw: Any, visibility: Visibility, route: RouteRule
) -> None:
    spec = tool(raw)
    assert (spec.visibility, spec.route) == (visibility, route)


@pytest.mark.parametrize(
    ("raw", "visibility", "args", "fallback"),
    [
        ({**HTTP, "displayTool": True}, FULL, ("targetSpaceId",), Fallback.NOWHERE),
        ({**HTTP, "displayTool": False}, HIDDEN, (), Fallback.NOWHERE),
        (HTTP, HIDDEN, (), Fallback.NOWHERE),
        ({**FORM, "displayTool": True}, FULL, ("targetSpaceId",), Fallback.ACTIVE),
        (FORM, FULL, (), Fallback.ACTIVE),
        ({**HTTP, "displayTool": True, "approval": True}, FULL, ("targetSpaceId",), Fallback.ACTIVE),
        ({**HTTP, "approval": True}, HIDDEN, (), Fallback.ACTIVE),
    ],
)
def test_visibility_and_route_in_the_display_dialect(
    raw: Any, visibility: Visibility, args: tuple[str, ...], fallback: Fallback
) -> None:
    spec = tool(raw, dialect="display")
    assert spec.visibility == visibility
    assert spec.route == RouteRule(args=args, injected=bool(args), fallback=fallback)


@pytest.mark.parametrize(
    ("raw", "visibility"),
    [
        (V2, FULL),
        ({**V2, "visibility": "visible"}, FULL),
        ({**V2, "visibility": "hidden"}, HIDDEN),
        ({**V2, "visibility": "result-only"}, RESULT),
        ({**V2, "executionType": "external"}, FULL),
        ({**V2, "executionType": "external", "visibility": "hidden"}, HIDDEN),
        ({**V2, "executionType": "external", "visibility": "result-only"}, RESULT),
        ({**V2, "executionType": "space", "execution": None}, FULL),
        ({**V2, "executionType": "space", "execution": None, "visibility": "visible"}, FULL),
        ({**V2, "executionType": "internal"}, HIDDEN),
        ({**V2, "executionType": "internal", "visibility": "hidden"}, HIDDEN),
        ({"name": "it", "executionType": "python", "execution": {"function": "f"}}, FULL),
    ],
)
def test_visibility_in_the_active_dialect(raw: Any, visibility: Visibility) -> None:
    spec = tool(raw, dialect="active")
    assert (spec.visibility, spec.route) == (visibility, RouteRule())


@pytest.mark.parametrize(
    ("tools", "dialect"),
    [
        ([], "composite"),
        ([HTTP], "composite"),
        ([HTTP, {**FORM, "name": "b", "displayTool": True}], "display"),
        ([{**HTTP, "displayTool": False}], "display"),
        ([V2], "active"),
        ([{**V2, "executionType": "external"}], "active"),
        ([{**V2, "executionType": "space", "execution": None}], "active"),
        ([{**V2, "executionType": "internal"}], "active"),
        ([HTTP, {**V2, "name": "b"}], "active"),
    ],
)
def test_the_dialect_shows_in_the_tools(tools: list[Any], dialect: str) -> None:
    assert agent(*tools).dialect == dialect


def test_a_missing_execution_type_is_basic_where_the_first_tool_system_is_spoken() -> None:
    assert tool({"name": "it"}).executor == Client()
    assert tool({"name": "it", "displayTool": True}).executor == Client()


def test_custom_ui_is_independent_of_being_shown() -> None:
    for dialect, shown in (("display", {}), ("display", {"displayTool": True}), ("composite", {})):
        spec = tool({**HTTP, **shown, "display": {"customUI": "Chart"}}, dialect=dialect)
        assert getattr(spec.shape, "component", None) == "Chart"


@pytest.mark.parametrize(
    ("dialect", "texts", "others"),
    [
        (
            "composite",
            ["sendSpaceMessage"],
            ["readSpaceMessages", "getMyRuns", "delegateToAgent", "skipResponse", "readResult"],
        ),
        (
            "display",
            ["sendSpaceMessage"],
            ["readSpaceMessages", "getMyRuns", "delegateToAgent", "skipResponse", "readResult"],
        ),
        (
            "active",
            ["send_message", "send_reply"],
            [
                "enter_space", "read_messages", "stop_run", "set_goals", "delete_goals", "set_memories",
                "delete_memories", "set_plans", "delete_plans", "get_plans", "get_my_runs",
                "read_result",
            ],
        ),
    ],
)  # fmt: skip
def test_built_in_tools(dialect: Any, texts: list[str], others: list[str]) -> None:
    tools = {spec.name: spec for spec in builtin_tools(dialect)}
    assert set(tools) == {*texts, *others}
    for name, spec in tools.items():
        assert spec.visibility is (FULL if name in texts else HIDDEN)
        assert getattr(spec.shape, "from_arg", None) == ("text" if name in texts else None)
        assert not spec.route.injected
        assert spec.route.enters == ("spaceId" if name == "enter_space" else None)
        assert spec.route.args == (("spaceId",) if name == "sendSpaceMessage" else ())
        assert spec.input_schema["additionalProperties"] is False
        assert spec.description
    shown = {shown.name: shown.parameters for shown in model_tools(agent(dialect=dialect))}
    assert shown == {name: {"properties": {}, **spec.input_schema} for name, spec in tools.items()}


def test_the_space_stands_first_in_what_a_text_is_said_with() -> None:
    (say, *_) = builtin_tools("composite")
    assert list(say.input_schema["properties"]) == ["spaceId", "text", "mention", "wait"]
    assert say.input_schema["required"] == ["spaceId", "text"]
