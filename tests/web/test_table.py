"""The route table: no route without a rule, and the document says what is served."""

import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from roomful.web.ask import AnyRoute
from roomful.web.openapi import describe
from roomful.web.rules import ANYONE, Rule
from roomful.web.table import TABLE
from tests.web.visiting import Visit, story

OPEN = {
    ("GET", "/"),
    ("GET", "/page.js"),
    ("GET", "/page.css"),
    ("GET", "/icon.svg"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/openapi.json"),
    ("GET", "/.well-known/oauth-protected-resource"),
    ("GET", "/.well-known/oauth-protected-resource/mcp"),
    ("GET", "/api/door"),
    ("POST", "/api/session"),
    ("POST", "/api/callbacks/{callId}/{key}"),
}
BODIES: dict[str, Any] = {
    "NewMessage": {"text": "hi"},
    "NewText": {"text": "hi"},
    "ReadMark": {"messageId": "m"},
    "NewSpace": {"name": "S"},
    "SpaceChanges": {},
    "NewMember": {"entityId": "eve"},
    "NewInvite": {},
    "ToolResult": {"toolCallId": "c", "result": 1},
    "dict": {"name": "A"},
    "NewEntity": {"name": "E"},
    "SignIn": {"token": "wrong"},
    "ServiceTrigger": {"serviceName": "s"},
    "LateResult": {"result": 1},
    "NewMemory": {"value": 1},
    "McpApproval": {"digest": "0" * 64},
    "ChatRequest": {
        "id": "private",
        "messages": [{"role": "user", "parts": [{"type": "text", "text": "hi"}]}],
    },
    "RunAgentInput": {"threadId": "t", "messages": [{"id": "m", "role": "user", "content": "hi"}]},
    "MessageEnvelope": {"conversation_id": "c", "sender": "user:eve", "recipient": "chat:c", "content": "hi"},
}
ROUTES = [pytest.param(route, id=f"{route.method} {route.path}") for route in TABLE]


def body_of(route: AnyRoute) -> Any:
    return None if route.body is None else BODIES[getattr(route.body, "__name__", "dict")]


def path_of(route: AnyRoute, id: str = "private") -> str:
    return re.sub(r"{(\w+)}", id, route.path)


def test_only_these_routes_are_open() -> None:
    assert {(route.method, route.path) for route in TABLE if route.access is ANYONE} == OPEN
    assert all(isinstance(route.access, Rule) and route.access.says for route in TABLE)
    assert len({(route.method, route.path) for route in TABLE}) == len(TABLE)


@pytest.mark.parametrize("route", ROUTES)
@story()
async def test_without_a_token_there_is_nothing_behind_a_rule(house: Visit, route: AnyRoute) -> None:
    answer = await house.ask(route.method, path_of(route), body_of(route))

    is_open = route.access is ANYONE
    assert answer.status == {"/api/callbacks/{callId}/{key}": 404}.get(
        route.path, 200 if is_open and route.method == "GET" else 401
    )


@pytest.mark.parametrize("route", ROUTES)
@story()
async def test_every_answer_protects_the_browser(house: Visit, route: AnyRoute) -> None:
    await house.person("private")
    await house.space("private", private="owner")
    stream = house.open(route.method, path_of(route), body_of(route), token="token-of-private")
    await stream.until(lambda stream: stream.start)
    given = {name.decode(): value.decode() for name, value in stream.start["headers"]}

    assert given["x-content-type-options"] == "nosniff"
    assert given["referrer-policy"] == "no-referrer"
    assert given["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in given["content-security-policy"]
    assert "unsafe" not in given["content-security-policy"]
    assert "no-store" in given["cache-control"] or not route.path.startswith("/api")
    assert not [name for name in given if name.startswith("access-control")]


@pytest.mark.parametrize("route", [route for route in TABLE if route.path.startswith("/api/spaces/{id}")])
@story()
async def test_what_is_forbidden_looks_like_what_is_not_there(house: Visit, route: AnyRoute) -> None:
    await house.person("ada")
    await house.space("private", ada="owner")
    eve = await house.person("eve")
    sent = {"body": body_of(route), "token": eve}
    forbidden = await house.ask(route.method, path_of(route), **sent)
    unknown = await house.ask(route.method, path_of(route, "nowhere"), **sent)

    assert forbidden.status == unknown.status == 404
    assert forbidden.headers == unknown.headers
    assert forbidden.body == unknown.body.replace(b"nowhere", b"private")


@pytest.mark.parametrize("id", ["%00", "a%20b", "..", "a%0d%0ab", "x" * 65, "-", "a%2525"])
@story()
async def test_what_cannot_be_an_id_names_nothing(house: Visit, id: str) -> None:
    from urllib.parse import unquote

    ada = await house.person("ada")
    for path in ("/api/spaces/{id}", "/api/runs/{id}", "/api/agents/{id}", "/api/entities/{id}/tokens"):
        answer = await house.ask("GET", unquote(path.replace("{id}", id)), token=ada)
        assert answer.status == 404


@story()
async def test_unknown_paths_and_methods_are_problems(house: Visit) -> None:
    nowhere = await house.ask("GET", "/api/nowhere")
    wrong = await house.ask("PUT", "/api/spaces")
    slash = await house.ask("GET", "/api/spaces/")
    head = await house.ask("HEAD", "/healthz")
    head_of_stream = await house.ask("HEAD", "/api/stream")

    assert (nowhere.status, nowhere.json["code"]) == (404, "not_found")
    assert (wrong.status, wrong.headers["allow"]) == (405, "GET, HEAD, POST")
    assert slash.status == 404
    assert head.status == 200
    assert head_of_stream.status == 405


@pytest.mark.parametrize(
    "path", ["/..%2fpage.js", "/page/page.js", "/page.py", "//page.js", "/page.js/..", "/%2e%2e/house.py"]
)
@story()
async def test_no_other_file_is_served(house: Visit, path: str) -> None:
    from urllib.parse import unquote

    assert (await house.ask("GET", path)).status == 404
    assert (await house.ask("GET", unquote(path))).status == 404


def _refs(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for item in value.values():
            yield from _refs(item)
    elif isinstance(value, list):
        for item in value:
            yield from _refs(item)


def test_the_document_is_sound() -> None:
    document = describe(TABLE)
    schemas = document["components"]["schemas"]
    operations = [operation for path in document["paths"].values() for operation in path.values()]

    assert document["openapi"] == "3.1.0"
    assert {ref.removeprefix("#/components/schemas/") for ref in _refs(document)} == set(schemas)
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    assert len({operation["operationId"] for operation in operations}) == len(operations) == len(TABLE)
    for path, methods in document["paths"].items():
        for operation in methods.values():
            named = {each["name"] for each in operation["parameters"] if each["in"] == "path"}
            assert named == set(re.findall(r"{(\w+)}", path))
            assert operation["responses"]


@story(demo_people=({"id": "ada", "name": "Ada", "token": "t"},))
async def test_the_demo_names_its_people_and_the_document_says_so(house: Visit) -> None:
    assert (await house.ask("GET", "/api/demo")).json == [{"id": "ada", "name": "Ada", "token": "t"}]
    assert "/api/demo" in (await house.ask("GET", "/openapi.json")).json["paths"]


@story()
async def test_without_the_demo_there_are_no_people_to_choose(house: Visit) -> None:
    assert (await house.ask("GET", "/api/demo")).status == 404


def test_the_document_knows_every_status_of_a_right_answer() -> None:
    paths = describe(TABLE)["paths"]

    assert set(paths["/api/spaces/{id}/messages"]["post"]["responses"]) == {"201", "200", "default"}
    assert set(paths["/api/chat/{id}/stream"]["get"]["responses"]) == {"200", "204", "default"}
    members = paths["/api/spaces/{id}/members"]["post"]["responses"]
    assert members["200"]["content"] == members["201"]["content"]
