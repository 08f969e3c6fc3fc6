"""Every route, asked by everybody: who is let in and who is not; a refusal tells and changes nothing."""

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from roomful.web.mcp.server import TOOLS
from roomful.web.table import TABLE
from tests.security.matrix import ROWS, Row
from tests.security.scenes import CALLERS, STRANGERS, Scene, Town, clerk
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.inhouse import InHouse

STATUS = {"not_found": 404, "forbidden": 403, "invalid": 422, "conflict": 409}
RESOURCE_NOT_FOUND = -32002
UNKNOWN = "nowhere"


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    with FakeOpenAI(clerk) as model, InHouse(tmp_path_factory.mktemp("town")) as house:
        yield Town(house, model)


def test_every_route_and_every_tool_is_in_the_matrix() -> None:
    assert {(row.method, row.route) for row in ROWS} == {(route.method, route.path) for route in TABLE}
    assert {tool.name for tool in TOOLS} <= {row.tool for row in ROWS}


@pytest.mark.parametrize("row", [pytest.param(row, id=row.id) for row in ROWS])
def test_everybody_gets_what_is_theirs_and_a_refusal_changes_nothing(town: Town, row: Row) -> None:
    scene = Scene(town)
    assert scene.message
    prepare(row, scene)
    before = scene.state()
    for name in CALLERS:
        if not row.is_let_in(name):
            check(row, scene, name)
    assert scene.state() == before
    for name in CALLERS:
        if row.is_let_in(name):
            stage = Scene(town) if row.spends else scene
            prepare(row, stage)
            check(row, stage, name)


def prepare(row: Row, scene: Scene) -> None:
    """What the row is about is there before it is asked for."""
    for thing in re.findall(r"{(\w+)}", f"{row.at} {row.body!r} {{{row.needs or 'space'}}}"):
        getattr(scene, thing, None)


def check(row: Row, scene: Scene, name: str) -> None:
    status, told = ask(row, scene, name, row.at)
    assert status == row.expected(name), f"{name}: {status} {told[:500]!r}"
    if name in STRANGERS:
        assert scene.canary.encode() not in told, f"{name} reads what is said inside"
    if status == 404 and not row.opens:
        check_nothing_is_told(row, scene, name, told)


def check_nothing_is_told(row: Row, scene: Scene, name: str, told: bytes) -> None:
    """Forbidden and unknown are told in the same bytes, but for the name that was asked."""
    for thing in re.findall(r"{(space|run|failed|agent|blob|card)}", row.at + repr(row.body)):
        status, other = ask(row, scene, name, row.at, **{thing: UNKNOWN})
        real = str(getattr(scene, thing)).encode()
        assert (status, other) == (404, told.replace(real, UNKNOWN.encode())), f"{name} can probe for {thing}"


def ask(row: Row, scene: Scene, name: str, at: str, **instead: str) -> tuple[int, bytes]:
    caller = scene.caller(name)
    given = {"caller": name, "sender": sender(name, scene), **instead}
    body = filled(row.body, scene, **given)
    headers = {"authorization": f"Bearer {caller.token}"} if caller.token else {}
    headers |= dict(row.headers)
    content = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    if content is not None:
        headers["content-type"] = "text/plain" if isinstance(row.body, bytes) else "application/json"
    address = scene.town.house.url + filled(at, scene, **given)
    with scene.town.house.client.stream(row.method, address, headers=headers, content=content) as answer:
        told = first_words(answer)
    return (status_in(told) if row.tool and answer.status_code == 200 else answer.status_code), told


def first_words(answer: httpx.Response) -> bytes:
    """All of an answer, or what a stream begins with."""
    if not answer.headers.get("content-type", "").startswith("text/event-stream"):
        return answer.read()
    told = b""
    for piece in answer.iter_raw():
        told += piece
        if b"\n\n" in told:
            break
    return told


def status_in(told: bytes) -> int:
    said: dict[str, Any] = json.loads(told)
    if "error" in said:
        assert said["error"]["code"] == RESOURCE_NOT_FOUND, said
        return 404
    result = said["result"]
    return STATUS[result["structuredContent"]["code"]] if result.get("isError") else 200


def sender(name: str, scene: Scene) -> str:
    kind = "agent" if name in ("bot", "spy") else "user"
    return f"{kind}:{scene.caller(name).id or 'mem'}"


def filled(value: Any, scene: Scene, **instead: str) -> Any:
    if isinstance(value, str):
        return re.sub(
            r"{(\w+)}", lambda found: str(instead.get(found[1]) or getattr(scene, found[1], "")), value
        )
    if isinstance(value, dict):
        return {key: filled(item, scene, **instead) for key, item in value.items()}
    return [filled(item, scene, **instead) for item in value] if isinstance(value, list) else value
