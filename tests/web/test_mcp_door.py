"""The door of the MCP server: who comes in, and what is no request."""

import base64
from typing import Any

import pytest

from tests.web.mcp_asking import ask, furnish, request, tool
from tests.web.visiting import ADMIN_KEY, Visit, story

BOTH = {"accept": "application/json, text/event-stream"}
DOCUMENT = "/.well-known/oauth-protected-resource/mcp"


# Who comes in.


@story()
async def test_without_a_token_one_is_told_where_to_read_about_it(house: Visit) -> None:
    nobody = await ask(house, request("ping"), token=None)
    stranger = await ask(house, request("ping"), token="wrong")
    document = await house.ask("GET", DOCUMENT)
    elsewhere = await house.ask("GET", "/.well-known/oauth-protected-resource")
    other = await house.ask("GET", "/api/spaces")

    told = f'Bearer realm="roomful", resource_metadata="http://127.0.0.1:8000{DOCUMENT}"'
    assert (nobody.status, nobody.headers["www-authenticate"]) == (401, told)
    assert (stranger.status, stranger.headers["www-authenticate"]) == (401, told)
    assert document.json == elsewhere.json
    assert document.json == {
        "resource": "http://127.0.0.1:8000/mcp",
        "resource_name": "Roomful",
        "bearer_methods_supported": ["header"],
    }
    assert other.headers["www-authenticate"] == 'Bearer realm="roomful"'


@story(public_url="https://rooms.example/", oauth_issuers=("https://login.example",))
async def test_the_operator_says_where_it_is_and_who_gives_tokens(house: Visit) -> None:
    nobody = await ask(house, request("ping"), token=None)
    document = await house.ask("GET", DOCUMENT)

    assert f'"https://rooms.example{DOCUMENT}"' in nobody.headers["www-authenticate"]
    assert document.json["resource"] == "https://rooms.example/mcp"
    assert document.json["authorization_servers"] == ["https://login.example"]


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("localhost", "http://localhost"),
        ("[::1]", "http://[::1]"),
        ("[::1]:9", "http://[::1]:9"),
        ('localhost:9"x', "http://localhost:9"),
    ],
)
@story()
async def test_an_address_holds_nothing_but_a_name_and_a_port(house: Visit, host: str, address: str) -> None:
    document = await house.ask("GET", DOCUMENT, headers={"host": host})

    assert document.json["resource"] == f"{address}/mcp"


@story()
async def test_a_token_in_the_address_is_refused(house: Visit) -> None:
    await furnish(house)
    answer = await house.ask("POST", "/mcp?access_token=token-of-ada", request("ping"))

    assert answer.status == 401


@story()
async def test_another_name_or_another_page_gets_nothing(house: Visit) -> None:
    await furnish(house)
    rebound = await ask(house, request("ping"), host="rebound.example")
    page = await ask(house, request("ping"), origin="http://evil.example")
    null = await ask(house, request("ping"), origin="null")
    own = await ask(house, request("ping"), origin="http://localhost:8000")

    assert (rebound.status, page.status, null.status, own.status) == (421, 403, 403, 200)


@story()
async def test_the_cookie_counts_only_from_the_own_page(house: Visit) -> None:
    await furnish(house)
    signed_in = await house.ask("POST", "/api/session", {"token": "token-of-ada"})
    cookie = signed_in.headers["set-cookie"].partition(";")[0]
    body = tool("post_message", spaceId="room", text="hi")
    without = await ask(house, body, None, cookie=cookie)
    other_port = await ask(house, body, None, cookie=cookie, origin="http://127.0.0.1:9000")
    page = await ask(house, body, None, cookie=cookie, origin="http://127.0.0.1:8000")

    assert (without.status, other_port.status, page.status) == (403, 403, 200)
    assert page.json["result"]["structuredContent"]["message"]["seq"] == 1


@story()
async def test_the_admin_key_looks_by_itself_and_speaks_as_somebody(house: Visit) -> None:
    await furnish(house)
    looks = await ask(house, tool("list_spaces"), ADMIN_KEY)
    body = tool("post_message", spaceId="room", text="hi")
    alone = await ask(house, body, ADMIN_KEY)
    as_ada = await ask(house, body, ADMIN_KEY, x_roomful_as="ada")

    assert [space["id"] for space in looks.json["result"]["structuredContent"]["spaces"]] == ["room"]
    assert "X-Roomful-As" in alone.json["result"]["structuredContent"]["detail"]
    assert as_ada.json["result"]["structuredContent"]["message"]["entityId"] == "ada"


@story()
async def test_it_is_asked_by_post_alone(house: Visit) -> None:
    await furnish(house)
    for method in ("GET", "DELETE"):
        answer = await house.ask(method, "/mcp", token="token-of-ada", headers=BOTH)
        assert (answer.status, answer.headers["allow"]) == (405, "POST")


# What is no request.


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param(b"", -32700, id="nothing"),
        pytest.param(b"{", -32700, id="half"),
        pytest.param(b"\xff", -32700, id="bytes"),
        pytest.param(b"[" * 100 + b"]" * 100, -32700, id="deep"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":NaN}}', -32700, id="NaN"),
        pytest.param([request("ping")], -32600, id="batch"),
        pytest.param([], -32600, id="empty batch"),
        pytest.param("ping", -32600, id="text"),
        pytest.param({"id": 1, "method": "ping"}, -32600, id="no version"),
        pytest.param({"jsonrpc": "2.0", "id": 1}, -32600, id="no method"),
        pytest.param({"jsonrpc": "2.0", "id": 1, "result": {}}, -32600, id="an answer"),
        pytest.param(request("ping", id=None), -32600, id="id null"),
        pytest.param(request("ping", id={}), -32600, id="id object"),
        pytest.param({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}, -32600, id="params list"),
    ],
)
@story()
async def test_what_is_no_request_is_a_json_rpc_error(house: Visit, body: Any, code: int) -> None:
    await furnish(house)
    answer = await ask(house, body)

    assert (answer.status, answer.headers["content-type"]) == (400, "application/json")
    assert (answer.json["id"], answer.json["error"]["code"]) == (None, code)
    assert "Traceback" not in answer.body.decode()


@story()
async def test_a_body_has_the_limits_of_every_body(house: Visit) -> None:
    await furnish(house)
    large = await ask(house, tool("post_message", spaceId="room", text="x" * 1024 * 1024))
    text = await ask(house, request("ping"), content_type="text/plain")

    assert (large.status, large.json["code"]) == (413, "too_large")
    assert text.status == 415
    assert (await house.ask("GET", "/api/spaces/room/messages", token="token-of-ada")).json["messages"] == []


@story()
async def test_an_unknown_method_and_an_unknown_tool_are_errors(house: Visit) -> None:
    await furnish(house)
    method = await ask(house, request("prompts/list", id="a"))
    stranger = await ask(house, tool("drop_everything"))
    modern = await ask(house, request("server/discover"))

    assert (method.status, method.json["id"], method.json["error"]["code"]) == (200, "a", -32601)
    assert stranger.json["error"]["code"] == -32602
    assert "post_message" in stranger.json["error"]["message"]
    assert modern.json["error"]["code"] == -32601


@story()
async def test_a_notification_is_accepted_and_not_answered(house: Visit) -> None:
    await furnish(house)
    body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answer = await ask(house, body)
    acts = await ask(house, {**tool("post_message", spaceId="room", text="hi"), "id": None})
    del body["method"]

    assert (answer.status, answer.body) == (202, b"")
    assert acts.status == 400
    assert (await ask(house, body)).status == 400


@pytest.mark.parametrize(
    ("wanted", "given"),
    [
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        (7, "2025-11-25"),
    ],
)
@story()
async def test_the_handshake_agrees_on_a_version_and_keeps_no_session(
    house: Visit, wanted: Any, given: str
) -> None:
    await furnish(house)
    answer = await ask(house, request("initialize", protocolVersion=wanted, capabilities={}, clientInfo={}))

    assert answer.json["result"]["protocolVersion"] == given
    assert answer.json["result"]["capabilities"] == {"tools": {}, "resources": {}}
    assert "mcp-session-id" not in answer.headers


@pytest.mark.parametrize("arguments", [{}, {"spaceId": 1}, {"spaceId": "room", "colour": "red"}, [], "room"])
@story()
async def test_wrong_arguments_are_a_result_that_a_model_can_mend(house: Visit, arguments: Any) -> None:
    await furnish(house)
    answer = await ask(house, request("tools/call", name="read_messages", arguments=arguments))

    result = answer.json["result"]
    assert (result["isError"], result["structuredContent"]["code"]) == (True, "invalid")
    assert result["content"] == [{"type": "text", "text": result["structuredContent"]["detail"]}]


# The newer era.


def modern(method: str, version: str = "2026-07-28", **params: Any) -> tuple[dict[str, Any], dict[str, str]]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    headers = {"mcp_protocol_version": version, "mcp_method": method}
    return request(method, _meta=meta, **params), headers


@story()
async def test_a_stateless_request_says_all_about_itself(house: Visit) -> None:
    await furnish(house)
    body, headers = modern("tools/call", name="list_spaces")
    plain = await ask(house, body, **headers, mcp_name="list_spaces")
    wrapped = base64.b64encode(b"list_spaces").decode()
    coded = await ask(house, body, **headers, mcp_name=f"=?base64?{wrapped}?=")

    assert plain.json == coded.json
    assert plain.json["result"]["resultType"] == "complete"
    assert [space["id"] for space in plain.json["result"]["structuredContent"]["spaces"]] == ["room"]


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"mcp_name": "read_messages"}, -32020),
        ({"mcp_name": "=?base64?%%?="}, -32020),
        ({"mcp_method": "tools/list"}, -32020),
        ({"mcp_protocol_version": "2027-01-01"}, -32020),
        ({"_meta": {}}, -32602),
    ],
)
@story()
async def test_headers_that_say_something_else_are_refused(
    house: Visit, changed: dict[str, Any], code: int
) -> None:
    await furnish(house)
    body, headers = modern("tools/call", name="list_spaces")
    if "_meta" in changed:
        body["params"]["_meta"] = changed.pop("_meta")
    answer = await ask(house, body, **{**headers, "mcp_name": "list_spaces", **changed})

    assert (answer.status, answer.json["id"], answer.json["error"]["code"]) == (400, 1, code)


@story()
async def test_an_unknown_version_is_told_the_known_ones(house: Visit) -> None:
    await furnish(house)
    body, headers = modern("server/discover", "2027-01-01")
    unknown = await ask(house, body, **headers)
    body, headers = modern("ping")
    gone = await ask(house, body, **headers)

    assert (unknown.status, unknown.json["error"]["code"]) == (400, -32022)
    assert unknown.json["error"]["data"] == {
        "supported": ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"],
        "requested": "2027-01-01",
    }
    assert (gone.status, gone.json["error"]["code"]) == (404, -32601)
