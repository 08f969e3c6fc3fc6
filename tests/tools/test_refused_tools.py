"""Wrong tools, and the field that each refusal points to: names, fields, types, visibility."""

from typing import Any

import pytest

from tests.tools.written import CITY, FORM, HTTP, URL, V2, config, of_type, problems, request


def basic(execution: Any) -> dict[str, Any]:
    return of_type("basic", execution)


def schema(value: Any) -> dict[str, Any]:
    return {**HTTP, "inputSchema": value}


TOOLS: list[tuple[str, Any, str, str]] = [
    # names
    ("name missing", {**HTTP, "name": None}, "name", "is missing"),
    ("name with a space", {**HTTP, "name": "it is"}, "name", "write 1 to 64"),
    ("name too long", {**HTTP, "name": "x" * 65}, "name", "write 1 to 64"),
    ("name of a built-in tool", {**HTTP, "name": "sendSpaceMessage"}, "name", "built-in"),
    # unknown fields, at every level
    ("field misspelt", {**HTTP, "visiblity": "full"}, "visiblity", 'Did you mean "visibility"'),
    ("field in snake case", {**HTTP, "input_schema": {}}, "input_schema", 'Did you mean "inputSchema"'),
    ("field of another house", {**HTTP, "parameters": {}}, "parameters", 'write "inputSchema"'),
    ("timeout beside execution", {**HTTP, "timeout": 5}, "timeout", 'inside "execution"'),
    ("execution field", request(metod="GET"), "execution.metod", 'Did you mean "method"'),
    ("display field", {**HTTP, "display": {"customUi": "A"}}, "display.customUi", 'Did you mean "customUI"'),
    ("display format", {**HTTP, "display": {"format": "x"}}, "display.format", "never as text"),
    ("approval field", {**HTTP, "approval": {"roles": ["owner"]}}, "approval.roles", 'inside "approvers"'),
    # wrong types
    ("description", {**HTTP, "description": 5}, "description", "write a string"),
    ("execution is a list", {**HTTP, "execution": []}, "execution", "write an object"),
    ("url is a number", request(url=5), "execution.url", "write a string"),
    ("timeout is a string", request(timeout="30s"), "execution.timeout", "number of milliseconds"),
    ("timeout below zero", request(timeout=-1), "execution.timeout", "above 0"),
    ("timeout is true", request(timeout=True), "execution.timeout", "write a number"),
    ("idempotent", {**HTTP, "idempotent": "yes"}, "idempotent", "true or false"),
    ("custom UI is a list", {**HTTP, "display": {"customUI": []}}, "display.customUI", "write a string"),
    ("header is a number", request(headers={"X-N": 5}), "execution.headers.X-N", "in quotes"),
    # types of execution
    ("unknown type", {**HTTP, "executionType": "requests"}, "executionType", 'Did you mean "request"'),
    ("waiting", {**HTTP, "executionType": "waiting"}, "executionType", '"wait"'),
    ("prebuilt", {**HTTP, "executionType": "prebuilt"}, "executionType", "cannot be configured"),
    ("type is null in active", {**V2, "executionType": None}, "executionType", "is missing"),
    ("no mode", basic({}), "execution.mode", '"no-execution", "static" or "pass-through"'),
    ("wrong mode", basic({"mode": "noexecution"}), "execution.mode", 'Did you mean "no-execution"'),
    ("url in basic", basic({"url": URL}), "execution.url", '"executionType": "request"'),
    ("output of a form", basic({"mode": "no-execution", "output": 1}), "execution.output", '"static"'),
    (
        "timeout of a form",
        basic({"mode": "no-execution", "timeout": 1}),
        "execution.timeout",
        "answerSeconds",
    ),
    ("static without output", basic({"mode": "static"}), "execution.output", "is missing"),
    ("pass-through with output", basic({"mode": "pass-through", "output": 1}), "execution.output", "static"),
    ("wait is a word", basic({"mode": "no-execution", "wait": "no"}), "execution.wait", "true or false"),
    ("answers", basic({"mode": "no-execution", "answers": "all"}), "execution.answers", '"one" or "each"'),
    ("request without url", {**HTTP, "execution": {}}, "execution.url", "is missing"),
    ("request without execution", {**HTTP, "execution": None}, "execution.url", "is missing"),
    ("method", request(method="FETCH"), "execution.method", '"GET"'),
    ("agent not named", of_type("ai-agent", {}), "execution.agentConfig", "agentId"),
    (
        "agent named twice",
        of_type("ai-agent", {"agentId": "a", "agentConfig": {}}),
        "execution.agentId",
        "agentConfig",
    ),
    (
        "inline agent's tool",
        {
            **HTTP,
            "executionType": "ai-agent",
            "execution": {"agentConfig": {"tools": [{**HTTP, "name": "inner", "execution": {"url": "x"}}]}},
        },
        "execution.agentConfig.tools.inner.execution.url",
        "https://",
    ),
    (
        "inline agent's field",
        of_type("ai-agent", {"agentConfig": {"speak": "text"}}),
        "execution.agentConfig.speak",
        'Did you mean "speaks"',
    ),
    (
        "operation",
        of_type("compute", {"operation": "eval", "expression": "1"}),
        "execution.operation",
        '"evaluate"',
    ),
    ("no expression", of_type("compute", {}), "execution.expression", "missing"),
    ("size", of_type("image-generator", {"size": "big"}), "execution.size", "1024x1024"),
    (
        "no prompt",
        {**schema(CITY), "executionType": "image-generator", "execution": {}},
        "inputSchema",
        "prompt",
    ),
    ("no function", of_type("python", {}), "execution.function", "missing"),
    ("function", of_type("python", {"function": "a b"}), "execution.function", "name"),
    # the second tool system
    ("two kinds", {**V2, "execution": {"url": URL, "provider": "x"}}, "execution.url", '"provider"'),
    ("no kind", {**V2, "execution": {"method": "GET"}}, "execution", 'write "url"'),
    ("nothing to do", {**V2, "execution": None}, "execution", 'write "url"'),
    ("two urls", of_type("external", {"url": URL, "webhookUrl": URL}), "execution.webhookUrl", '"url"'),
    (
        "webhook with arguments",
        {**V2, "executionType": "external", "inputSchema": CITY, "execution": {"url": URL + "{{city}}"}},
        "execution.url",
        "takes no arguments",
    ),
    ("webhook by GET", of_type("external", {"url": URL, "method": "GET"}), "execution.method", '"POST"'),
    ("url in space", {**V2, "executionType": "space"}, "execution.url", '"gateway"'),
    (
        "component twice",
        {
            **V2,
            "executionType": "space",
            "execution": {"display": {"customUI": "a"}},
            "display": {"customUI": "b"},
        },
        "display.customUI",
        "execution.display.customUI",
    ),
    (
        "internal and shown",
        {**V2, "executionType": "internal", "visibility": "visible"},
        "visibility",
        "executionType",
    ),
    (
        "internal and a component",
        {**V2, "executionType": "internal", "display": {"customUI": "a"}},
        "display",
        "executionType",
    ),
    # visibility
    ("form hidden", {**FORM, "visibility": "hidden"}, "visibility", '"execution"'),
    ("form minimal", {**FORM, "visibility": "minimal"}, "visibility", '"execution"'),
    ("space tool hidden", of_type("space", None, visibility="hidden"), "visibility", '"executionType"'),
    (
        "space tool result-only",
        of_type("space", None, visibility="result-only"),
        "visibility",
        '"executionType"',
    ),
    ("word unknown", {**HTTP, "visibility": "fully"}, "visibility", 'Did you mean "full"'),
    ("word of active", {**HTTP, "visibility": "visible"}, "visibility", '"dialect": "active"'),
    ("word of composite", {**V2, "visibility": "minimal"}, "visibility", '"executionType"'),
    ("display form never shown", {**FORM, "displayTool": False}, "displayTool", '"execution"'),
    (
        "display with visibility",
        {**HTTP, "displayTool": True, "visibility": "full"},
        "visibility",
        '"displayTool"',
    ),
    ("displayTool is a word", {**HTTP, "displayTool": "yes"}, "displayTool", "true or false"),
    ("two dialects in one tool", {**V2, "displayTool": True}, "displayTool", '"executionType": "gateway"'),
]


@pytest.mark.parametrize(
    ("raw", "field", "message"), [row[1:] for row in TOOLS], ids=[row[0] for row in TOOLS]
)
def test_a_wrong_tool_is_refused_at_its_field(raw: Any, field: str, message: str) -> None:
    of_v2 = raw["executionType"] in (None, "gateway", "external", "space", "internal")
    given = config(raw, **({"dialect": "active"} if of_v2 and "displayTool" not in raw else {}))
    place = (raw["name"] or "tools[0]", field)
    found = problems(given)
    assert [told for *where, told in found if tuple(where) == place and message in told], found
