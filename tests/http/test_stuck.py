"""A run never gets stuck: not by a locked database, a removed space, or a tool that its agent lost."""

import http.server
import sqlite3
import threading
import time
from typing import Any

from tests.http.test_waiting import FORM, _answer, _receiver, _webhook_world
from tests.servers.fake_openai import HANG, Answer, FakeOpenAI, call, text
from tests.servers.roomful import Roomful, openai


def test_a_database_that_is_locked_for_a_while_costs_time_and_no_run(
    tmp_path: Any, model: FakeOpenAI
) -> None:
    asked, go_on = threading.Event(), threading.Event()

    class Api(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.set()
            go_on.wait(30)
            self.send_response(200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"42")

        def log_request(self, *_: object, **__: object) -> None:
            """Quiet."""

    api = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=api.serve_forever, daemon=True).start()
    port = api.server_address[1]
    tool = {
        "name": "look",
        "description": "Look.",
        "executionType": "http",
        "visibility": "full",
        "execution": {"url": f"http://127.0.0.1:{port}/", "method": "GET"},
        "inputSchema": {"type": "object", "properties": {}},
    }
    try:
        with Roomful(tmp_path, ROOMFUL_ALLOW_HOSTS=f"127.0.0.1:{port}") as house:
            ada = house.person("ada")
            house.agent("looker", openai(model.base_url), tool)
            house.space("room", "ada", "looker")
            model.answer(Answer(call("look", {})), Answer(text("ok")))
            run_id = ada.say("room", "go")["runs"][0]["runId"]
            assert asked.wait(20)
            with sqlite3.connect(tmp_path / "roomful.db", isolation_level=None) as other:
                other.execute("BEGIN IMMEDIATE")
                go_on.set()
                deadline = time.monotonic() + 30
                while "stops until the store is back" not in house.log.read_text():
                    assert time.monotonic() < deadline, house.log.read_text()
                    time.sleep(0.05)
                other.execute("ROLLBACK")
            other.close()
            with ada.listen("room") as listener:
                if house.admin.get(f"/api/runs/{run_id}")["status"] == "running":
                    listener.wait_for("run.completed")
            assert house.admin.get(f"/api/runs/{run_id}")["status"] == "completed"
            [part] = ada.messages("room")[1]["parts"]
            assert part["status"] in ("complete", "unknown")
    finally:
        api.shutdown()
        api.server_close()


def test_a_space_that_is_removed_while_a_run_speaks_there_does_not_hold_it(
    house: Roomful, model: FakeOpenAI
) -> None:
    ada = house.person("ada")
    house.agent("speaker", openai(model.base_url))
    for space_id in ("room", "other"):
        house.space(space_id, "ada", "speaker")
    pieces = [*call("sendSpaceMessage", {"spaceId": "other", "text": "hello there"}, size=3), HANG]
    model.answer(Answer([*pieces[:-2], pieces[-1]]))
    with ada.listen("room") as room, ada.listen("other") as other:
        run_id = ada.say("room", "go")["runs"][0]["runId"]
        other.wait_for("text-delta")
        house.admin.call("DELETE", "/api/spaces/other", expect=204)
        ada.post(f"/api/runs/{run_id}/cancel")
        room.wait_for("run.canceled")
    assert house.admin.get(f"/api/runs/{run_id}")["status"] == "canceled"


def test_a_form_whose_only_space_is_removed_is_settled(house: Roomful, model: FakeOpenAI) -> None:
    ada = house.person("ada")
    house.agent("asker", openai(model.base_url), FORM)
    for space_id in ("room", "other"):
        house.space(space_id, "ada", "asker")
    model.answer(Answer(call("form", {"targetSpaceId": "other", "q": "?"})), Answer(text("ok")))
    with ada.listen("room") as room:
        ada.say("room", "ask")
        room.wait_for("run.waiting_tool")
        house.admin.call("DELETE", "/api/spaces/other", expect=204)
        room.wait_for("run.completed")
    assert "the space where this was asked is gone" in model.requests[1].messages[-1]["content"]


def test_a_card_can_be_answered_after_its_agent_lost_the_tool(house: Roomful, model: FakeOpenAI) -> None:
    ada = house.person("ada")
    house.agent("asker", openai(model.base_url), FORM)
    house.space("room", "ada", "asker")
    model.answer(Answer(call("form", {"q": "?"})), Answer(text("ok")))
    with ada.listen("room") as listener:
        run_id = ada.say("room", "ask")["runs"][0]["runId"]
        waiting = listener.wait_for("run.waiting_tool").data
        [pending] = waiting["pendingToolCalls"]
        assert pending["spaceIds"] == ["room"]
        config = {"id": "asker", "name": "Asker", "model": openai(model.base_url), "tools": []}
        house.admin.call("PUT", "/api/agents/asker", config)
        assert _answer(ada, run_id, pending["toolCallId"], result={"x": 1}).status_code == 200
        listener.wait_for("run.completed")
    assert model.requests[1].messages[-1]["content"] == '{"x":1}'


def test_nobody_answers_in_place_of_a_webhook(tmp_path: Any, model: FakeOpenAI) -> None:
    with _receiver(202, {}) as receiver:
        allowed = f"127.0.0.1:{receiver.port}"
        with Roomful(tmp_path, ROOMFUL_ALLOW_HOSTS=allowed) as house:
            ada = _webhook_world(house, model, receiver)
            with ada.listen("room") as listener:
                run_id = ada.say("room", "go")["runs"][0]["runId"]
                event = listener.wait_for("run.waiting_tool")
                assert "pendingToolCalls" not in event.data
                [(_, sent)] = receiver.got
                forged = _answer(ada, run_id, sent["id"], result={"forged": 1})
                assert forged.status_code == 403
                assert house.admin.get(f"/api/runs/{run_id}")["status"] == "waiting_tool"
