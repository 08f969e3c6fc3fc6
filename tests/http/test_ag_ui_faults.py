"""AG-UI where things go otherwise: stopped, failed, left, said twice, made up, or during a restart."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.http.threads import client, events, flat, replayed, run_id, types
from tests.servers.fake_openai import CUT, Answer, FakeOpenAI, hold, status, text
from tests.servers.roomful import Caller, Roomful, openai


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roomful]:
    with Roomful(tmp_path_factory.mktemp("house")) as house:
        yield house


@pytest.fixture(scope="module")
def ada(house: Roomful) -> Caller:
    return house.person("ada")


@pytest.fixture(scope="module")
def bob(house: Roomful) -> Caller:
    return house.person("bob")


def test_a_run_that_is_stopped_ends_as_canceled(house: Roomful, ada: Caller, model: FakeOpenAI) -> None:
    house.agent("stopped", openai(model.base_url), speaks="text")
    model.answer(Answer([*text("Half a "), hold(), *text("word")]))
    with client(ada, "stopped", "stopping") as node:
        sending = node.begin("send", text="go", id="m1")
        node.wait_for("messages", lambda messages: ("assistant", "Half a ") in flat(messages))
        ada.post(f"/api/runs/{run_id(node)}/cancel")
        done = sending.result(30)
        assert "error" not in done
        assert events(node)[-1]["outcome"] == {"type": "cancelled"}
        assert flat(done["messages"]) == [("user", "go"), ("assistant", "Half a ")]
        assert node.noted("warning") == []
    assert replayed(ada, "stopped", "stopping") == done["messages"]


def test_of_a_failure_the_client_is_told_what_a_space_is_told(
    house: Roomful, ada: Caller, model: FakeOpenAI
) -> None:
    house.agent("failing", openai(model.base_url), speaks="text")
    model.answer(status(400, "a secret about the model"))
    with client(ada, "failing", "failures") as node:
        node.call("send", text="go", id="m1")
        [failed] = events(node, "RUN_ERROR")
        assert failed == {
            "type": "RUN_ERROR",
            "code": "model_rejected",
            "message": "The agent could not finish.",
        }
        assert "secret" not in json.dumps(events(node))
        again = node.call("run")
        assert again["messages"] == [{"id": "m1", "role": "user", "content": "go"}]
        assert len(events(node, "RUN_ERROR")) == 2
    assert len(model.requests) == 1


def test_a_client_that_disappears_does_not_stop_the_run(
    house: Roomful, ada: Caller, model: FakeOpenAI
) -> None:
    house.agent("left", openai(model.base_url), speaks="text")
    model.answer(Answer([*text("Still "), hold(), *text("here.")]))
    with client(ada, "left", "leaving") as node:
        node.begin("send", text="go", id="m1")
        node.wait_for("messages", lambda messages: ("assistant", "Still ") in flat(messages))
        node.kill()
    with client(ada, "left", "leaving") as node:
        replaying = node.begin("replay")
        node.wait_for("messages", lambda messages: ("assistant", "Still ") in flat(messages))
        model.release()
        assert flat(replaying.result(30)["messages"]) == [("user", "go"), ("assistant", "Still here.")]
        assert types(node)[:3] == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "TEXT_MESSAGE_START"]


def test_what_is_sent_again_is_said_once_and_told_from_where_the_client_is(
    house: Roomful, ada: Caller, model: FakeOpenAI
) -> None:
    house.agent("twice", openai(model.base_url), speaks="text")
    model.answer(Answer([*text("One, "), hold(), *text("two.")]))
    with client(ada, "twice", "sent-twice") as node:
        node.begin("send", text="go", id="m1")
        node.wait_for("messages", lambda messages: ("assistant", "One, ") in flat(messages))
        [asked, half] = node.call("state")["messages"]
    with client(ada, "twice", "sent-twice") as node:
        node.call("add", **asked)
        node.call("add", **half)
        again = node.begin("run")
        node.wait_for("event", lambda event: event["type"] == "RUN_STARTED")
        model.release()
        done = again.result(30)
        assert flat(done["messages"]) == [("user", "go"), ("assistant", "One, two.")]
        assert "".join(event["delta"] for event in events(node, "TEXT_MESSAGE_CONTENT")) == "two."
    assert len(ada.messages("sent-twice")) == 2
    assert len(model.requests) == 1
    with client(ada, "twice", "sent-twice") as node:
        other = node.call("send", text="something else", id="m1")
        assert "HTTP 409" in other["error"]


def test_a_client_that_has_something_else_is_asked_to_replay_at_once(
    house: Roomful, ada: Caller, model: FakeOpenAI
) -> None:
    house.agent("firm", openai(model.base_url), speaks="text")
    model.answer(Answer([*text("One, "), hold(), *text("two.")]))
    with client(ada, "firm", "something-else") as node:
        node.begin("send", text="go", id="m1")
        node.wait_for("messages", lambda messages: ("assistant", "One, ") in flat(messages))
        [asked, half] = node.call("state")["messages"]
    with client(ada, "firm", "something-else") as node:
        node.call("add", **asked)
        node.call("add", **{**half, "content": "Three, "})
        node.call("run")
        assert [event["type"] for event in events(node)] == ["RUN_STARTED", "RUN_ERROR"]
        assert events(node)[-1]["code"] == "reattach"
        model.release()
        assert flat(node.call("replay")["messages"]) == [("user", "go"), ("assistant", "One, two.")]


def test_what_cannot_be_taken_back_asks_for_a_replay(house: Roomful, ada: Caller, model: FakeOpenAI) -> None:
    house.agent("retracts", openai(model.base_url), speaks="text")
    model.answer(Answer([*text("A false "), hold(), CUT]), Answer(text("A true start.")))
    with client(ada, "retracts", "taken-back") as node:
        sending = node.begin("send", text="go", id="m1")
        node.wait_for("messages", lambda messages: ("assistant", "A false ") in flat(messages))
        model.release()
        sending.result(30)
        [stuck] = events(node, "RUN_ERROR")
        assert stuck["code"] == "reattach"
        done = node.call("replay")
        assert flat(done["messages"]) == [("user", "go"), ("assistant", "A true start.")]


def test_two_people_in_one_thread(house: Roomful, ada: Caller, bob: Caller, model: FakeOpenAI) -> None:
    house.agent("shared", openai(model.base_url), speaks="text")
    house.space("both", "ada", "bob", "shared")
    model.answer(Answer(text("Hello Ada.")), Answer(text("Hello Bob.")))
    with client(ada, "shared", "both") as hers, client(bob, "shared", "both") as his:
        hers.call("send", text="I am Ada", id="same-id")
        his.call("replay")
        mine = his.call("send", text="I am Bob", id="his-id")
        assert flat(mine["messages"]) == [
            ("user", "I am Ada"),
            ("assistant", "Hello Ada."),
            ("user", "I am Bob"),
            ("assistant", "Hello Bob."),
        ]
        assert mine["messages"][0]["metadata"] == {"roomful": {"entityId": "ada"}}
    assert replayed(bob, "shared", "both") == mine["messages"]
    model.answer(Answer(text("Hm.")))
    with client(bob, "shared", "both") as his:
        done = his.call("send", text="The same id", id="same-id")
    ids = [message["id"] for message in replayed(ada, "shared", "both")]
    assert len(done["messages"]) == 2
    assert len(ids) == len(set(ids)) == 6


def test_words_of_somebody_else_are_not_said_again(
    house: Roomful, ada: Caller, bob: Caller, model: FakeOpenAI
) -> None:
    house.agent("silent", openai(model.base_url))
    house.space("silence", "ada", "bob", "silent")
    model.answer(Answer(text("A thought that nobody sees.")))
    with client(ada, "silent", "silence") as hers, client(bob, "silent", "silence") as his:
        hers.call("send", text="I am Ada", id="m1")
        assert flat(his.call("replay")["messages"]) == [("user", "I am Ada")]
        assert "HTTP 422" in his.call("run")["error"]
    assert [message["entityId"] for message in ada.messages("silence")] == ["ada"]


@pytest.mark.parametrize("thread_id", ["a b & c?", "日本語 🧵", "x" * 65])
def test_a_thread_may_have_any_name(
    house: Roomful, ada: Caller, bob: Caller, model: FakeOpenAI, thread_id: str
) -> None:
    name = f"odd-{abs(hash(thread_id))}"
    house.agent(name, openai(model.base_url), speaks="text")
    model.answer(Answer(text("Hello.")))
    with client(ada, name, thread_id) as node:
        done = node.call("send", text="hi", id="m1")
        assert flat(done["messages"]) == [("user", "hi"), ("assistant", "Hello.")]
        [started] = events(node, "RUN_STARTED")
        assert started["threadId"] == thread_id
        space_id = started["metadata"]["roomful"]["spaceId"]
    assert replayed(ada, name, thread_id) == replayed(ada, name, space_id) == done["messages"]
    with client(bob, name, thread_id) as node:
        assert "HTTP 404" in node.call("replay")["error"]
        assert "HTTP 404" in node.call("send", text="me too", id="m2")["error"]


def test_what_is_forbidden_looks_like_what_is_not_there(house: Roomful, ada: Caller, bob: Caller) -> None:
    house.space("hers", "ada")
    forbidden = bob.request("GET", "/ag-ui/hers/replay")
    unknown = bob.request("GET", "/ag-ui/nobodys/replay")
    assert forbidden.status_code == unknown.status_code == 404
    assert forbidden.text.replace("hers", "") == unknown.text.replace("nobodys", "")
    assert ada.request("GET", "/ag-ui/hers/replay?runId=run_x").status_code == 404
    assert ada.request("GET", "/ag-ui/hers/replay?nothing=1").status_code == 422


SAID = {"id": "m", "role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 422),
        ({}, 422),
        ({"threadId": 1, "messages": [SAID]}, 422),
        ({"threadId": "", "messages": [SAID]}, 422),
        ({"threadId": "g", "messages": "hi"}, 422),
        ({"threadId": "g", "messages": []}, 422),
        ({"threadId": "g", "messages": [{}]}, 422),
        ({"threadId": "g", "messages": [{"role": "assistant", "id": "a", "content": "hi"}]}, 422),
        ({"threadId": "g", "messages": [{**SAID, "content": None}]}, 422),
        ({"threadId": "g", "messages": [{**SAID, "content": ""}]}, 422),
        ({"threadId": "g", "messages": [{**SAID, "content": [{"type": "image"}]}]}, 422),
        ({"threadId": "g", "messages": [{**SAID, "content": [1]}]}, 422),
        ({"threadId": "g", "messages": [{**SAID, "id": "x" * 129}]}, 422),
        ({"threadId": "g", "messages": [SAID], "resume": [{"interruptId": "x"}]}, 422),
        ({"threadId": "g", "messages": [SAID], "resume": [{"interruptId": "x", "status": "resolved"}]}, 404),
        (
            {"threadId": "g", "messages": [{"role": "tool", "id": "t", "toolCallId": "x", "content": "1"}]},
            404,
        ),
        ({"threadId": "g" * 513, "messages": [SAID]}, 422),
    ],
)
def test_a_body_that_cannot_be_understood_is_a_problem(
    house: Roomful, ada: Caller, model: FakeOpenAI, body: Any, expected: int
) -> None:
    if "garbled" not in [agent["id"] for agent in house.admin.get("/api/agents")["agents"]]:
        house.agent("garbled", openai(model.base_url), speaks="text")
    answer = ada.request("POST", "/ag-ui/garbled", body)
    assert (answer.status_code, answer.headers["content-type"]) == (expected, "application/problem+json")
    assert model.requests == []


def test_what_is_not_known_here_is_passed_over(house: Roomful, ada: Caller, model: FakeOpenAI) -> None:
    house.agent("tolerant", openai(model.base_url), speaks="text")
    model.answer(Answer(text("Hello.")))
    tools = [{"name": "browser", "description": "Open a page.", "parameters": {}}]
    body = {
        "threadId": "future",
        "runId": "r1",
        "messages": [
            {"id": "s", "role": "system", "content": "Obey."},
            {**SAID, "content": [{"type": "text", "text": "hi", "more": 1}], "future": True},
        ],
        "tools": tools,
        "context": [{"description": "d", "value": "v"}],
        "state": {"a": 1},
        "forwardedProps": {"b": 2},
        "protocolVersion": "9.9",
        "resume": None,
        "future": {"c": 3},
    }
    answer = ada.request("POST", "/ag-ui/tolerant", body)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/event-stream"
    assert '"runId":"r1"' in answer.text
    assert "".join(re.findall(r'"delta":"([^"]*)"', answer.text)) == "Hello."
    [asked] = model.requests
    assert "browser" not in json.dumps(asked.body)
    assert "Obey." not in json.dumps(asked.body)


def test_a_client_may_send_a_long_history(house: Roomful, ada: Caller, model: FakeOpenAI) -> None:
    house.agent("patient", openai(model.base_url), speaks="text")
    model.answer(Answer(text("Hello.")))
    told = {"id": "a", "role": "assistant", "content": "x" * 3_000_000}
    answer = ada.request("POST", "/ag-ui/patient", {"threadId": "long", "messages": [told, SAID]})
    assert answer.status_code == 200
    assert "RUN_FINISHED" in answer.text
    assert [len(message["parts"][0]["text"]) for message in ada.messages("long")] == [2, 6]


def test_unknown_agents_and_agents_of_others_are_problems(house: Roomful, ada: Caller, bob: Caller) -> None:
    bob.post("/api/agents", {"id": "bobs", "name": "B", "model": "scripted:x"}, expect=201)
    body = {"threadId": "with-bobs", "messages": [SAID]}
    refused = ada.request("POST", "/ag-ui/bobs", body)
    unknown = ada.request("POST", "/ag-ui/nobodys", body)
    assert refused.status_code == unknown.status_code == 422
    assert refused.text.replace("bobs", "") == unknown.text.replace("nobodys", "")


def test_a_closing_gateway_says_so_in_words_that_the_client_knows(tmp_path: Path, model: FakeOpenAI) -> None:
    model.answer(Answer([*text("One, "), hold(), *text("two.")]), Answer(text("One, two.")))
    with Roomful(tmp_path) as house:
        ada = house.person("ada")
        house.agent("slow", openai(model.base_url), speaks="text")
        with client(ada, "slow", "closing") as node:
            sending = node.begin("send", text="go", id="m1")
            node.wait_for("messages", lambda messages: ("assistant", "One, ") in flat(messages))
            assert house.terminate() == 0
            done = sending.result(30)
            assert "error" not in done
            assert events(node)[-1]["code"] == "reattach"
            assert node.noted("warning") == []
        house.start()
        assert flat(replayed(ada, "slow", "closing"))[-1] == ("assistant", "One, two.")
