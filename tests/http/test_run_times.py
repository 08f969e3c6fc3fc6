"""When steps and calls began and ended: known to the owner, in every way a call can end, and to no space."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.http.storming import calm
from tests.http.test_approvals import ARGS, PAY
from tests.http.test_delegation import SEARCH, Script, delegate
from tests.servers.fake_openai import Answer, FakeOpenAI, call, hold, text
from tests.servers.inhouse import InHouse
from tests.servers.roomful import Caller, openai

FORM = {
    "name": "ask",
    "description": "Ask.",
    "executionType": "basic",
    "execution": {"mode": "no-execution", "wait": True},
    "visibility": "full",
    "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}},
}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[InHouse]:
    with InHouse(tmp_path) as house:
        yield house


def answered(ada: Caller, run_id: str, result: Any) -> None:
    [pending] = ada.get(f"/api/runs/{run_id}")["pendingToolCalls"]
    body = {"toolCallId": pending["toolCallId"], "result": result}
    ada.post(f"/api/runs/{run_id}/tool-results", body)


def approves(ada: Caller, run_id: str) -> None:
    answered(ada, run_id, {"approved": True})


def denies(ada: Caller, run_id: str) -> None:
    answered(ada, run_id, {"approved": False, "reason": "too dear"})


def fills_in(ada: Caller, run_id: str) -> None:
    answered(ada, run_id, {"a": 1})


def replies(ada: Caller, _: str) -> None:
    ada.say("room", "here")


def cancels(ada: Caller, run_id: str) -> None:
    ada.post(f"/api/runs/{run_id}/cancel")


WAIT = {"spaceId": "room", "text": "Well?", "wait": True}
WAYS: dict[str, tuple[str, Callable[[Caller, str], None], str, str]] = {
    "approved": ("pay", approves, "complete", "approval"),
    "denied": ("pay", denies, "error", "approval"),
    "answered": ("ask", fills_in, "complete", "answer"),
    "replied": ("sendSpaceMessage", replies, "complete", "reply"),
    "canceled": ("ask", cancels, "canceled", "answer"),
}
ARGUMENTS = {"pay": ARGS, "ask": {"query": "x"}, "sendSpaceMessage": WAIT}


def scene(house: InHouse, model: FakeOpenAI, *tools: Any) -> tuple[Caller, str]:
    ada = house.person("ada")
    house.agent("boss", openai(model.base_url), *tools, instructions="You are boss.")
    house.space("room", "ada:owner", "boss")
    return ada, ada.say("room", "go")["runs"][0]["runId"]


def runs_in(house: InHouse, run_id: str) -> list[dict[str, Any]]:
    return house.admin.get(f"/api/runs/{run_id}/inspection")["runs"]


@pytest.mark.parametrize("way", WAYS)
def test_a_call_that_waits_ends_when_it_is_settled(house: InHouse, way: str) -> None:
    name, settle, status, waits_for = WAYS[way]
    answers = [Answer(call(name, ARGUMENTS[name])), Answer(text("ok")), Answer(text("ok"))]
    with FakeOpenAI(answers) as model:
        ada = house.person("ada")
        house.agent("boss", openai(model.base_url), PAY, FORM)
        house.space("room", "ada:owner", "boss")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "go")["runs"][0]["runId"]
            listener.wait_for("run.waiting_reply" if waits_for == "reply" else "run.waiting_tool")
        [waiting] = runs_in(house, run_id)[0]["calls"]
        house.clock.move(hours=2)
        settle(ada, run_id)
        calm(house)
    [settled] = runs_in(house, run_id)[0]["calls"]

    assert (waiting["status"], waiting["waitsFor"]) == ("waiting", waits_for)
    assert "endedAt" not in waiting
    assert waiting["startedAt"] == settled["startedAt"] < "2026-03-02T08:01"
    assert (settled["status"], settled["endedAt"] > "2026-03-02T10:00") == (status, True)
    assert settled.get("reason") == ("too dear" if way == "denied" else None)
    assert settled.get("answeredBy") == ("ada" if way in ("approved", "denied", "answered") else None)


@pytest.mark.parametrize("tool", ["search", "nowhere", "skipResponse"])
def test_a_call_that_is_executed_ends_at_once(house: InHouse, tool: str) -> None:
    with FakeOpenAI(
        [Answer(call(tool, {"query": "x"} if tool == "search" else {})), Answer(text("ok"))]
    ) as model:
        _, run_id = scene(house, model, SEARCH)
        calm(house)
    [run] = runs_in(house, run_id)
    [made] = run["calls"]

    assert made["status"] == ("error" if tool == "nowhere" else "complete")
    for step in run["steps"]:
        assert run["run"]["createdAt"] <= step["startedAt"] <= step["endedAt"] <= run["run"]["endedAt"]
    assert run["steps"][0]["startedAt"] <= made["startedAt"] <= made["endedAt"] <= run["run"]["endedAt"]


def test_a_text_that_leads_to_another_run_ends_too(house: InHouse) -> None:
    words = {"spaceId": "room", "text": "Go on.", "mention": ["two"]}
    script = Script(
        boss=[Answer(call("sendSpaceMessage", words)), Answer(text("ok"))], two=[Answer(text("ok"))]
    )
    with FakeOpenAI(script) as model:
        house.agent("two", openai(model.base_url), instructions="You are two.")
        ada = house.person("ada")
        house.agent("boss", openai(model.base_url), instructions="You are boss.")
        house.space("room", "ada", "boss", "two")
        run_id = ada.say("room", "go", mentions=["boss"])["runs"][0]["runId"]
        calm(house)
    [run] = runs_in(house, run_id)
    [said] = run["calls"]

    assert [one["agentId"] for one in said["result"]["started"]] == ["two"]
    assert said["startedAt"] <= said["endedAt"] <= run["run"]["endedAt"]


def test_a_step_begins_when_the_model_is_asked_and_ends_with_its_answer(house: InHouse) -> None:
    with FakeOpenAI(
        [Answer([*text("Slow"), hold(), *call("search", {"query": "x"})]), Answer(text("."))]
    ) as model:
        _, run_id = scene(house, model, SEARCH)
        model.wait_for_requests(1)
        house.clock.move(minutes=5)
        model.release()
        calm(house)
    first, second = runs_in(house, run_id)[0]["steps"]

    assert first["startedAt"] < "2026-03-02T08:01"
    assert "2026-03-02T08:05" < first["endedAt"] <= second["startedAt"] <= second["endedAt"]


def test_rows_from_before_have_no_times(house: InHouse) -> None:
    script = Script(
        boss=[Answer(call("ask_one", {"prompt": "x"})), Answer(text("So."))],
        one=[Answer(call("search", {"query": "s"})), Answer(text("One."))],
    )
    with FakeOpenAI(script) as model:
        _, run_id = scene(house, model, delegate("one", SEARCH))
        calm(house)
    before = runs_in(house, run_id)
    house.terminate()
    with sqlite3.connect(house.folder / "roomful.db") as db:
        for table in ("calls", "steps"):
            db.execute(f"UPDATE {table} SET body = json_remove(body, '$.startedAt', '$.endedAt')")
        db.execute("UPDATE runs SET body = json_remove(body, '$.atWorkSince')")
    db.close()
    house.start()
    seen = house.admin.get(f"/api/runs/{run_id}/inspection")

    for run in before:
        del run["run"]["atWorkSince"]
        for one in [*run["steps"], *run["calls"]]:
            del one["startedAt"], one["endedAt"]
    assert seen["runs"] == before
    assert seen["bounds"][-1] == {"name": "runSeconds", "used": 0, "limit": None}


def test_no_space_and_no_other_protocol_is_told_the_times(house: InHouse) -> None:
    script = Script(
        boss=[Answer([*text("Hm. "), *call("ask_one", {"prompt": "x"})]), Answer(text("So."))],
        one=[Answer([*text("Hm. "), *call("search", {"query": "s"})]), Answer(text("One."))],
    )
    with FakeOpenAI(script) as model:
        ada = house.person("ada")
        house.agent("boss", openai(model.base_url), delegate("one", SEARCH), instructions="You are boss.")
        house.space("room", "ada", "boss")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "go")["runs"][0]["runId"]
            listener.wait_for("run.completed", runId=run_id)
            told = json.dumps([event.data for event in listener.events])
        chat = ada.request("GET", "/api/chat", params={"threadId": "room"})
        replayed = ada.request("GET", "/ag-ui/room/replay")

    told += chat.text + replayed.text + json.dumps([ada.messages("room"), ada.get("/api/runs")])
    assert chat.status_code == replayed.status_code == 200
    assert '"found"' in told
    assert [word for word in ("startedAt", "atWorkSince", "price") if word in told] == []
    assert {"startedAt", "endedAt"} <= set(runs_in(house, run_id)[1]["calls"][0])
