"""HTTP tools against real endpoints: what is sent, what becomes of the answer, what never gets out."""

import asyncio
import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest

from roomful.domain.outcomes import Done, Failed, Outcome
from roomful.domain.shape import UNSET
from roomful.domain.tools import Http
from roomful.egress import HttpEgress
from roomful.executors.http import HttpExecutor
from tests.egress.endpoints import Answer, Endpoint, answering, http, listening
from tests.executors.contexts import call_of, secrets

KEY = "sk-live-51HxYz/+secret=="


async def run(spec: Http, args: Mapping[str, Any], endpoint: Endpoint, *, seconds: float = 5) -> Outcome:
    egress = HttpEgress(allow=[endpoint.pair])
    try:
        return await HttpExecutor(egress, secrets(API_KEY=KEY)).execute(call_of(spec, args, seconds=seconds))
    finally:
        egress.close()


def called(
    answer: Answer | bytes, args: Mapping[str, Any] | None = None, path: str = "/", **fields: Any
) -> tuple[Outcome, Endpoint]:
    async def main() -> tuple[Outcome, Endpoint]:
        async with answering(answer) as endpoint:
            return await run(Http(endpoint.url(path), **fields), args or {}, endpoint), endpoint

    return asyncio.run(main())


OK = http(200, b'{"ok": true}', content_type="application/json")


def test_a_value_fills_the_query_and_json_comes_back() -> None:
    outcome, endpoint = called(OK, {"city": "New York & Ely"}, "/v1/current?city={{city}}&units=m")

    line, headers, body = endpoint.requests[0]
    assert outcome == Done({"ok": True})
    assert line == "GET /v1/current?city=New%20York%20%26%20Ely&units=m HTTP/1.1"
    assert body == b""
    assert "idempotency-key" not in headers
    assert "content-type" not in headers


def test_the_documents_own_example_keeps_types_and_sends_the_key() -> None:
    outcome, endpoint = called(
        OK,
        {"query": "rain", "limit": 3},
        method="POST",
        headers={"Authorization": "Bearer ${env.API_KEY}"},
        body={
            "query": "{{input.query}}",
            "limit": "{{input.limit}}",
            "note": "at most {{limit}}",
            "x": "{{no}}",
        },
    )

    line, headers, body = endpoint.requests[0]
    assert outcome == Done({"ok": True})
    assert line == "POST / HTTP/1.1"
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["content-type"] == "application/json"
    assert headers["idempotency-key"] == "call_1"
    assert json.loads(body) == {"query": "rain", "limit": 3, "note": "at most 3", "x": None}


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("POST", {"a": 1}),
        ("PUT", {"a": 1}),
        ("PATCH", {"a": 1}),
        ("DELETE", None),
        ("GET", None),
    ],
)
def test_without_a_body_the_input_is_sent_where_a_body_is_usual(method: str, expected: Any) -> None:
    _, endpoint = called(OK, {"a": 1}, method=method)

    body = endpoint.requests[0][2]
    assert (json.loads(body) if body else None) == expected


@pytest.mark.parametrize(
    ("body", "content_type", "sent", "sent_type"),
    [
        ({"a": "{{x}}", "b": None}, "application/x-www-form-urlencoded", b"a=1+%26+2", None),
        ("x is {{x}}", None, b"x is 1 & 2", "text/plain; charset=utf-8"),
        ("<x>{{x}}</x>", "application/xml", b"<x>1 & 2</x>", None),
        ("{{x}}", "application/json", b'"1 & 2"', None),
        ([1, "{{x}}"], None, b'[1,"1 & 2"]', "application/json"),
        (None, None, b"", ""),
        (UNSET, None, b'{"x":"1 & 2"}', "application/json"),
    ],
)
def test_a_body_is_written_as_its_type_says(
    body: Any, content_type: str | None, sent: bytes, sent_type: Any
) -> None:
    headers = {"content-Type": content_type} if content_type else {}

    _, endpoint = called(OK, {"x": "1 & 2"}, method="POST", body=body, headers=headers)

    assert endpoint.requests[0][2] == sent
    assert endpoint.requests[0][1].get("content-type", "") == (
        content_type if sent_type is None else sent_type
    )


def test_query_fields_are_added_and_missing_ones_left_out() -> None:
    _, endpoint = called(
        OK,
        {"tags": ["a", "b c"], "n": 2},
        "/x?a=1",
        query={"tag": "{{tags}}", "n": "{{n}}", "gone": "{{no}}", "k": True},
    )

    assert endpoint.requests[0][0] == "GET /x?a=1&tag=a&tag=b%20c&n=2&k=true HTTP/1.1"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (http(200, b"[1, 2]", content_type="application/json; charset=utf-8"), [1, 2]),
        (http(200, b'{"a": 1}', content_type="application/problem+json"), {"a": 1}),
        (http(200, b'{"a": 1}', content_type="text/plain"), {"a": 1}),
        (http(200, b'{"a": 1}'), {"a": 1}),
        (http(200, b"\xef\xbb\xbf{}", content_type="application/json"), {}),
        (http(200, "grüß".encode(), content_type="text/plain"), "grüß"),
        (http(200, "grüß".encode("latin-1"), content_type="text/plain; charset=iso-8859-1"), "grüß"),
        (http(200, b"a\xffb", content_type="text/plain"), "a\ufffdb"),
        (http(200, b"<p>1</p>", content_type="text/html"), "<p>1</p>"),
        (http(200, b"a\x00b", content_type="text/plain"), "a\ufffdb"),
        (http(200, b'{"a": "x\\u0000y"}', content_type="application/json"), {"a": "x\ufffdy"}),
        (http(204), None),
        (http(200, b"  \n", content_type="application/json"), None),
    ],
)
def test_an_answer_is_json_or_text_or_nothing(answer: bytes, expected: Any) -> None:
    assert called(answer)[0] == Done(expected)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (
            http(404, b'{"why":  "no such\\ncity"}'),
            'the endpoint answered HTTP 404 Not Found: {"why": "no such\\ncity"}',
        ),
        (http(500), "the endpoint answered HTTP 500 Internal Server Error"),
        (http(599, b"x" * 9999), "the endpoint answered HTTP 599: " + "x" * 299 + "…"),
        (
            http(302, location="http://169.254.169.254/"),
            "the endpoint answered HTTP 302 Found; redirects are not followed",
        ),
        (
            http(200, b"<html>login", content_type="application/json"),
            "the endpoint says it sends JSON, but this is none: <html>login",
        ),
        (
            http(200, b"\x89PNG\r\n\x1a\n\xff", content_type="image/png"),
            "the endpoint sent 9 bytes of image/png, which are neither JSON nor text",
        ),
        (
            http(200, b"[" * 100 + b"]" * 100, content_type="application/json"),
            "the endpoint's JSON is nested deeper than 64",
        ),
        (
            http(200, b"[" * 100_000, content_type="application/json"),
            "the endpoint's JSON is nested deeper than 64",
        ),
        (
            http(200, b"1" * 5000, content_type="application/json"),
            "the endpoint says it sends JSON, but this is none: " + "1" * 299 + "…",
        ),
    ],
)
def test_a_bad_answer_is_a_failure_told_in_a_sentence(answer: bytes, error: str) -> None:
    assert called(answer)[0] == Failed(error)


def test_an_endpoint_that_is_late_is_a_failure() -> None:
    async def silent(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async def main() -> Outcome:
        async with listening(silent) as endpoint:
            return await run(Http(endpoint.url()), {}, endpoint, seconds=0.2)

    assert asyncio.run(main()) == Failed("no complete answer within 0.2 s")


def test_an_inner_address_is_a_failure_and_gets_no_connection() -> None:
    async def main() -> None:
        async with answering(OK) as inner, answering(OK) as allowed:
            for url in (inner.url(), "http://169.254.169.254/latest/meta-data/", "http://localhost:6379/"):
                outcome = await run(Http(url), {}, allowed)
                assert isinstance(outcome, Failed)

            assert inner.connections == 0

    asyncio.run(main())


@pytest.mark.parametrize(
    "secret",
    [KEY, base64.b64encode(KEY.encode()).decode(), KEY.encode().hex(), "sk-live-51HxYz%2F%2Bsecret%3D%3D"],
)
@pytest.mark.parametrize("status", [200, 401])
@pytest.mark.parametrize("kind", ["application/json", "text/plain"])
def test_a_secret_that_comes_back_is_hidden(secret: str, status: int, kind: str) -> None:
    said = json.dumps({"echo": secret, secret: [secret]}) if kind.endswith("json") else f"you sent {secret}!"

    outcome, endpoint = called(
        http(status, said.encode(), content_type=kind),
        headers={"X-Key": "${env.API_KEY}"},
        path="/?k=${env.API_KEY}",
    )

    assert endpoint.requests[0][1]["x-key"] == KEY
    shown = str(outcome)
    assert "[secret]" in shown
    assert "51HxYz" not in shown
    assert secret.rstrip("=") not in shown


def test_a_secret_in_a_refused_url_is_hidden() -> None:
    async def main() -> Outcome:
        egress = HttpEgress()
        env = secrets(API_KEY="line\nbreak-secret")
        spec = Http("http://example.com/", headers={"X": "${env.API_KEY}"})
        try:
            return await HttpExecutor(egress, env).execute(call_of(spec, {}))
        finally:
            egress.close()

    outcome = asyncio.run(main())
    assert isinstance(outcome, Failed)
    assert "break-secret" not in outcome.error


@pytest.mark.parametrize(
    ("fields", "args"),
    [
        ({"headers": {"X-Note": "{{note}}"}}, {"note": "a\r\nX-Admin: 1"}),
        ({"headers": {"X-Note": "{{note}}"}}, {"note": "a\x00"}),
        ({"headers": {"X-Key": "${env.OTHER}"}}, {}),
        ({"path": "/users/{{id}}/x"}, {"id": ".."}),
        ({"path": "/users/{{id}}"}, {"id": "../../admin?x="}),
        ({"method": "CONNECT"}, {}),
        ({"headers": {"Host": "internal"}}, {}),
    ],
)
def test_what_would_break_out_is_refused_before_anything_is_sent(
    fields: dict[str, Any], args: dict[str, Any]
) -> None:
    outcome, endpoint = called(OK, args, **fields)

    assert isinstance(outcome, Failed)
    assert endpoint.connections == 0


def test_values_are_never_expanded_again() -> None:
    _, endpoint = called(
        OK, {"a": "{{b}} ${env.API_KEY}", "b": "no"}, method="POST", headers={"X-A": "{{a}}"}
    )

    assert endpoint.requests[0][1]["x-a"] == "{{b}} ${env.API_KEY}"
    assert KEY.encode() not in endpoint.requests[0][2]


def test_an_authors_own_letters_in_the_path_are_encoded() -> None:
    _, endpoint = called(OK, path='/straße/a%20b/"x"?q=ü|1')

    assert endpoint.requests[0][0] == "GET /stra%C3%9Fe/a%20b/%22x%22?q=%C3%BC%7C1 HTTP/1.1"
