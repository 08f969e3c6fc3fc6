"""Invitations, search, retry, figures, and tokens made beside a running server."""

import os
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

from tests.http.shopping import shop, story
from tests.servers.fake_openai import HANG, Answer, FakeOpenAI, call, status, text
from tests.servers.roomful import Caller, Listener, Roomful, openai

WHISPER = {
    "name": "whisper",
    "description": "Tell one member something.",
    "executionType": "basic",
    "visibility": "full",
    "execution": {"mode": "static", "output": {"ok": True}},
    "inputSchema": {"type": "object", "properties": {"secret": {"type": "string"}}},
}


def _invite(owner: Caller, space_id: str, **body: Any) -> str:
    return owner.post(f"/api/spaces/{space_id}/invites", body, expect=201)["url"]


def test_an_invitation_lets_one_in_and_the_space_hears_of_it(house: Roomful) -> None:
    ada, bob, eve = house.person("ada"), house.person("bob"), house.person("eve")
    house.space("room", "ada:owner")
    made = ada.post("/api/spaces/room/invites", {"role": "reader"}, expect=201)
    lasts = datetime.fromisoformat(made["expiresAt"]).timestamp() - time.time()
    assert made["url"].startswith("/api/invites/")
    assert 6.9 * 86_400 < lasts <= 7 * 86_400
    assert made["url"].rpartition("/")[2].encode() not in _bytes_on_disk(house)
    member = {"entityId": "bob", "name": "Bob", "kind": "human", "role": "reader"}
    with ada.listen("room") as ears, Listener(bob, "/api/stream") as mine:
        mine.wait_for("snapshot")
        assert bob.post(made["url"], expect=201) == {"spaceId": "room", "member": member}
        assert ears.wait_for("member.joined").data["member"] == member
        mine.wait_for("member.joined")
    assert member in bob.get("/api/spaces/room/members")["members"]
    again, unknown = eve.request("POST", made["url"]), eve.request("POST", "/api/invites/inv_unknown")
    assert again.status_code == unknown.status_code == 404
    assert again.json() == unknown.json() == bob.request("POST", made["url"]).json()
    assert eve.get("/api/spaces")["spaces"] == []


def test_an_invitation_has_one_winner(house: Roomful) -> None:
    people = [house.person(f"p{number}") for number in range(8)]
    house.space("room")
    url = _invite(house.admin, "room")
    with ThreadPoolExecutor(len(people)) as pool:
        codes = list(pool.map(lambda person: person.request("POST", url).status_code, people))
    assert sorted(codes) == [201] + [404] * 7
    assert len(house.admin.get("/api/spaces/room/members")["members"]) == 1


def test_an_invitation_ends(house: Roomful) -> None:
    ada, bob = house.person("ada"), house.person("bob")
    house.space("room", "ada:owner", "bob:owner")
    made = ada.post("/api/spaces/room/invites", {"expiresSeconds": 1}, expect=201)
    of_bob = _invite(bob, "room")
    ada.call("DELETE", "/api/spaces/room/members/bob", expect=204)
    unknown = bob.request("POST", "/api/invites/inv_unknown").json()
    assert bob.request("POST", of_bob).json() == unknown
    time.sleep(max(0.0, datetime.fromisoformat(made["expiresAt"]).timestamp() - time.time()) + 0.01)
    assert bob.request("POST", made["url"]).json() == unknown


def test_who_may_invite_and_be_invited(house: Roomful) -> None:
    ada, bob, eve = house.person("ada"), house.person("bob"), house.person("eve")
    house.space("room", "ada:owner", "bob")
    path = "/api/spaces/room/invites"
    assert bob.request("POST", path, {}).status_code == 403
    assert eve.request("POST", path, {}).status_code == 404
    assert ada.request("POST", path, {"role": "owner"}).status_code == 422
    assert ada.request("POST", path, {"expiresSeconds": 0}).status_code == 422
    url = _invite(ada, "room")
    assert httpx.post(house.url + url).status_code == 401
    assert house.admin.request("POST", url).status_code == 403
    assert bob.request("POST", url).status_code == 409
    assert eve.post(url, expect=201)["member"]["role"] == "member"


def _found(caller: Caller, words: str, **params: Any) -> list[tuple[str, str]]:
    results = caller.get("/api/search", params={"q": words, **params})["results"]
    return [(each["spaceId"], each["message"]["parts"][0]["text"]) for each in results]


def test_search_finds_words_in_my_spaces_newest_first(house: Roomful) -> None:
    ada, bob = house.person("ada"), house.person("bob")
    house.space("one", "ada", "bob")
    house.space("two", "ada")
    house.space("his", "bob")
    ada.say("one", "a red apple")
    ada.say("two", "a green Apple")
    ada.say("one", "a pear")
    bob.say("his", "his apple")
    gone = bob.say("one", "an apple of Bob's")["message"]
    assert _found(ada, "apple") == [
        ("one", "an apple of Bob's"),
        ("two", "a green Apple"),
        ("one", "a red apple"),
    ]
    assert _found(ada, "apple", limit=1) == [("one", "an apple of Bob's")]
    assert _found(ada, "APPLE green") == [("two", "a green Apple")]
    assert [space for space, _ in _found(house.admin, "apple")] == ["one", "his", "two", "one"]
    assert _found(ada, "%") == []
    bob.call("DELETE", f"/api/spaces/one/messages/{gone['id']}", expect=204)
    house.admin.call("DELETE", "/api/spaces/two/members/ada", expect=204)
    assert _found(ada, "apple") == [("one", "a red apple")]
    for params in ({}, {"q": " "}, {"q": "x", "limit": 51}, {"q": "x", "limit": 0}, {"q": "x" * 201}):
        assert ada.request("GET", "/api/search", params=params).status_code == 422


def test_search_shows_nobody_anothers_private_part(house: Roomful, model: FakeOpenAI) -> None:
    ada, bob = house.person("ada"), house.person("bob")
    house.agent("agent", openai(model.base_url), WHISPER, dialect="composite")
    house.space("room", "ada", "bob", "agent")
    said = call("sendSpaceMessage", {"spaceId": "room", "text": "hello everybody"}, index=0, id="c0")
    args = {"targetSpaceId": "room", "targetEntityId": "bob", "secret": "c4n4ry"}
    model.answer(Answer([*said, *call("whisper", args, index=1, id="c1")]), Answer(text("ok")))
    with ada.listen("room") as ears:
        ada.say("room", "go")
        ears.wait_for("run.completed")
    search = {"q": "everybody"}
    [seen] = ada.get("/api/search", params=search)["results"]
    assert [part["type"] for part in seen["message"]["parts"]] == ["text"]
    [seen] = bob.get("/api/search", params=search)["results"]
    assert [part["type"] for part in seen["message"]["parts"]] == ["text", "tool_call"]
    assert "c4n4ry" not in house.admin.request("GET", "/api/search", params=search).text
    assert bob.get("/api/search", params={"q": "c4n4ry"})["results"] == []


def _fails(ada: Caller, model: FakeOpenAI) -> str:
    model.answer(status(400))
    with ada.listen("shop-space") as ears:
        run_id = ada.say("shop-space", "laptops?")["runs"][0]["runId"]
        ears.wait_for("run.failed", runId=run_id)
    return run_id


def test_a_failed_run_is_tried_again_as_a_new_one(house: Roomful, model: FakeOpenAI) -> None:
    ada = shop(house, model)
    failed = _fails(ada, model)
    model.answer(*story())
    key = {"idempotency-key": "once"}
    with ada.listen("shop-space") as ears:
        again = ada.post(f"/api/runs/{failed}/retry", expect=201, headers=key)
        started = ears.wait_for("run.started", runId=again["id"])
        ears.wait_for("agent.active", runId=again["id"])
        ears.wait_for("run.completed", runId=again["id"])
    first, second = (ada.get(f"/api/runs/{run_id}") for run_id in (failed, again["id"]))
    assert (again["status"], started.data["status"], again["activeSpaceId"]) == (
        "running",
        "running",
        "shop-space",
    )
    assert (second["agentId"], second["trigger"]) == (first["agentId"], first["trigger"])
    assert (first["status"], second["status"]) == ("failed", "completed")
    assert ada.post(f"/api/runs/{failed}/retry", expect=201, headers=key) == again
    refused = ada.request("POST", f"/api/runs/{again['id']}/retry")
    assert refused.status_code == 409
    assert "completed" in refused.json()["detail"]


def test_who_may_retry_and_what_cannot_be(house: Roomful, model: FakeOpenAI) -> None:
    ada = shop(house, model)
    rita, eve = house.person("rita"), house.person("eve")
    house.admin.post("/api/spaces/shop-space/members", {"entityId": "rita", "role": "reader"}, expect=201)
    path = f"/api/runs/{_fails(ada, model)}/retry"
    assert rita.request("POST", path).status_code == 403
    assert eve.request("POST", path).status_code == 404
    house.admin.call("DELETE", "/api/spaces/shop-space/members/shop", expect=204)
    assert ada.request("POST", path).status_code == 409
    house.admin.post("/api/spaces/shop-space/members", {"entityId": "shop"}, expect=201)
    model.answer(Answer([HANG]))
    running = house.admin.post(path, expect=201)["id"]
    refused = ada.request("POST", f"/api/runs/{running}/retry")
    assert (refused.status_code, "running" in refused.json()["detail"]) == (409, True)
    ada.post(f"/api/runs/{running}/cancel")
    [asked, *_] = ada.messages("shop-space")
    ada.call("DELETE", f"/api/spaces/shop-space/messages/{asked['id']}", expect=204)
    assert "deleted" in ada.request("POST", path).json()["detail"]


def test_who_sees_a_run_elsewhere_does_not_start_it_again(house: Roomful, model: FakeOpenAI) -> None:
    ada, bob = shop(house, model, "other"), house.person("bob")
    house.admin.post("/api/spaces/other/members", {"entityId": "bob"}, expect=201)
    said = call("sendSpaceMessage", {"spaceId": "other", "text": "hello"})
    model.answer(Answer(said), status(400))
    with ada.listen("shop-space") as ears:
        run_id = ada.say("shop-space", "go")["runs"][0]["runId"]
        ears.wait_for("run.failed")
    assert bob.get(f"/api/runs/{run_id}")["status"] == "failed"
    assert bob.request("POST", f"/api/runs/{run_id}/retry").status_code == 403


def test_a_service_run_is_tried_again_without_a_space(house: Roomful, model: FakeOpenAI) -> None:
    ada = shop(house, model)
    model.answer(status(400))
    body = {"serviceName": "shop", "payload": {"order": 7}}
    run_id = house.admin.post("/api/agents/shop/trigger", body, expect=202)["runId"]
    with Listener(house.admin, f"/api/runs/{run_id}/stream") as ears:
        ears.wait(lambda _: house.admin.get(f"/api/runs/{run_id}")["status"] == "failed" or None)
    assert ada.request("POST", f"/api/runs/{run_id}/retry").status_code == 404
    model.answer(Answer(text("ok")))
    again = house.admin.post(f"/api/runs/{run_id}/retry", expect=201)
    assert again["trigger"]["payload"] == body
    assert again["shownIn"] == []
    assert "activeSpaceId" not in again


def test_a_service_that_asks_twice_with_one_key_starts_one_run(house: Roomful, model: FakeOpenAI) -> None:
    shop(house, model)
    model.answer(Answer(text("ok")))
    path, key = "/api/agents/shop/trigger", {"idempotency-key": "order-7"}
    body = {"serviceName": "shop", "payload": {"order": 7}}
    first = house.admin.post(path, body, expect=202, headers=key)
    again = house.admin.request("POST", path, body, headers=key)
    assert (again.status_code, again.json()) == (202, first)
    assert again.headers["idempotent-replay"] == "true"
    other = house.admin.request("POST", path, {**body, "payload": None}, headers=key)
    assert other.status_code == 409
    assert [run["id"] for run in house.admin.get("/api/runs")["runs"]] == [first["runId"]]


def _roomful(house: Roomful, *arguments: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("ROOMFUL_")}
    command = [sys.executable, "-m", "roomful.cli", *arguments, "--database", house.database]
    return subprocess.run(
        command, cwd=house.folder, env=clean, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_token_is_made_beside_a_running_server(house: Roomful) -> None:
    ada = house.person("ada")
    house.space("room", "ada")
    made = _roomful(house, "token", "ada")
    assert (made.returncode, made.stderr) == (0, "")
    other = Caller(house, made.stdout.strip(), "ada")
    assert other.say("room", "hello")["message"]["entityId"] == "ada"
    assert len(ada.get("/api/entities/ada/tokens")["tokens"]) == 2
    nobody = _roomful(house, "token", "nobody")
    assert (nobody.returncode, nobody.stdout) == (1, "")
    assert "there is no entity 'nobody'" in nobody.stderr
    assert house.terminate() == 0
    assert _roomful(house, "token", "ada").returncode == 0


def test_the_schema_is_not_changed_under_a_running_server(house: Roomful) -> None:
    house.person("ada")
    refused = _roomful(house, "migrate")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "is in use by another Roomful process" in refused.stderr
    with sqlite3.connect(house.folder / "roomful.db") as db:
        db.execute("DELETE FROM schema_version WHERE version = (SELECT max(version) FROM schema_version)")
    db.close()
    older = _roomful(house, "token", "ada")
    assert (older.returncode, older.stdout) == (1, "")
    assert "stop that process first" in older.stderr


def _bytes_on_disk(house: Roomful) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(Path(house.folder).glob("roomful.db*")))
