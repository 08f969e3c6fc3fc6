"""Who did what is written down with the thing itself, kept, and shown to those who answer for it."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roomful.store import audit as stored
from tests.http.test_approvals import ARGS, _answer, _ask, _finish, _pause, _world
from tests.servers.fake_openai import HANG, Answer, FakeOpenAI, call, text
from tests.servers.inhouse import InHouse
from tests.servers.postgres import PostgresServer
from tests.servers.roomful import Caller, Roomful, openai

FORM: dict[str, Any] = {
    "name": "form",
    "description": "Ask.",
    "executionType": "basic",
    "execution": {"mode": "no-execution"},
    "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}},
}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[InHouse]:
    with InHouse(tmp_path) as house:
        yield house


def rows(who: Caller, **asked: Any) -> list[dict[str, Any]]:
    return who.get("/api/audit", params={"limit": 200, **asked})["rows"]


def told(who: Caller, **asked: Any) -> list[tuple[str, str]]:
    return [(row["action"], row["by"]) for row in rows(who, **asked)]


def hash_of(tool: str, args: dict[str, Any]) -> str:
    data = json.dumps([tool, args], separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(data.encode()).hexdigest()


def digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, separators=(",", ":"), sort_keys=True).encode()).hexdigest()


def test_an_approval_is_written_down_with_the_exact_arguments(house: InHouse, model: FakeOpenAI) -> None:
    ada, grace = _world(house, model)
    _ask(model)
    waiting = _pause(ada)
    before = len(rows(house.admin))
    edited = {"amount": 5, "to": "ACME"}
    decision = {"approved": True, "args": edited, "remember": "tool"}
    _finish(ada, waiting, grace, decision)
    assert _answer(ada, waiting, {"approved": False}).status_code == 409

    granted, approved = sorted(rows(house.admin)[before:], key=lambda row: row["action"], reverse=True)

    [grant] = ada.get("/api/spaces/room/grants")["grants"]
    assert (granted["action"], granted["grantId"], granted["by"]) == ("grant.made", grant["id"], "grace")
    assert granted["spaceIds"] == ["room"]
    assert "viaAdmin" not in approved
    assert approved["id"].startswith(approved["at"])
    assert {key: approved[key] for key in approved if key not in ("id", "at")} == {
        "action": "card.approved",
        "by": "grace",
        "spaceIds": ["room"],
        "agentId": "payer",
        "runId": waiting["runId"],
        "callId": waiting["pendingToolCalls"][0]["toolCallId"],
        "toolName": "pay",
        "argsDigest": hash_of("pay", edited),
        "editedFrom": hash_of("pay", ARGS),
        "resultDigest": digest(decision),
    }
    ada.call("DELETE", f"/api/spaces/room/grants/{grant['id']}", expect=204)
    [revoked] = rows(house.admin, action="grant.revoked")
    assert (revoked["by"], revoked["grantId"]) == ("ada", grant["id"])


def test_a_refusal_by_the_admin_for_somebody_says_so(house: InHouse, model: FakeOpenAI) -> None:
    ada, _ = _world(house, model)
    _ask(model)
    waiting = _pause(ada)
    [pending] = waiting["pendingToolCalls"]
    body = {"toolCallId": pending["toolCallId"], "result": {"approved": False}}
    path = f"/api/runs/{waiting['runId']}/tool-results"
    house.admin.call("POST", path, body, headers={"x-roomful-as": "grace"})

    acted, refused = rows(house.admin)[-2:]

    assert (acted["action"], acted["by"], acted["viaAdmin"]) == ("admin.acted", "grace", True)
    assert acted["detail"] == {
        "method": "POST",
        "route": "/api/runs/{id}/tool-results",
        "id": waiting["runId"],
    }
    assert (refused["action"], refused["by"], refused["viaAdmin"]) == ("card.refused", "grace", True)
    assert refused["argsDigest"] == hash_of("pay", ARGS)
    assert "editedFrom" not in refused


def test_an_answer_and_its_row_are_one(
    house: InHouse, model: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, grace = _world(house, model)
    _ask(model)
    waiting = _pause(ada)
    before = rows(house.admin)

    def fails(row: Any) -> Any:
        def write(db: Any) -> None:
            raise ValueError("the log cannot be written")

        return write

    with monkeypatch.context() as broken:
        broken.setattr(stored, "add_audit", fails)
        assert _answer(grace, waiting, {"approved": True}).status_code == 500
    assert ada.messages("room")[-1]["parts"][0]["status"] == "waiting"
    assert rows(house.admin) == before
    _finish(ada, waiting, grace, {"approved": True})
    assert told(house.admin)[-1] == ("card.approved", "grace")


def test_posting_and_reading_write_no_row(house: InHouse, model: FakeOpenAI) -> None:
    ada, _ = _world(house, model)
    before = len(rows(house.admin))
    for number in range(5):
        model.answer(Answer(text("ok")))
        with ada.listen("room") as listener:
            ada.say("room", f"hello {number}")
            listener.wait_for("run.completed")
    assert len(rows(house.admin)) == before


def test_what_people_do_to_people_spaces_and_agents_is_written_down(
    house: InHouse, model: FakeOpenAI
) -> None:
    ada, bob = house.person("ada"), house.person("bob")
    made = ada.post("/api/entities/ada/tokens", expect=201)
    ada.call("DELETE", f"/api/entities/ada/tokens/{made['id']}", expect=204)
    ada.post("/api/spaces", {"id": "room", "name": "Room"}, expect=201)
    ada.call("PATCH", "/api/spaces/room", {"name": "Other"})
    ada.post("/api/spaces/room/members", {"entityId": "bob", "role": "reader"}, expect=201)
    ada.post("/api/spaces/room/members", {"entityId": "bob", "role": "member"}, expect=200)
    ada.call("DELETE", "/api/spaces/room/members/bob", expect=204)
    link = ada.post("/api/spaces/room/invites", {}, expect=201)["url"]
    bob.post(link, expect=201)
    config = {"id": "helper", "name": "Helper", "model": openai(model.base_url)}
    ada.post("/api/agents", config, expect=201)
    ada.call("PUT", "/api/agents/helper", {**config, "name": "Other"})
    ada.call("DELETE", "/api/agents/helper", expect=204)
    ada.call("DELETE", "/api/spaces/room", expect=204)
    house.admin.call("DELETE", "/api/entities/bob", expect=204)

    shown = [
        (row["action"], row["by"], row.get("entityId"), row.get("spaceIds"), row.get("role"))
        for row in rows(house.admin)
    ]

    assert shown == [
        ("entity.created", "admin", "ada", [], None),
        ("entity.created", "admin", "bob", [], None),
        ("token.made", "ada", "ada", [], None),
        ("token.revoked", "ada", "ada", [], None),
        ("space.created", "ada", None, ["room"], None),
        ("space.changed", "ada", None, ["room"], None),
        ("member.added", "ada", "bob", ["room"], "reader"),
        ("member.changed", "ada", "bob", ["room"], "member"),
        ("member.removed", "ada", "bob", ["room"], None),
        ("invite.made", "ada", None, ["room"], "member"),
        ("member.added", "bob", "bob", ["room"], "member"),
        ("agent.created", "ada", "helper", [], None),
        ("agent.changed", "ada", "helper", [], None),
        ("agent.deleted", "ada", "helper", [], None),
        ("space.deleted", "ada", None, ["room"], None),
        ("entity.erased", "admin", "bob", [], None),
    ]
    whole = json.dumps(rows(house.admin))
    assert made["token"] not in whole
    assert link.removeprefix("/api/invites/") not in whole
    assert ("member.added", "bob") in told(house.admin, entityId="bob")


@pytest.mark.parametrize("stage", ["at work", "waiting"])
def test_who_stopped_a_run_is_written_down_once(house: InHouse, model: FakeOpenAI, stage: str) -> None:
    ada, grace = _world(house, model)
    if stage == "waiting":
        _ask(model)
        run_id = _pause(ada)["runId"]
    else:
        model.answer(Answer([*text("so far"), HANG]))
        run_id = ada.say("room", "work")["runs"][0]["runId"]
        model.wait_for_requests(1)
    for who in (grace, ada):
        assert who.post(f"/api/runs/{run_id}/cancel")["status"] == "canceled"

    [row] = rows(house.admin, action="run.canceled")

    assert (row["by"], row["runId"], row["agentId"]) == ("grace", run_id, "payer")


def test_the_admin_reads_all_and_an_owner_reads_what_is_theirs(house: InHouse, model: FakeOpenAI) -> None:
    ada, grace = _world(house, model)
    eve = house.person("eve")
    house.agent("asker", openai(model.base_url), FORM)
    house.space("side", "grace:owner", "ada", "asker")
    args = {"targetSpaceId": "side", "targetEntityId": "ada", "q": "how much?"}
    model.answer(Answer(call("form", args)), Answer(text("ok")))
    with ada.listen("side") as listener:
        ada.say("side", "ask me")
        waiting = listener.wait_for("run.waiting_tool").data
        [card] = [part for m in ada.messages("side") for part in m["parts"] if part["type"] == "tool_call"]
        answer = {"toolCallId": card["toolCallId"], "result": 7}
        ada.post(f"/api/runs/{waiting['runId']}/tool-results", answer)

    [whole] = rows(house.admin, spaceId="side", action="card.answered")
    [seen] = rows(grace, spaceId="side", action="card.answered")

    assert whole["resultDigest"] == digest(7)
    assert seen == {k: v for k, v in whole.items() if k not in ("argsDigest", "resultDigest")}
    assert {space for row in rows(grace, spaceId="room") for space in row["spaceIds"]} == {"room"}
    assert ("space.created", "admin") in told(grace, spaceId="room")
    grace.get("/api/audit", expect=403)
    ada.get("/api/audit", params={"spaceId": "room"}, expect=403)
    eve.get("/api/audit", params={"spaceId": "room"}, expect=404)
    eve.get("/api/audit", params={"spaceId": "nowhere"}, expect=404)
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert house.admin.request(method, "/api/audit", {}).status_code == 405


def _pages(house: Roomful) -> None:
    for number in range(5):
        house.person(f"p{number}")
    whole = rows(house.admin)
    assert [row["entityId"] for row in whole] == [f"p{number}" for number in range(5)]
    first = house.admin.get("/api/audit", params={"limit": 2, "after": "2020"})
    assert (first["rows"], first["hasMore"]) == (whole[:2], True)
    then = {"limit": 3, "after": first["rows"][-1]["id"]}
    second = house.admin.get("/api/audit", params=then)
    assert (second["rows"], second["hasMore"]) == (whole[2:], False)
    last = house.admin.get("/api/audit", params={"limit": 2, "before": whole[-1]["id"]})
    assert (last["rows"], last["hasMore"]) == (whole[2:4], True)
    assert rows(house.admin, after=whole[1]["at"], before="2019") == []
    assert rows(house.admin, entityId="p3") == [whole[3]]
    house.admin.get("/api/audit", params={"action": "nothing"}, expect=422)
    house.admin.call("DELETE", "/api/entities/p3", expect=204)
    assert told(house.admin, entityId="p3") == [("entity.created", "admin"), ("entity.erased", "admin")]


def test_the_log_is_read_in_pages_and_outlives_an_erased_person(house: InHouse) -> None:
    _pages(house)


def test_the_log_is_the_same_in_postgres(tmp_path: Path, postgres: PostgresServer) -> None:
    with InHouse(tmp_path, database=postgres.new_url()) as house:
        _pages(house)
