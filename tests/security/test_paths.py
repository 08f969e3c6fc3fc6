"""Addresses, headers and bodies that mean something else than they say."""

import asyncio
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from roomful.web.ask import AnyRoute
from roomful.web.table import TABLE
from tests.web.test_server import serving
from tests.web.test_table import body_of, path_of
from tests.web.visiting import ADMIN_KEY, Visit, story

INSIDE = (b"root:", b"import ", b"SQLite format", b"PATH=", b"[project]", b"ROOMFUL_")
"""What files hold that nobody is served."""
FILES = ("etc/passwd", "house.py", "roomful.db", "proc/self/environ", "../pyproject.toml")
UPS = ("../", "..%2f", "%2e%2e/", "%2e%2e%2f", "..%5c", "..\\", ".%2e/", "%252e%252e%252f", "....//", "..;/")
UPS += (
    "%c0%ae%c0%ae/",
    "%uff0e%uff0e/",
    "..%00/",
    "/",
    "%2f",
    "\\\\",
    "./",
    "..%c0%af",
    "%e0%80%ae%e0%80%ae/",
)
ROOTS = ("/", "/api/blobs/", "/static/", "/page.js/")
DUMPS = (
    "/env",
    "/.env",
    "/.git/config",
    "/debug",
    "/debug/pprof",
    "/config",
    "/server-status",
    "/actuator/env",
)
DUMPS += (
    "/proc/self/environ",
    "/api/settings",
    "/api/config",
    "/__debug__",
    "/console",
    "/phpinfo",
    "/trace",
)
DUMPS += (
    "/roomful.toml",
    "/roomful.db",
    "/docs",
    "/redoc",
    "/admin",
    "/graphql",
    "/.well-known/openid-configuration",
)


def climbs() -> Iterator[str]:
    for root, up, file in itertools.product(ROOTS, UPS, FILES):
        yield f"{root}{up * 3}{file}"


@story()
async def test_no_way_of_writing_a_path_leads_out_of_it(house: Visit) -> None:
    ada = await house.person("ada")
    paths = list(climbs())
    assert len(paths) >= 200
    async with serving(house) as running:
        assert (await fetched(running, "/page.css", ada)).startswith(b"HTTP/1.1 200")
        for path in paths:
            answer = await fetched(running, path, ada)
            assert re.match(rb"HTTP/1.1 (400|404) ", answer), (path, answer[:200])
            assert not [words for words in INSIDE if words in answer], path


async def fetched(running: Any, path: str, token: str) -> bytes:
    """As it is written, byte by byte: no client makes it harmless first."""
    reader, writer = await running.dial()
    headers = f"host: 127.0.0.1\r\nauthorization: Bearer {token}\r\nconnection: close"
    writer.write(f"GET {path} HTTP/1.1\r\n{headers}\r\n\r\n".encode())
    async with asyncio.timeout(10):
        answer = await reader.read()
    writer.close()
    return answer


@story()
async def test_nothing_about_the_inside_is_served(house: Visit) -> None:
    await house.person("ada")
    for path, token in itertools.product(DUMPS, ("token-of-ada", ADMIN_KEY)):
        assert (await house.ask("GET", path, token=token)).status == 404, path
    for path, word in (("/healthz", "ok"), ("/readyz", "ready")):
        assert (await house.ask("GET", path)).json == {"status": word}


KINDS = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/xml")
KINDS += ("application/octet-stream", "application/yaml", "application/jsonp", "a")


@pytest.mark.parametrize(
    "route",
    [pytest.param(route, id=f"{route.method} {route.path}") for route in TABLE if route.body is not None],
)
@story()
async def test_a_body_is_json_and_nothing_else(house: Visit, route: AnyRoute) -> None:
    await house.person("private")
    await house.space("private", private="owner")
    token = ADMIN_KEY if route.path == "/api/entities" else "token-of-private"
    path = path_of(route)
    if path.startswith("/api/agents/"):
        return  # there is no such agent, which is said first
    for kind in KINDS:
        answer = await house.ask(
            route.method, path, body_of(route), token=token, headers={"content-type": kind}
        )
        assert answer.status in (404, 415), (kind, answer.body)


SQL = ("' OR '1'='1", "1; DROP TABLE messages --", "%", "_", "*", '"', "a') UNION SELECT body FROM spaces --")
SQL += ("$.*", "\\", "{}", "[]", "null", "true", "-1", "9" * 30, "\x00", "' || (SELECT 1) || '", "NEAR(a b)")
KEYS = (
    "sort",
    "order",
    "filter",
    "orderBy",
    "limit; DROP",
    "limit--",
    "q[]",
    "q[$ne]",
    "before'",
    "__proto__",
    "json",
)


@story()
async def test_keys_come_from_a_list_and_values_are_only_values(house: Visit) -> None:
    """No answer is an accident, none shows what is not the caller's, and everything is still there."""
    await house.person("ada")
    eve = await house.person("eve")
    await house.space("secret", ada="owner")
    await house.space("room", ada="owner", eve="member")
    await house.ask("POST", "/api/spaces/secret/messages", {"text": "canary"}, token="token-of-ada")
    await house.ask("POST", "/api/spaces/room/messages", {"text": "hello"}, token="token-of-ada")
    asked = 0
    for route in (route for route in TABLE if route.method == "GET" and not route.streams):
        known = [field.encode_name for field in msgspec.structs.fields(route.query)]
        pairs = [*itertools.product(KEYS, ("1", "name")), *itertools.product(known, SQL)]
        for key, value in pairs:
            path = f"{path_of(route, 'room')}?{quoted(key)}={quoted(value)}"
            answer = await house.ask("GET", path, token=eve)
            asked += 1
            assert answer.status in (200, 401, 403, 404, 422), (path, answer.body)
            assert answer.status in (401, 403, 404, 422) or key in known, path
            assert b"canary" not in answer.body, path
    assert asked > 500
    found = await house.ask("GET", "/api/spaces/room/messages?q=hello&limit=1", token=eve)
    assert len(found.json["messages"]) == 1


def quoted(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


WHO = (
    "x-api-key",
    "proxy-authorization",
    "x-auth-token",
    "x-access-token",
    "x-forwarded-user",
    "x-remote-user",
)
WHO += (
    "x-roomful-token",
    "x-original-authorization",
    "www-authenticate",
    "token",
    "api-key",
    "sec-websocket-protocol",
)


@story()
async def test_no_other_header_says_who_asks(house: Visit) -> None:
    ada = await house.person("ada")
    await house.space("room", ada="owner")
    for name, value in itertools.product(WHO, (ada, f"Bearer {ada}", "ada", ADMIN_KEY)):
        answer = await house.ask("GET", "/api/spaces/room", headers={name: value})
        assert answer.status == 401, name
    for value in (f"Basic {ada}", f"Token {ada}", ada, f"Bearer{ada}", f"Bearer {ada} x", "Bearer"):
        answer = await house.ask("GET", "/api/spaces/room", headers={"authorization": value})
        assert answer.status == 401, value
    for name in ("x-http-method-override", "x-original-url", "x-rewrite-url", "x-forwarded-host"):
        answer = await house.ask("GET", "/api/spaces/room", headers={name: "/api/spaces"}, token=ada)
        assert answer.json["id"] == "room", name
    assert (await house.ask("GET", "/api/spaces/room", token=ada)).status == 200


BREAKS = (
    "\r",
    "\n",
    "\r\n",
    "\n\n",
    "\r\n\r\n",
    "\u2028",
    "\u2029",
    "\u0085",
    "\x0b",
    "\x0c",
    "\ufeff",
    "\x1e",
)
FORGED = ("event: run.completed", "data: {}", "id: 1.1", ": comment", "retry: 1", "data: [DONE]")


@story()
async def test_no_text_writes_a_frame_of_its_own(house: Visit) -> None:
    """A reader finds as many frames as there were messages, and in them the texts as they were sent."""
    ada = await house.person("ada")
    await house.space("room", ada="owner")
    stream = house.open("GET", "/api/spaces/room/stream", token=ada)
    mine = house.open("GET", "/api/stream", token=ada)
    other = house.open("GET", "/stream/room", token=ada)
    await stream.event("snapshot")
    await mine.event("snapshot")
    await other.until(lambda stream: stream.sends)
    texts = [f"a{gap}{line}{gap}b" for gap, line in itertools.product(BREAKS, FORGED)]
    for text in texts:
        posted = await house.ask("POST", "/api/spaces/room/messages", {"text": text}, token=ada)
        assert posted.status == 201
    for reader in (stream, mine):
        await reader.until(lambda stream: stream.text.count("event: smartSpace.message\n") >= len(texts))
        heard = frames(reader.text)[-len(texts) :]
        assert {event["event"] for event in heard} == {"smartSpace.message"}
        assert [json.loads(event["data"])["message"]["parts"][0]["text"] for event in heard] == texts
        assert len(frames(reader.text)) == len(texts) + 1
    await other.until(lambda stream: stream.text.count("event: user_message") == len(texts))
    told = [event for event in frames(other.text) if "data" in event]
    assert [event["event"] for event in told] == ["user_message"] * len(texts)


def frames(text: str) -> list[dict[str, str]]:
    """As the specification cuts them: by these ends of lines and no others."""
    lines = re.split(r"\r\n|\n|\r", text)
    groups = [[*group] for is_frame, group in itertools.groupby(lines, bool) if is_frame]
    cut = [[line.partition(": ") for line in group if not line.startswith(":")] for group in groups]
    return [{name: value for name, _, value in fields} for fields in cut if fields]
