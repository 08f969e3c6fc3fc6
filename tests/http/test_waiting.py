"""What else a run can wait for: a poll, several forms at once, a webhook's later result."""

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.requirements import requirement
from tests.servers.fake_openai import Answer, FakeOpenAI, call, text
from tests.servers.roomful import Caller, Roomful, openai

FORM: dict[str, Any] = {
    "name": "form",
    "description": "Ask the people.",
    "executionType": "basic",
    "execution": {"mode": "no-execution"},
    "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}},
}


def _answer(who: Caller, run_id: str, call_id: str, **body: Any) -> httpx.Response:
    return who.request("POST", f"/api/runs/{run_id}/tool-results", {"toolCallId": call_id, **body})


def test_a_poll_takes_one_changeable_answer_of_each_until_it_is_closed(
    house: Roomful, model: FakeOpenAI
) -> None:
    ada, bob, owner = house.person("ada"), house.person("bob"), house.person("owner")
    poll = {
        **FORM,
        "execution": {"mode": "no-execution", "answers": "each"},
        "approvers": {"roles": ["owner"]},
    }
    house.agent("asker", openai(model.base_url), poll)
    house.space("room", "ada", "bob", "owner:owner", "asker")
    model.answer(Answer(call("form", {"q": "Pizza?"})), Answer(text("ok")))
    with ada.listen("room") as listener:
        run_id = ada.say("room", "ask them")["runs"][0]["runId"]
        waiting = listener.wait_for("run.waiting_tool").data
        call_id = waiting["pendingToolCalls"][0]["toolCallId"]
        for who, word in [(ada, "yes"), (bob, "no"), (ada, "no"), (bob, "yes")]:
            assert _answer(who, run_id, call_id, result=word).status_code == 200
        part = ada.messages("room")[1]["parts"][0]
        assert part["status"] == "waiting"
        assert {one["entityId"]: one["result"] for one in part["answers"]} == {"ada": "no", "bob": "yes"}
        assert _answer(ada, run_id, call_id, close=True).status_code == 403
        assert _answer(owner, run_id, call_id, close=True).status_code == 200
        listener.wait_for("run.completed")
    assert _answer(bob, run_id, call_id, result="no").status_code == 409
    told = json.loads(model.requests[1].messages[-1]["content"])
    assert {one["entityId"]: one["result"] for one in told["answers"]} == {"ada": "no", "bob": "yes"}


def test_several_forms_are_open_at_once_and_the_same_form_settles_in_both_spaces(
    house: Roomful, model: FakeOpenAI
) -> None:
    ada = house.person("ada")
    house.agent("asker", openai(model.base_url), FORM)
    for space_id in ("room", "other"):
        house.space(space_id, "ada", "asker")
    pieces = [
        *call("form", {"targetSpaceIds": ["room", "other"], "q": "one"}, index=0, id="a"),
        *call("form", {"targetSpaceId": "other", "q": "two"}, index=1, id="b"),
    ]
    model.answer(Answer(pieces), Answer(text("ok")))
    with ada.listen("room") as room, ada.listen("other") as other:
        run_id = ada.say("room", "ask")["runs"][0]["runId"]
        here = room.wait_for("run.waiting_tool").data["pendingToolCalls"]
        there = other.wait_for("run.waiting_tool").data["pendingToolCalls"]
        assert [one["args"]["q"] for one in here] == ["one"]
        assert [one["args"]["q"] for one in there] == ["one", "two"]
        first, second = (one["toolCallId"] for one in there)
        assert _answer(ada, run_id, second, result={"x": 2}).status_code == 200
        other.wait_for("tool-call.complete", toolCallId=second)
        assert house.admin.get(f"/api/runs/{run_id}")["status"] == "waiting_tool"
        assert _answer(ada, run_id, first, result={"x": 1}).status_code == 200
        for listener in (room, other):
            listener.wait_for("tool-call.complete", toolCallId=first)
            listener.wait_for("run.completed")
    results = [json.loads(message["content"]) for message in model.requests[1].messages[-2:]]
    assert results == [{"x": 1}, {"x": 2}]
    assert ada.messages("room")[1]["parts"][0]["result"] == {"x": 1}
    assert [part["result"] for part in ada.messages("other")[0]["parts"]] == [{"x": 1}, {"x": 2}]


def test_a_result_must_fit_and_a_canceled_form_takes_none(house: Roomful, model: FakeOpenAI) -> None:
    ada = house.person("ada")
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    house.agent("asker", openai(model.base_url), {**FORM, "resultSchema": schema})
    house.space("room", "ada", "asker")
    model.answer(Answer(call("form", {"q": "one"})))
    with ada.listen("room") as listener:
        run_id = ada.say("room", "ask")["runs"][0]["runId"]
        waiting = listener.wait_for("run.waiting_tool").data
        call_id = waiting["pendingToolCalls"][0]["toolCallId"]
        wrong = _answer(ada, run_id, call_id, result={"ok": "perhaps"})
        assert wrong.status_code == 422
        assert "ok" in wrong.json()["detail"]
        assert _answer(ada, run_id, "call_x", result={"ok": True}).status_code == 404
        ada.post(f"/api/runs/{run_id}/cancel")
        listener.wait_for("run.canceled")
    late = _answer(ada, run_id, call_id, result={"ok": True})
    assert late.status_code == 409
    assert late.json()["outcome"]["status"] == "canceled"
    assert ada.messages("room")[1]["parts"][0]["status"] == "canceled"


@pytest.mark.parametrize("answers", ["one", "each"])
def test_a_file_in_an_answer_is_seen_where_the_card_is_if_it_is_the_answerers(
    house: Roomful, model: FakeOpenAI, answers: str
) -> None:
    ada, bob, eve = house.person("ada"), house.person("bob"), house.person("eve")
    execution = {"mode": "no-execution", "answers": answers}
    house.agent("asker", openai(model.base_url), {**FORM, "execution": execution})
    house.space("room", "ada", "bob", "asker")
    model.answer(Answer(call("form", {"q": "Which file?"})), Answer(text("ok")))
    blobs = [who.post("/api/blobs", b"words", expect=201) for who in (ada, eve)]
    with ada.listen("room") as listener:
        run_id = ada.say("room", "ask")["runs"][0]["runId"]
        waiting = listener.wait_for("run.waiting_tool").data
        call_id = waiting["pendingToolCalls"][0]["toolCallId"]
        assert _answer(ada, run_id, call_id, result={"files": blobs}).status_code == 200
    seen = [bob.request("GET", blob["url"]).status_code for blob in blobs]
    assert seen == [200, 404]


class Receiver:
    """A real webhook receiver that answers as it is told and remembers what it got."""

    def __init__(self, status: int, body: Any) -> None:
        self.got: list[tuple[dict[str, str], Any]] = []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["content-length"]))
                receiver.got.append(({k.lower(): v for k, v in self.headers.items()}, json.loads(raw)))
                answer = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_request(self, *_: object, **__: object) -> None:
                """Quiet."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]


@contextmanager
def _receiver(status: int, body: Any) -> Iterator[Receiver]:
    receiver = Receiver(status, body)
    thread = threading.Thread(target=receiver.server.serve_forever)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.server.shutdown()
        receiver.server.server_close()
        thread.join()


def _webhook_world(house: Roomful, model: FakeOpenAI, receiver: Receiver) -> Caller:
    ada = house.person("ada")
    tool = {
        "name": "process",
        "description": "Process.",
        "executionType": "external",
        "inputSchema": {"type": "object", "properties": {"x": {"type": "integer"}}},
        "execution": {
            "webhookUrl": f"http://127.0.0.1:{receiver.port}/tools",
            "method": "POST",
            "timeout": 9000,
        },
    }
    house.agent("worker", openai(model.base_url), tool)
    house.space("room", "ada", "worker")
    model.answer(Answer(call("process", {"x": 7})), Answer(text("ok")))
    return ada


@requirement("T-09")
@pytest.mark.parametrize("late", [False, True])
def test_a_webhook_answers_at_once_or_calls_back_once(tmp_path: Any, model: FakeOpenAI, late: bool) -> None:
    with _receiver(202 if late else 200, {} if late else {"done": 7}) as receiver:
        allowed = f"127.0.0.1:{receiver.port}"
        with Roomful(tmp_path, ROOMFUL_ALLOW_HOSTS=allowed) as house:
            ada = _webhook_world(house, model, receiver)
            with ada.listen("room") as listener:
                ada.say("room", "go")
                if late:
                    listener.wait_for("run.waiting_tool")
                    [(_, sent)] = receiver.got
                    url = sent["callbackUrl"]
                    assert httpx.post(url[:-3] + "000", json={"result": 1}).status_code == 404
                    house.kill()
                    house.start()
                    with ada.listen("room") as again:
                        assert httpx.post(url, json={"result": {"done": 7}}).status_code == 200
                        assert httpx.post(url, json={"result": {"done": 8}}).status_code == 409
                        again.wait_for("run.completed")
                else:
                    listener.wait_for("run.completed")
            [(headers, sent)] = receiver.got
            assert (sent["tool"], sent["input"]) == ("process", {"x": 7})
            assert headers["x-roomful-signature"].startswith("v1=")
            assert model.requests[1].messages[-1]["content"] == '{"done":7}'
            part = ada.messages("room")[1]["parts"][0]
            assert (part["status"], part["result"]) == ("complete", {"done": 7})
