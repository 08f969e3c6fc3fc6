"""Nobody sees or does anything where they do not belong."""

from typing import Any

import httpx
import pytest

from tests.http.shopping import shop, story
from tests.requirements import requirement
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.roomful import Listener, Roomful

SPACE_ROUTES = [
    ("GET", "/api/spaces/private", None),
    ("PATCH", "/api/spaces/private", {"name": "Mine now"}),
    ("DELETE", "/api/spaces/private", None),
    ("GET", "/api/spaces/private/members", None),
    ("POST", "/api/spaces/private/members", {"entityId": "eve"}),
    ("DELETE", "/api/spaces/private/members/ada", None),
    ("POST", "/api/spaces/private/invites", {}),
    ("POST", "/api/spaces/private/messages", {"text": "hi"}),
    ("GET", "/api/spaces/private/messages", None),
    ("GET", "/api/spaces/private/stream", None),
    ("POST", "/api/spaces/private/read", {"messageId": "msg_x"}),
]


@requirement("X-01")
@pytest.mark.parametrize(("method", "path", "body"), SPACE_ROUTES)
def test_a_space_does_not_exist_for_outsiders(house: Roomful, method: str, path: str, body: Any) -> None:
    house.person("ada")
    eve = house.person("eve")
    house.space("private", "ada:owner")
    forbidden = eve.request(method, path, body)
    unknown = eve.request(method, path.replace("private", "nowhere"), body)
    assert forbidden.status_code == unknown.status_code == 404
    assert forbidden.headers["content-type"].startswith("application/problem+json")
    assert forbidden.content.replace(b"private", b"nowhere") == unknown.content
    for headers in ({"authorization": "Bearer wrong"}, {"authorization": "Basic x"}, {}):
        answer = httpx.request(method, house.url + path, json=body, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")


@requirement("X-01")
def test_a_reader_reads_and_does_not_write(house: Roomful) -> None:
    ada, rita = house.person("ada"), house.person("rita")
    house.space("room", "ada", "rita:reader")
    said = ada.say("room", "hello")["message"]
    assert rita.messages("room") == [said]
    with rita.listen("room") as listener:
        assert listener.wait_for("snapshot").data["messages"] == [said]
    refused = rita.request("POST", "/api/spaces/room/messages", {"text": "hi"})
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    for method, path, body in [
        ("POST", "/api/spaces/room/members", {"entityId": "rita", "role": "owner"}),
        ("PATCH", "/api/spaces/room", {"name": "Mine"}),
        ("DELETE", "/api/spaces/room", None),
        ("PATCH", f"/api/spaces/room/messages/{said['id']}", {"text": "changed"}),
        ("DELETE", f"/api/spaces/room/messages/{said['id']}", None),
    ]:
        assert rita.request(method, path, body).status_code == 403, (method, path)
    assert rita.messages("room") == [said]


@requirement("X-01")
def test_people_own_what_they_make(house: Roomful) -> None:
    ada, eve = house.person("ada"), house.person("eve")
    ada.post("/api/spaces", {"id": "mine", "name": "Mine"}, expect=201)
    config = {"id": "mine-too", "name": "Helper", "model": "scripted:none", "tools": []}
    ada.post("/api/agents", config, expect=201)
    ada.post("/api/spaces/mine/members", {"entityId": "mine-too"}, expect=201)
    ada.post("/api/spaces/mine/members", {"entityId": "eve"}, expect=201)
    members = {m["entityId"]: (m["kind"], m["role"]) for m in eve.get("/api/spaces/mine/members")["members"]}
    assert members == {"ada": ("human", "owner"), "mine-too": ("agent", "member"), "eve": ("human", "member")}
    eve.post("/api/spaces", {"id": "hers", "name": "Hers"}, expect=201)
    answer = eve.request("POST", "/api/spaces/hers/members", {"entityId": "mine-too"})
    assert answer.status_code in (403, 404)
    assert eve.request("DELETE", "/api/agents/mine-too").status_code == 404
    assert eve.request("POST", "/api/entities", {"name": "x", "kind": "human"}).status_code == 403


@requirement("X-01")
def test_the_admin_key_reads_everything_and_says_nothing(house: Roomful) -> None:
    ada = house.person("ada")
    house.space("room", "ada")
    said = ada.say("room", "hello")["message"]
    assert house.admin.messages("room") == [said]
    refused = house.admin.request("POST", "/api/spaces/room/messages", {"text": "hi"})
    assert refused.status_code == 403
    assert "X-Roomful-As" in refused.json()["detail"]
    acting = house.admin.request(
        "POST", "/api/spaces/room/messages", {"text": "hi"}, headers={"x-roomful-as": "ada"}
    )
    assert acting.json()["message"]["entityId"] == "ada"


@requirement("X-01")
def test_a_member_who_leaves_hears_no_more(house: Roomful) -> None:
    ada, bob = house.person("ada"), house.person("bob")
    house.space("room", "ada:owner", "bob")
    with bob.listen("room") as listener, Listener(bob, "/api/stream") as mine:
        listener.wait_for("snapshot")
        mine.wait_for("snapshot")
        ada.call("DELETE", "/api/spaces/room/members/bob", expect=204)
        listener.wait_end()
        ada.say("room", "he is gone")
        ada.post("/api/spaces/room/members", {"entityId": "bob"}, expect=201)
        mine.wait_for("member.joined")
        assert "he is gone" not in str([event.data for event in [*listener.events, *mine.events]])


@requirement("X-01")
def test_a_revoked_token_ends_its_streams(house: Roomful) -> None:
    bob = house.person("bob")
    house.space("room", "bob")
    with bob.listen("room") as listener:
        listener.wait_for("snapshot")
        [token] = bob.get("/api/entities/bob/tokens")["tokens"]
        house.admin.call("DELETE", f"/api/entities/bob/tokens/{token['id']}", expect=204)
        listener.wait_end()
    assert bob.request("GET", "/api/spaces").status_code == 401


@requirement("X-01")
def test_a_run_is_seen_only_through_its_spaces(house: Roomful, model: FakeOpenAI) -> None:
    ada = shop(house, model)
    eve = house.person("eve")
    model.answer(*story())
    with ada.listen("shop-space") as listener:
        run_id = ada.say("shop-space", "go")["runs"][0]["runId"]
        listener.wait_for("run.completed")
    assert ada.get(f"/api/runs/{run_id}")["id"] == run_id
    for method, path in [("GET", ""), ("POST", "/cancel"), ("GET", "/stream")]:
        assert eve.request(method, f"/api/runs/{run_id}{path}").status_code == 404
    assert eve.get("/api/runs")["runs"] == []


@requirement("X-01")
def test_a_browser_session_needs_its_own_origin(house: Roomful) -> None:
    ada = house.person("ada")
    house.space("room", "ada")
    with httpx.Client(base_url=house.url) as browser:
        made = browser.post("/api/session", json={"token": ada.token}, headers={"origin": house.url})
        assert made.status_code in (200, 201)
        cookie = made.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert ada.token not in cookie
        assert browser.get("/api/spaces").json()["spaces"][0]["id"] == "room"
        path, body = "/api/spaces/room/messages", {"text": "hi"}
        assert browser.post(path, json=body, headers={"origin": house.url}).status_code == 201
        assert browser.post(path, json=body, headers={"origin": "http://evil.example"}).status_code == 403
        assert browser.post(path, json=body).status_code == 403
        assert browser.delete("/api/session", headers={"origin": house.url}).status_code == 204
        assert browser.get("/api/spaces").status_code == 401
    token_in_url = httpx.get(f"{house.url}/api/spaces", params={"token": ada.token})
    assert token_in_url.status_code in (400, 401, 422)
    rebound = httpx.get(f"{house.url}/api/spaces", headers={"host": "evil.example"})
    assert rebound.status_code in (400, 421)
