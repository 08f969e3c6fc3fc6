"""Wrong tools, and the field that each refusal points to: schemas, people, templates, addresses."""

from typing import Any

import pytest

from tests.tools.written import CITY, FORM, HTTP, URL, config, of_type, problems, request


def basic(execution: Any) -> dict[str, Any]:
    return of_type("basic", execution)


def schema(value: Any) -> dict[str, Any]:
    return {**HTTP, "inputSchema": value}


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"type": "object"}
    for _ in range(depth):
        value = {"type": "object", "properties": {"a": value}}
    return value


TOOLS: list[tuple[str, Any, str, str]] = [
    # schemas
    ("schema is a list", schema([]), "inputSchema", "is not an object"),
    ("schema of a string", schema({"type": "string"}), "inputSchema", '"type": "object"'),
    ("type unknown", schema({"properties": {"a": {"type": "strng"}}}), "inputSchema", "properties/a/type"),
    ("properties are a list", schema({"properties": []}), "inputSchema", "not a JSON Schema"),
    (
        "reference outside",
        schema({"properties": {"a": {"$ref": "https://x.example/y"}}}),
        "inputSchema",
        "$ref",
    ),
    ("reference to a file", schema({"$defs": {"a": {"$ref": "other.json"}}}), "inputSchema", "#/$defs"),
    (
        "reference to nothing",
        schema({"properties": {"a": {"$ref": "#/$defs/b"}}}),
        "inputSchema",
        "leads nowhere",
    ),
    ("too deep", schema(nested(40)), "inputSchema", "64 deep"),
    ("pattern too long", schema({"properties": {"a": {"pattern": "a" * 513}}}), "inputSchema", "512"),
    (
        "pattern broken",
        schema({"properties": {"a": {"pattern": "("}}}),
        "inputSchema",
        "properties/a/pattern",
    ),
    (
        "pattern looks around",
        schema({"properties": {"a": {"pattern": "(?=a)b"}}}),
        "inputSchema",
        "look-around",
    ),
    ("result schema", {**HTTP, "resultSchema": {"type": "x"}}, "resultSchema", "not a JSON Schema"),
    (
        "owns targetSpaceId",
        schema({"properties": {"targetSpaceId": {}}}),
        "inputSchema.properties.targetSpaceId",
        "another name",
    ),
    (
        "owns targetSpaceIds",
        schema({"allOf": [{"properties": {"targetSpaceIds": {}}}]}),
        "inputSchema.properties.targetSpaceIds",
        "another name",
    ),
    (
        "owns targetEntityId",
        schema({"required": ["targetEntityId"]}),
        "inputSchema.properties.targetEntityId",
        "another name",
    ),
    (
        "display owns targetSpaceId",
        {**schema({"properties": {"targetSpaceId": {}}}), "displayTool": True},
        "inputSchema.properties.targetSpaceId",
        "another name",
    ),
    # who answers
    (
        "approvers of nobody's tool",
        {**HTTP, "approvers": {"roles": ["owner"]}},
        "approvers",
        '"approval": true',
    ),
    ("deadline of nobody", {**HTTP, "answerSeconds": 5}, "answerSeconds", '"approval": true'),
    (
        "approvers twice",
        {**HTTP, "approval": {"approvers": {"roles": ["owner"]}}, "approvers": {"entities": ["a"]}},
        "approvers",
        "approval.approvers",
    ),
    ("nobody", {**FORM, "approvers": {}}, "approvers", "names nobody"),
    ("empty roles", {**FORM, "approvers": {"roles": []}}, "approvers.roles", "at least one"),
    ("role", {**FORM, "approvers": {"roles": ["reader"]}}, "approvers.roles", '"owner" or "member"'),
    ("entity", {**FORM, "approvers": {"entities": ["a b"]}}, "approvers.entities", "is not an id"),
    ("approval is a word", {**HTTP, "approval": "yes"}, "approval", "write true"),
    ("approval when", {**HTTP, "approval": {"when": "sometimes"}}, "approval.when", '"new-arguments"'),
    # templates
    ("argument unknown", request(body={"q": "{{town}}"}), "execution.body", "{{town}}"),
    ("argument unknown in url", request(url=URL + "?q={{town}}"), "execution.url", "{{town}}"),
    ("argument unknown in header", request(headers={"X": "{{input.town}}"}), "execution.headers", "town"),
    ("argument unknown in query", request(query={"q": ["{{input.town}}"]}), "execution.query", "town"),
    ("inside a string", request(body="{{city.name}}"), "execution.body", "{{city.name}}"),
    ("class of a value", request(body="{{input.__class__}}"), "execution.body", "__class__"),
    ("routing as data", request(body="{{targetSpaceId}}"), "execution.body", "targetSpaceId"),
    ("argument in a key", request(body={"{{city}}": 1}), "execution.body", "in a key"),
    ("half a placeholder", request(body="{{city"), "execution.body", "no placeholder"),
    ("nested placeholder", request(body="{{ {{city}} }}"), "execution.body", "no placeholder"),
    ("wrong reference", request(headers={"X": "${API_KEY}"}), "execution.headers", "${env.NAME}"),
    (
        "expression",
        {**schema(CITY), "executionType": "compute", "execution": {"expression": "{{input.a}} + 1"}},
        "execution.expression",
        "{{input.a}}",
    ),
    (
        "secret in an expression",
        of_type("compute", {"expression": "${env.A}"}),
        "execution.expression",
        "show a secret",
    ),
    ("output", basic({"mode": "static", "output": {"a": ["{{b}}"]}}), "execution.output", "{{b}}"),
    (
        "input could be two",
        {**schema({"properties": {"input": {}}}), "execution": {"url": URL, "body": "{{input}}"}},
        "execution.body",
        "{{input.input}}",
    ),
    # addresses and headers
    ("host from input", request(url="https://{{city}}/"), "execution.url", "plain text"),
    ("host half from input", request(url="https://a.{{city}}.example/"), "execution.url", "plain text"),
    ("port from input", request(url="https://a.example:{{city}}/"), "execution.url", "plain text"),
    ("host from a secret", request(url="https://${env.HOST}/"), "execution.url", "plain text"),
    ("scheme from input", request(url="{{city}}://a.example/"), "execution.url", "https://"),
    ("whole address from input", request(url="{{city}}"), "execution.url", "https://"),
    ("file", request(url="file:///etc/passwd"), "execution.url", "https://"),
    ("no scheme", request(url="api.example.com/"), "execution.url", "https://"),
    ("password in the address", request(url="https://a:b@example.com/"), "execution.url", "password"),
    ("backslash", request(url="https://example.com/\\evil"), "execution.url", "backslash"),
    ("two hosts", request(url="https://a@127.0.0.1\\@example.com/"), "execution.url", "user name"),
    ("dots", request(url="https://example.com/a/../b"), "execution.url", '".."'),
    ("hidden dots", request(url="https://example.com/a/%2e%2E/b"), "execution.url", '".."'),
    ("fragment", request(url=URL + "#a"), "execution.url", '"#"'),
    ("key in the address", request(url=URL + "?api_key=abc"), "execution.url", "secret"),
    ("port", request(url="https://example.com:99999/"), "execution.url", "host"),
    ("header name", request(headers={"X Y": "a"}), "execution.headers.X Y", "name of a header"),
    ("header ours", request(headers={"Host": "a"}), "execution.headers.Host", "leave it out"),
    ("header of two lines", request(headers={"X": "a\r\nB: c"}), "execution.headers.X", "one line"),
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
