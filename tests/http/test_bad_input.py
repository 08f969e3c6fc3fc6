"""Wrong input gets a clear answer, loses nothing, and never becomes a 500."""

import json
from typing import Any

import httpx
import pytest

from tests.servers.roomful import Caller, Roomful

BODY_LIMIT = 1024 * 1024


def _problem(answer: httpx.Response, status: int, code: str) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"].startswith("application/problem+json")
    problem = answer.json()
    assert problem["status"] == status
    assert problem["code"] == code
    assert {"type", "title", "detail"} <= problem.keys()
    return problem["detail"]


@pytest.fixture
def ada(house: Roomful) -> Caller:
    person = house.person("ada")
    house.space("room", "ada")
    return person


MESSAGES = "/api/spaces/room/messages"


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        pytest.param(b"{", 400, "JSON", id="malformed"),
        pytest.param(b"", 400, "", id="empty"),
        pytest.param(b"\xff\xfe", 400, "", id="not-utf8"),
        pytest.param(b"[]", 422, "object", id="array"),
        pytest.param(b"{}", 422, "text", id="missing"),
        pytest.param(b'{"text": 5}', 422, "text", id="wrong-type"),
        pytest.param(b'{"text": "hi", "colour": "red"}', 422, "colour", id="unknown-field"),
        pytest.param(b'{"text": "  "}', 422, "text", id="blank"),
        pytest.param(b'{"text": "hi", "mentions": ["nobody"]}', 422, "nobody", id="unknown-mention"),
        pytest.param(b'{"text": "hi", "replyTo": "msg_x"}', 422, "msg_x", id="unknown-reply"),
        pytest.param(b'{"text":' + b"[" * 100_000, 400, "", id="deep"),
    ],
)
def test_a_wrong_body_is_refused_by_name(ada: Caller, body: bytes, status: int, words: str) -> None:
    assert words in _problem(ada.request("POST", MESSAGES, body), status, "invalid")
    assert ada.messages("room") == []


def test_a_body_over_the_limit_is_refused(ada: Caller) -> None:
    body = json.dumps({"text": "x" * (2 * BODY_LIMIT)}).encode()
    _problem(ada.request("POST", MESSAGES, body), 413, "too_large")

    def in_pieces() -> Any:
        for start in range(0, len(body), 65536):
            yield body[start : start + 65536]

    headers = {"authorization": f"Bearer {ada.token}", "content-type": "application/json"}
    try:
        answer = httpx.post(ada.house.url + MESSAGES, content=in_pieces(), headers=headers)
        _problem(answer, 413, "too_large")
    except httpx.WriteError:
        pass  # the server hung up before all was sent, which is as good
    assert ada.messages("room") == []


@pytest.mark.parametrize("text", ["nul \x00 here", "lone \ud800 surrogate", "\udfff"])
def test_poison_is_cleaned_and_never_blocks_a_space(ada: Caller, text: str) -> None:
    body = json.dumps({"text": f"a{text}b"}).encode()
    with ada.listen("room") as listener:
        answer = ada.request("POST", MESSAGES, body)
        assert answer.status_code == 201, answer.text
        heard = listener.wait_for("smartSpace.message").data["message"]
    [stored] = ada.messages("room")
    assert stored == heard
    assert "\ufffd" in stored["parts"][0]["text"]
    ada.say("room", "and it goes on")
    assert [message["seq"] for message in ada.messages("room")] == [1, 2]


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/spaces/nowhere", 404, "not_found"),
        ("GET", "/api/spaces/nowhere/messages", 404, "not_found"),
        ("GET", "/api/runs/run_x", 404, "not_found"),
        ("POST", "/api/runs/run_x/cancel", 404, "not_found"),
        ("GET", "/api/agents/nobody", 404, "not_found"),
        ("GET", "/api/nothing", 404, "not_found"),
        ("PUT", "/api/spaces", 405, "invalid"),
        ("GET", f"{MESSAGES}?limit=0", 422, "invalid"),
        ("GET", f"{MESSAGES}?limit=many", 422, "invalid"),
        ("GET", f"{MESSAGES}?before=-1", 422, "invalid"),
        ("GET", f"{MESSAGES}?colour=red", 422, "invalid"),
        ("GET", "/api/spaces/..%2f..%2fetc", 404, "not_found"),
    ],
)
def test_unknown_things_are_problems(ada: Caller, method: str, path: str, status: int, code: str) -> None:
    _problem(ada.request(method, path), status, code)


def test_an_id_must_be_an_id(house: Roomful) -> None:
    for wrong in ["", "-x", "a b", "x" * 65, "ä", "a/b"]:
        answer = house.admin.request("POST", "/api/spaces", {"id": wrong, "name": "S"})
        assert "id" in _problem(answer, 422, "invalid")
    _problem(house.admin.request("POST", "/api/spaces", {"id": "s", "name": ""}), 422, "invalid")
    house.space("taken")
    _problem(house.admin.request("POST", "/api/spaces", {"id": "taken", "name": "S"}), 409, "conflict")


def test_a_wrong_agent_is_refused_with_tool_and_field(house: Roomful) -> None:
    config = {
        "id": "a",
        "name": "A",
        "model": "scripted:x",
        "tools": [{"name": "t", "executionTyp": "basic"}],
    }
    detail = _problem(house.admin.request("POST", "/api/agents", config), 422, "invalid")
    assert "tool t: executionTyp" in detail
    assert house.admin.request("GET", "/api/agents/a").status_code == 404


def test_a_literal_secret_is_refused_without_a_key_to_seal_it(tmp_path: Any) -> None:
    model = {"name": "openai:x", "apiKey": "sk-very-secret"}
    config = {"id": "a", "name": "A", "model": model, "tools": []}
    with Roomful(tmp_path, ROOMFUL_SECRET_KEY="") as house:
        detail = _problem(house.admin.request("POST", "/api/agents", config), 422, "invalid")
        assert "apiKey" in detail
        assert "sk-very-secret" not in detail


def test_a_sealed_secret_is_nowhere_in_clear(house: Roomful) -> None:
    model = {"name": "openai:x", "apiKey": "sk-very-secret-canary"}
    house.admin.post("/api/agents", {"id": "a", "name": "A", "model": model, "tools": []}, expect=201)
    assert "sk-very-secret-canary" not in json.dumps(house.admin.get("/api/agents/a"))
    files = [path for path in house.folder.iterdir() if path.is_file()]
    assert len(files) > 1
    assert all(b"sk-very-secret-canary" not in path.read_bytes() for path in files)


def test_the_same_key_gives_the_same_answer_and_another_body_a_conflict(ada: Caller) -> None:
    body = {"text": "once", "clientMessageId": "key-1"}
    first = ada.request("POST", MESSAGES, body)
    again = ada.request("POST", MESSAGES, body)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert again.headers["idempotent-replay"] == "true"
    assert "idempotent-replay" not in first.headers
    other = ada.request("POST", MESSAGES, {**body, "text": "different"})
    _problem(other, 409, "conflict")
    headers = {"idempotency-key": "key-2"}
    for _ in range(2):
        ada.request("POST", MESSAGES, {"text": "twice"}, headers=headers)
    assert len(ada.messages("room")) == 2


def test_openapi_names_every_route(house: Roomful) -> None:
    document = httpx.get(f"{house.url}/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert "post" in document["paths"]["/api/spaces/{id}/messages"]
    assert httpx.get(f"{house.url}/healthz").status_code == 200
