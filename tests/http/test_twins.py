"""Two deployments on one Postgres and one Redis, whose people, spaces and agents have the same ids."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from roomful.bus import RedisBus
from tests.http.outside import Outside
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, call, text
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer
from tests.servers.roomful import Caller, Listener, Roomful, openai

ASK = {"name": "ask", "description": "Ask.", "executionType": "space", "execution": {}}
SCHEMA = {"type": "object", "properties": {"why": {"type": "string"}}}


@dataclass
class Twin:
    name: str
    house: Roomful
    admin: Caller
    ada: Caller
    things: dict[str, str]


def database(redis: RedisServer, number: int) -> str:
    return f"redis://127.0.0.1:{redis.port}/{number}"


def asks(asked: Asked) -> Answer:
    is_told = asked.messages[-1]["role"] == "tool"
    return Answer(text("ok") if is_told else call("ask", {"why": "x"}))


@pytest.fixture(scope="module")
def twins(
    tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer, redis: RedisServer
) -> Iterator[list[Twin]]:
    """Each has a schema, and a database of the Redis server for the topics of agents outside."""
    with FakeOpenAI(asks) as model:
        made: list[Roomful] = []
        for number in (1, 2):
            folder = tmp_path_factory.mktemp(f"twin-{number}")
            flags = ("--bus", database(redis, number))
            key = {"ROOMFUL_ADMIN_KEY": f"admin-of-{number}"}
            made.append(Roomful(folder, *flags, database=postgres.new_url(), **key))
        with made[0] as one, made[1] as two:
            yield [furnished(house, number, model) for number, house in enumerate((one, two), 1)]


def furnished(house: Roomful, number: int, model: FakeOpenAI) -> Twin:
    admin = Caller(house, f"admin-of-{number}")
    house.admin = admin
    ada = house.person("ada")
    house.agent("bot", openai(model.base_url), {**ASK, "inputSchema": SCHEMA}, dialect="active")
    house.person("outsider", kind="agent")
    house.space("room", "ada:owner", "bot", "outsider")
    with ada.listen("room") as ears:
        run = ada.say("room", f"canary-of-{number} @bot", clientMessageId="same")["runs"][0]["runId"]
        waiting = ears.wait_for("run.waiting_tool", runId=run)
    blob = ada.request("POST", "/api/blobs", b"bytes", headers={"content-type": "text/plain"}).json()[
        "blobId"
    ]
    things = {
        "run": run,
        "call": waiting.data["pendingToolCalls"][0]["toolCallId"],
        "blob": blob,
        "message": ada.messages("room")[0]["id"],
        "invite": ada.post("/api/spaces/room/invites", {}, expect=201)["url"].rsplit("/", 1)[1],
        "position": str(waiting.id),
    }
    return Twin(f"canary-of-{number}", house, admin, ada, things)


def test_nothing_of_the_one_is_in_the_other(twins: list[Twin]) -> None:
    one, two = twins
    assert set(one.things.values()).isdisjoint(two.things.values())
    with two.ada.listen("room") as room, Listener(two.ada, "/api/stream") as mine:
        room.wait_for("snapshot")
        mine.wait_for("snapshot")
        one.ada.say("room", "only here")
        one.ada.call("PATCH", "/api/spaces/room", {"name": "Changed"})
        body = {"toolCallId": one.things["call"], "result": {"fine": True}}
        with one.ada.listen("room") as ears:
            one.ada.post(f"/api/runs/{one.things['run']}/tool-results", body)
            ears.wait_for("run.completed", runId=one.things["run"])
        two.ada.say("room", "last word")
        room.wait(lambda events: any("last word" in json.dumps(event.data) for event in events))
        heard = json.dumps([event.data for event in [*room.events, *mine.events]])
    assert one.name not in heard
    assert "only here" not in heard
    assert two.name in heard
    assert two.ada.get("/api/spaces/room")["name"] == "Room"
    assert two.ada.get(f"/api/runs/{two.things['run']}")["status"] == "waiting_tool"
    assert two.ada.get("/api/search", params={"q": one.name})["results"] == []


def test_ids_tokens_and_secrets_of_the_one_are_nothing_to_the_other(twins: list[Twin]) -> None:
    for one, two in (twins, reversed(twins)):
        for stranger in (one.ada.at(two.house), one.admin.at(two.house)):
            assert stranger.request("GET", "/api/spaces").status_code == 401
        answers: list[tuple[str, str, Any]] = [
            ("GET", f"/api/runs/{one.things['run']}", None),
            ("POST", f"/api/runs/{one.things['run']}/cancel", None),
            (
                "POST",
                f"/api/runs/{one.things['run']}/tool-results",
                {"toolCallId": one.things["call"], "result": 1},
            ),
            (
                "POST",
                f"/api/runs/{two.things['run']}/tool-results",
                {"toolCallId": one.things["call"], "result": 1},
            ),
            ("GET", f"/api/blobs/{one.things['blob']}", None),
            ("GET", f"/api/spaces/room/messages/{one.things['message']}", None),
            ("POST", f"/api/invites/{one.things['invite']}", None),
        ]
        for method, path, body in answers:
            assert two.ada.request(method, path, body).status_code == 404, path
        with two.ada.listen("room", last=one.things["position"]) as ears:
            assert one.name not in json.dumps(ears.wait_for("snapshot").data)
        said = two.ada.request(
            "POST", "/api/spaces/room/messages", {"text": "again", "clientMessageId": "same"}
        )
        assert said.status_code == 409  # its own key, which it used for other words


def test_what_an_agent_outside_says_to_the_one_is_not_said_in_the_other(
    twins: list[Twin], redis: RedisServer
) -> None:
    one, two = twins
    for number, twin in enumerate(twins, 1):
        with twin.ada.listen("room") as ears:
            Outside(RedisBus(database(redis, number)), "outsider").say(f"letter to {number}")
            ears.wait(lambda events, n=number: any(f"letter to {n}" in json.dumps(e.data) for e in events))
    assert "letter to 1" not in json.dumps(two.ada.messages("room"))
    assert "letter to 2" not in json.dumps(one.ada.messages("room"))
