"""To save or to import is to write down: nothing is started, asked or connected to before somebody works."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.security.evil_house import Outside
from tests.servers.fake_openai import Answer, FakeOpenAI, text
from tests.servers.roomful import Roomful, openai

SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}}


@pytest.fixture
def outside() -> Iterator[Outside]:
    with Outside() as server:
        yield server


def everything_at(address: str, model: Any) -> dict[str, Any]:
    """A configuration that names this address wherever one can be named."""
    tool = {"description": "T", "inputSchema": SCHEMA}
    hook = {"url": f"{address}/hook", "secret": "${env.HOOK}"}
    return {
        "name": "Busy",
        "model": model,
        "dialect": "active",
        "instructions": f"![x]({address}/i.png) {address}/instructions",
        "tools": [
            {
                **tool,
                "name": "a",
                "executionType": "gateway",
                "execution": {"url": f"{address}/a", "method": "POST"},
            },
            {**tool, "name": "b", "executionType": "external", "execution": hook},
        ],
        "mcp": {"servers": [{"name": "desk", "url": f"{address}/mcp"}]},
    }


def test_nothing_is_connected_to_when_an_agent_is_saved(tmp_path: Path, outside: Outside) -> None:
    environment = {"ROOMFUL_ALLOW_HOSTS": outside.pair, "ROOMFUL_TOOL_ENV": "HOOK", "HOOK": "hook-key"}
    with FakeOpenAI([Answer(text("ok"))]) as model, Roomful(tmp_path, **environment) as house:
        ada = house.person("ada")
        config = everything_at(f"http://{outside.pair}", openai(model.base_url))
        made = ada.post("/api/agents", {"id": "busy", **config}, expect=201)
        ada.call("PUT", "/api/agents/busy", config)
        ada.get("/api/agents/busy")
        ada.post("/api/spaces", {"id": "room", "name": "Room"}, expect=201)
        ada.post("/api/spaces/room/members", {"entityId": "busy"}, expect=201)
        house.terminate()
        house.start()
        assert made["id"] == "busy"
        assert (outside.requests, model.connections) == ([], 0)
        with ada.listen("room") as ears:
            ears.wait_for("snapshot")
            ada.say("room", "now")
            ears.wait_for("run.completed")
        assert {path for path, _, _ in outside.requests} == {"/mcp"}
        assert model.connections == 1


PROGRAMS: tuple[dict[str, Any], ...] = (
    {"transport": "stdio", "command": ["/bin/touch", "MARK"]},
    {"command": ["/bin/touch", "MARK"]},
    {"command": "/bin/touch MARK"},
    {"transport": "stdio", "command": "sh", "args": ["-c", "touch MARK"]},
    {"transport": "stdio", "url": "http://example.com/mcp", "command": ["touch", "MARK"]},
    {"url": "file:///bin/sh"},
    {"url": "stdio:touch MARK"},
    {"url": "http://example.com/mcp", "env": {"LD_PRELOAD": "x.so"}},
)


def test_no_program_is_started_for_whom_the_api_serves(house: Roomful, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    ada = house.person("ada")
    for program in PROGRAMS:
        server = {"name": "desk", **with_mark(program, str(mark))}
        config = {"id": "a", "name": "A", "model": "scripted:x", "tools": [], "mcp": {"servers": [server]}}
        for caller in (ada, house.admin):
            assert caller.request("POST", "/api/agents", config).status_code == 422, program
    assert not mark.exists()
    assert house.admin.request("GET", "/api/agents/a").status_code == 404


def with_mark(value: Any, mark: str) -> Any:
    """The same with the file's name in it."""
    if isinstance(value, str):
        return value.replace("MARK", mark)
    if isinstance(value, dict):
        return {key: with_mark(item, mark) for key, item in value.items()}
    return [with_mark(item, mark) for item in value]
