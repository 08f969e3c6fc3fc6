"""An operator's file names MCP servers, a model calls their tools, a space sees what it may."""

import json
from pathlib import Path
from typing import Any

from tests.requirements import requirement
from tests.servers.fake_openai import Answer, FakeOpenAI, call, text
from tests.servers.mcp_server import STDIO, McpHttpServer
from tests.servers.roomful import Roomful, openai


def _agents(folder: Path, model: FakeOpenAI, *servers: dict[str, Any]) -> Path:
    config = {
        "id": "guide",
        "name": "Guide",
        "model": openai(model.base_url),
        "dialect": "active",
        "mcp": {"servers": list(servers)},
    }
    folder.mkdir()
    (folder / "guide.json").write_text(json.dumps(config))
    return folder


def _told(asked: Any) -> dict[str, str]:
    """The results of the calls, by their tool, as the model is told them."""
    calls = {c["id"]: c["function"]["name"] for m in asked.messages for c in m.get("tool_calls") or []}
    return {calls[m["tool_call_id"]]: m["content"] for m in asked.messages if m["role"] == "tool"}


@requirement("T-17")
def test_a_model_calls_the_tools_of_the_servers_that_a_file_names(tmp_path: Path, model: FakeOpenAI) -> None:
    with McpHttpServer(tmp_path) as server:
        agents = _agents(
            tmp_path / "agents",
            model,
            {
                "name": "city",
                "url": server.url,
                "transport": "http",
                "allowedTools": ["weather", "say.twice", "secret"],
                "visibility": {"say.twice": "visible"},
                "headers": {"X-Secret": "${env.CITY_KEY}"},
            },
            {"name": "desk", "transport": "stdio", "command": list(STDIO), "allowedTools": ["weather"]},
            {"name": "gone", "url": "http://127.0.0.1:9/mcp"},
        )
        environment = {
            "ROOMFUL_ALLOW_HOSTS": f"{server.authority},127.0.0.1:9",
            "ROOMFUL_TOOL_ENV": "CITY_KEY",
            "CITY_KEY": "city-key-4711",
        }
        with Roomful(tmp_path, "--agents", str(agents), **environment) as house:
            ada = house.person("ada")
            house.space("trip", "ada", "guide")
            pieces = [
                *call("city_weather", {"city": "Rome"}, index=0, id="c0"),
                *call("city_say_twice", {"text": "hello"}, index=1, id="c1"),
                *call("desk_weather", {"city": "Oslo"}, index=2, id="c2"),
                *call("city_secret", {}, index=3, id="c3"),
            ]
            model.answer(Answer(pieces), Answer(text("Done.")))
            with ada.listen("trip") as listener:
                ada.say("trip", "the weather?")
                listener.wait_for("run.completed")
            first, second = model.wait_for_requests(2)
            [bubble] = [m for m in ada.messages("trip") if m["entityId"] == "guide"]
        log = house.log.read_text()
    names = {tool["function"]["name"] for tool in first.body["tools"]}
    assert {"city_weather", "city_say_twice", "city_secret", "desk_weather"} <= names
    assert not names & {"city_fail", "desk_fail", "gone_weather"}
    assert _told(second) == {
        "city_weather": '{"city":"Rome","degrees":21}',
        "city_say_twice": "hello\nhello",
        "desk_weather": '{"city":"Oslo","degrees":21}',
        "city_secret": "got [secret]",
    }
    assert [(part["toolName"], part["result"]) for part in bubble["parts"]] == [
        ("city_say_twice", "hello\nhello")
    ]
    assert "guide goes without the tools of the MCP server gone" in log
    assert "city-key-4711" not in log


@requirement("T-17")
def test_an_approval_is_asked_for_before_a_servers_tool_runs(tmp_path: Path, model: FakeOpenAI) -> None:
    with McpHttpServer(tmp_path) as server:
        given = {"name": "city", "url": server.url, "visibility": "visible", "approval": {"weather": True}}
        agents = _agents(tmp_path / "agents", model, given)
        allow = {"ROOMFUL_ALLOW_HOSTS": server.authority}
        with Roomful(tmp_path, "--agents", str(agents), **allow) as house:
            ada = house.person("ada")
            house.space("trip", "ada", "guide")
            model.answer(Answer(call("city_weather", {"city": "Rome"})), Answer(text("Done.")))
            with ada.listen("trip") as listener:
                run_id = ada.say("trip", "the weather?")["runs"][0]["runId"]
                listener.wait_for("run.waiting_tool")
                [pending] = ada.get(f"/api/runs/{run_id}")["pendingToolCalls"]
                answer = {"toolCallId": pending["toolCallId"], "result": {"approved": True}}
                ada.post(f"/api/runs/{run_id}/tool-results", answer)
                listener.wait_for("run.completed")
            assert _told(model.wait_for_requests(2)[1]) == {"city_weather": '{"city":"Rome","degrees":21}'}


@requirement("T-17")
def test_a_servers_question_becomes_a_card_and_its_answer_goes_back(
    tmp_path: Path, model: FakeOpenAI
) -> None:
    with McpHttpServer(tmp_path) as server:
        agents = _agents(tmp_path / "agents", model, {"name": "city", "url": server.url})
        allow = {"ROOMFUL_ALLOW_HOSTS": server.authority}
        with Roomful(tmp_path, "--agents", str(agents), **allow) as house:
            ada = house.person("ada")
            house.space("trip", "ada", "guide")
            model.answer(Answer(call("city_book", {"room": "blue"})), Answer(text("Done.")))
            with ada.listen("trip") as listener:
                run_id = ada.say("trip", "book it")["runs"][0]["runId"]
                listener.wait_for("run.waiting_tool")
                card = ada.messages("trip")[1]["parts"][0]
                assert card["status"] == "waiting"
                [(key, request)] = card["question"]["requests"].items()
                assert request["message"]
                house.kill()
            house.start()
            with ada.listen("trip") as listener:
                given = dict.fromkeys(request["schema"]["properties"], 2)
                result = {key: {"action": "accept", "content": given}}
                answer = {"toolCallId": card["toolCallId"], "result": result}
                ada.post(f"/api/runs/{run_id}/tool-results", answer)
                listener.wait_for("run.completed")
            part = ada.messages("trip")[1]["parts"][0]
            assert (part["status"], part["answeredBy"]) == ("complete", "ada")
            assert "question" not in part
            assert "blue" in _told(model.wait_for_requests(2)[1])["city_book"]
