"""Every JSON example of the documents is taken as it is written."""

from typing import Any

import pytest

from roomful.domain.shape import UNSET
from roomful.domain.tools import (
    Client,
    Compute,
    Echo,
    ExecutorSpec,
    Fallback,
    Http,
    Image,
    RouteRule,
    Static,
    SubAgent,
    ToolCallShape,
    ToolSpec,
    Visibility,
    Webhook,
)
from roomful.tools import configure, model_tools, strip_routing
from tests.tools.documents import document, documents
from tests.tools.written import agent, config, tool

DISPLAY_ROUTE = RouteRule(args=("targetSpaceId",), injected=True, fallback=Fallback.NOWHERE)
COMPOSITE_ROUTE = RouteRule(
    args=("targetSpaceId", "targetSpaceIds"), entity_arg="targetEntityId", injected=True
)

EXECUTED = {
    "active-execution-http": (
        "gateway",
        Http(
            url="https://api.example.com/data",
            method="POST",
            headers={"Authorization": "Bearer ${env.API_KEY}"},
            body={"query": "{{input.query}}"},
        ),
        30.0,
    ),
    "active-execution-image": (
        "gateway",
        Image(provider="dall-e", model="dall-e-3", size="1024x1024", quality="hd"),
        120.0,
    ),
    "active-execution-compute": (
        "gateway",
        Compute(expression="{{input.expression}}"),
        None,
    ),
    "active-execution-webhook": (
        "external",
        Webhook(
            url="https://my-service.com/tools/process",
            headers={"Authorization": "Bearer ${env.SERVICE_KEY}"},
        ),
        30.0,
    ),
    "active-execution-space": ("space", Client(), None),
    "active-execution-internal": ("internal", Static(output={"status": "ok"}), None),
    "active-execution-agent": (
        "gateway",
        SubAgent(config={"name": "it", "model": "scripted:shop", "dialect": "active"}, include_context=True),
        60.0,
    ),
}
SCHEMA = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "expression": {"type": "string"},
        "prompt": {"type": "string"},
    },
}


def test_the_client_tool_of_the_composite_document() -> None:
    written = document("composite-client-tool")
    assert tool(written) == ToolSpec(
        name="showApprovalForm",
        description="",
        input_schema=written["inputSchema"],
        executor=Client(),
        visibility=Visibility.FULL,
        route=COMPOSITE_ROUTE,
    )


def test_the_minimal_tool_of_the_composite_document() -> None:
    written = {**document("composite-minimal-tool"), "execution": {"url": "https://budget.example.com/q4"}}
    assert tool(written) == ToolSpec(
        name="queryBudgetAPI",
        description="",
        input_schema={"type": "object", "properties": {}},
        executor=Http(url="https://budget.example.com/q4"),
        visibility=Visibility.STATUS,
        seen_inside=Visibility.STATUS,
        route=COMPOSITE_ROUTE,
    )


@pytest.mark.parametrize(
    ("name", "executor", "component", "fallback"),
    [
        ("display-image-tool", Image(provider="dall-e", quality="hd"), None, Fallback.NOWHERE),
        ("display-chart-tool-short", Echo(), "Chart", Fallback.NOWHERE),
        ("display-case-1-image", Image(provider="dall-e", quality="hd"), "ImageResult", Fallback.NOWHERE),
        ("display-case-2-approval", Client(), "ApprovalForm", Fallback.ACTIVE),
        (
            "display-case-3-request",
            Http(url="https://api.weather.com/v1/current?city={{city}}", method="GET", body=UNSET),
            None,
            Fallback.NOWHERE,
        ),
        ("display-case-4-chart", Echo(), "Chart", Fallback.NOWHERE),
    ],
)
def test_the_tools_of_the_display_document(
    name: str, executor: ExecutorSpec, component: str | None, fallback: Fallback
) -> None:
    written = document(name)
    assert agent(written).dialect == "display"
    assert tool(written) == ToolSpec(
        name=written["name"],
        description=written.get("description", ""),
        input_schema=written["inputSchema"],
        executor=executor,
        visibility=Visibility.FULL,
        route=RouteRule(args=("targetSpaceId",), injected=True, fallback=fallback),
        shape=ToolCallShape(component=component),
        timeout=120 if isinstance(executor, Image) else None,
    )


def test_the_visible_tool_of_the_active_document() -> None:
    assert tool(document("active-visible-tool")) == ToolSpec(
        name="fetchWeather",
        description="",
        input_schema={"type": "object", "properties": {}},
        executor=Http(url="https://api.weather.com/current", method="GET"),
        visibility=Visibility.FULL,
        route=RouteRule(),
    )


@pytest.mark.parametrize("name", EXECUTED)
def test_the_executions_of_the_active_document(name: str) -> None:
    kind, executor, timeout = EXECUTED[name]
    written = {"name": "it", "inputSchema": SCHEMA, "executionType": kind, "execution": document(name)}
    spec = tool(written)
    assert (spec.executor, spec.timeout) == (executor, timeout)
    assert agent(written).dialect == "active"
    component = "confirmAction" if kind == "space" else None
    assert spec.shape == ToolCallShape(component=component)


def test_every_field_and_word_of_the_active_schema_is_known() -> None:
    schema = document("active-schema")
    executions = {
        "gateway": {"url": "https://example.com/"},
        "external": {"webhookUrl": "https://example.com/"},
        "space": None,
        "internal": None,
    }
    for kind in schema["executionType"].split(" | "):
        for word in schema["visibility"].split(" | "):
            if (kind == "space" and word != "visible") or (kind == "internal" and word != "hidden"):
                continue
            written = {**schema, "executionType": kind, "visibility": word, "execution": executions[kind]}
            if kind == "internal":
                del written["display"]
            assert tool(written).name == "string"


def test_the_servers_of_the_active_document() -> None:
    (server,) = configure({**config(), **document("active-mcp"), "dialect": "active"}).mcp_servers
    assert (server.name, server.url, server.transport) == (
        "my-mcp-server",
        "https://mcp.example.com",
        "http",
    )
    assert server.allowed_tools == ("tool_a", "tool_b")


@pytest.mark.parametrize(
    ("written", "built"),
    [
        ("composite-client-tool", document("composite-client-tool-built")),
        ("display-image-tool", document("display-image-tool-built")["inputSchema"]),
        ("display-case-3-request", {"properties": document("display-injected-parameter")}),
    ],
)
def test_built_schemas_contain_those_of_the_documents(written: str, built: Any) -> None:
    (shown, *_) = model_tools(agent(document(written)))
    assert _contains(shown.parameters, built)


def _contains(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, dict):
        return all(key in ours and _contains(ours[key], value) for key, value in theirs.items())
    if isinstance(theirs, str):
        return theirs in ours
    return ours == theirs


def test_a_targeted_call_reaches_the_tool_without_its_routing() -> None:
    card = {
        "name": "showProductCard",
        "executionType": "basic",
        "inputSchema": {"properties": {"productId": {"type": "string"}, "name": {"type": "string"}}},
    }
    stripped = strip_routing(tool(card), document("composite-targeted-call"))
    assert stripped == {"productId": "mac-air", "name": "MacBook Air M4"}


@pytest.mark.parametrize("name", ["display-message-complete", "display-message-waiting", "composite-message"])
def test_the_stored_arguments_of_the_documents_hold_no_routing(name: str) -> None:
    calls = [part for part in document(name)["parts"] if part["type"] == "tool_call"]
    spec = tool(document("composite-client-tool"))
    assert calls
    assert all(strip_routing(spec, call["args"]) == call["args"] for call in calls)


def test_no_example_is_left_out() -> None:
    assert len(documents()) == 25
