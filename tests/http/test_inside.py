"""What goes on inside a call when somebody stops it, leaves, crashes or looks from elsewhere."""

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.http.test_delegation import FORM, SEARCH, Script, both, checked, delegate
from tests.http.test_replies import agent, told
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, call, hold, text
from tests.servers.roomful import Caller, Event, Listener, Roomful, openai

ALIVE = {"streaming", "ready", "running", "waiting", "queued", "open"}


@pytest.fixture
def ada(house: Roomful) -> Caller:
    return house.person("ada")


def asks(name: str, index: int = 0, **more: Any) -> list[bytes]:
    return call(f"ask_{name}", {**more, "prompt": f"do {name}"}, index=index)


def boss(house: Roomful, model: FakeOpenAI, *tools: Any, **more: Any) -> None:
    house.agent("boss", openai(model.base_url), *tools, instructions="You are boss.", **more)


def calls_configured(agent_id: str) -> dict[str, Any]:
    return {**delegate(agent_id), "execution": {"agentId": agent_id}}


def tree(house: Roomful, root_id: str) -> list[dict[str, Any]]:
    """The runs of this root, the root first."""
    runs = house.admin.get("/api/runs", params={"limit": 200})["runs"]
    return [run for run in reversed(runs) if run["rootRunId"] == root_id]


def rest(house: Roomful, run_id: str) -> str:
    """Waits for the run's end, and tells how it ended."""
    with Listener(house.admin, f"/api/runs/{run_id}/stream") as ears:
        ears.wait_end()
    return house.admin.get(f"/api/runs/{run_id}")["status"]


def form_waits(events: list[Event]) -> dict[str, Any] | None:
    waiting = [e.data for e in events if e.name == "run.waiting_tool" and "pendingToolCalls" in e.data]
    return waiting[-1] if waiting else None


def answers(who: Caller, waiting: dict[str, Any], result: Any) -> int:
    body = {"toolCallId": waiting["pendingToolCalls"][0]["toolCallId"], "result": result}
    return who.request("POST", f"/api/runs/{waiting['runId']}/tool-results", body).status_code


def statuses(thing: Any) -> Iterator[str]:
    """Of messages, parts, children and their calls, however deep."""
    if isinstance(thing, list):
        for one in thing:  # pyright: ignore[reportUnknownVariableType]
            yield from statuses(one)
    elif isinstance(thing, dict):
        if "status" in thing:
            yield thing["status"]
        for key in ("parts", "child", "calls"):
            yield from statuses(thing.get(key))  # pyright: ignore[reportUnknownMemberType]


class Posting(Listener):
    """A message posted by somebody who follows what comes of it in the answer."""

    def __init__(self, caller: Caller, space_id: str, body: dict[str, Any]) -> None:
        super().__init__(caller, "")
        url = f"{caller.house.url}/api/spaces/{space_id}/messages"
        headers = {"authorization": f"Bearer {caller.token}", "accept": "text/event-stream"}
        self._request = self._client.build_request("POST", url, headers=headers, json=body)


def asking(asked: Asked) -> Answer:
    """The boss asks one, who looks and asks two, who asks a person."""
    who = asked.messages[0]["content"].split("You are ")[1].split(".")[0]
    first = {
        "boss": both(asks("one")),
        "one": both(text("I ask. "), call("search", {"query": "x"}), asks("two", 1)),
        "two": both(text("Let me see. "), call("form", {"q": "?"})),
    }
    return first[who] if asked.messages[-1]["role"] == "user" else Answer(text("done"))


ASKING = delegate("one", SEARCH, delegate("two", FORM))


def test_a_cancel_at_whatever_moment_leaves_nothing_alive(house: Roomful, ada: Caller) -> None:
    with FakeOpenAI(asking) as model:
        boss(house, model, ASKING)
        for moment in range(1, 25):
            room = house.space(f"room{moment}", "ada", "boss")
            with ada.listen(room) as listener:
                run_id = ada.say(room, "go")["runs"][0]["runId"]
                listener.wait(lambda events, n=moment: len(events) >= n or form_waits(events))
                stopped = ada.request("POST", f"/api/runs/{run_id}/cancel")
                assert stopped.status_code == 200, (moment, stopped.text)
                assert {run["status"] for run in tree(house, run_id)} == {"canceled"}, moment
                listener.wait_for("run.canceled", runId=run_id)
                state = checked(listener, ada, room)
                assert not ALIVE & set(statuses(state)), moment


def test_an_agent_that_was_removed_hears_no_later_message(house: Roomful, ada: Caller) -> None:
    wait = {"for": [{"type": "human"}]}
    script = Script(shop=[Answer(call("send_message", {"text": "Which?", "wait": wait})), Answer([])])
    with FakeOpenAI(script) as model:
        agent(house, model, "shop")
        house.space("room", "ada", "shop")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "go")["runs"][0]["runId"]
            listener.wait_for("run.waiting_reply")
            house.admin.call("DELETE", "/api/spaces/room/members/shop", expect=204)
            assert ada.say("room", "canary")["runs"] == []
            listener.wait_for("run.completed", runId=run_id)
            assert not ALIVE & set(statuses(checked(listener, ada, "room")))
        assert told(model, "shop")["reason"] == "you are not in this space any more"
        assert "canary" not in json.dumps([asked.body for asked in model.requests])


def test_a_form_inside_a_private_call_is_seen_by_its_member_only(house: Roomful, ada: Caller) -> None:
    bob = house.person("bob")
    script = Script(
        boss=[Answer(asks("scout", targetSpaceId="room", targetEntityId="ada")), Answer(text("ok"))],
        scout=[both(text("canary-1 "), call("form", {"q": "canary-2"})), Answer(text("canary-3"))],
    )
    with FakeOpenAI(script) as model:
        boss(house, model, delegate("scout", FORM))
        house.space("room", "ada", "bob", "boss")
        with ada.listen("room") as listener, bob.listen("room") as other:
            run_id = ada.say("room", "go")["runs"][0]["runId"]
            listener.wait_for("run.waiting_tool", count=2)
            [child] = tree(house, run_id)[1:]
            waiting = {"runId": child["id"], "pendingToolCalls": child["pendingToolCalls"]}
            looks = [
                "/api/spaces/room/messages",
                "/api/chat?threadId=room",
                "/api/runs",
                f"/api/runs/{run_id}",
                f"/api/runs/{child['id']}",
            ]
            seen = [bob.request("GET", path).text for path in looks]
            assert answers(bob, waiting, "mine") in (403, 404)
            assert "canary-2" in json.dumps(checked(listener, ada, "room"))
            assert answers(ada, waiting, "canary-4") == 200
            listener.wait_for("run.completed", runId=run_id)
            other.wait_for("run.completed", runId=run_id)
            assert "canary-4" in json.dumps(checked(listener, ada, "room"))
            checked(other, bob, "room")
            seen += [bob.request("GET", path).text for path in looks]
            seen += [json.dumps(event.data) for event in other.events]
        assert [one for one in seen if "canary" in one] == []


def test_what_a_sub_agent_asks_in_another_space_stays_there(house: Roomful, ada: Caller) -> None:
    bob = house.person("bob")
    form = {**FORM, "executionType": "space", "execution": {}}
    script = Script(
        boss=[Answer(asks("scout")), Answer(text("ok"))],
        scout=[
            Answer(call("enter_space", {"spaceId": "den"})),
            Answer(call("form", {"q": "canary-1"})),
            Answer(text("done")),
        ],
    )
    with FakeOpenAI(script) as model:
        boss(house, model, delegate("scout", form, dialect="active"))
        house.space("room", "ada", "boss")
        house.space("den", "bob", "boss")
        with ada.listen("room") as listener, bob.listen("den") as other:
            run_id = ada.say("room", "go")["runs"][0]["runId"]
            waiting = other.wait(form_waits)
            assert waiting["pendingToolCalls"][0]["args"] == {"q": "canary-1"}
            assert answers(ada, waiting, "mine") in (403, 404)
            assert answers(bob, waiting, "canary-2") == 200
            listener.wait_for("run.completed", runId=run_id)
            state = checked(listener, ada, "room")
            assert "canary-2" in json.dumps(checked(other, bob, "den"))
            heard = [event.data for event in listener.events]
        assert "canary" not in json.dumps([heard, ada.get("/api/chat", params={"threadId": "room"})])
        assert [(one["toolName"], one["status"]) for one in state[1]["parts"][0]["child"]["calls"]] == [
            ("form", "complete")
        ]


def test_a_form_that_nobody_waits_for_is_answered_after_its_sub_agent_ended(
    house: Roomful, ada: Caller
) -> None:
    form = {**FORM, "execution": {"mode": "no-execution", "wait": False}}
    script = Script(
        boss=[Answer(asks("scout")), Answer(text("ok")), Answer(text("thanks"))],
        scout=[Answer(call("form", {"q": "later?"})), Answer(text("done")), Answer(text("thanks"))],
    )
    with FakeOpenAI(script) as model:
        boss(house, model, delegate("scout", form))
        house.space("room", "ada", "boss")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "go")["runs"][0]["runId"]
            listener.wait_for("run.completed", runId=run_id)
            state = checked(listener, ada, "room")
            [part] = [p for message in state for p in message["parts"] if p.get("toolName") == "form"]
            waiting = {"runId": part["runId"], "pendingToolCalls": [part]}
            assert answers(ada, waiting, "late") == 200
            listener.wait_for("tool-call.complete", toolCallId=part["toolCallId"])
            listener.wait_for("run.completed", count=3)
            state = checked(listener, ada, "room")
        assert not ALIVE & set(statuses(state))


def test_who_waits_for_a_silent_agent_is_told_after_a_kill(tmp_path: Path) -> None:
    """The kill may come when it was just told: then it is told once more."""
    script = Script(
        asker=[Answer(call("send_message", {"text": "@expert?", "wait": True})), Answer([]), Answer([])],
        expert=[Answer([hold("end")])],
    )
    with FakeOpenAI(script) as model, Roomful(tmp_path) as house:
        ada = house.person("ada")
        agent(house, model, "asker", "expert")
        house.space("room", "ada", "asker", "expert")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "go", mentions=["asker"])["runs"][0]["runId"]
            listener.wait_for("run.waiting_reply")
            model.release("end")
            listener.wait_for("run.completed")
            house.kill()
        house.start()
        assert rest(house, run_id) == "completed"
        assert told(model, "asker")["reply"] is None


def test_a_child_that_waits_for_its_silent_parent_is_told(house: Roomful, ada: Caller) -> None:
    script = Script(
        boss=[Answer(asks("helper")), Answer([]), Answer(text("ok"))],
        helper=[Answer(call("send_message", {"text": "@boss what?", "wait": True})), Answer(text("done"))],
    )
    with FakeOpenAI(script) as model:
        agent(house, model, "helper")
        boss(house, model, calls_configured("helper"))
        house.space("room", "ada", "boss", "helper")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "go", mentions=["boss"])["runs"][0]["runId"]
            listener.wait_for("run.completed", runId=run_id)
            checked(listener, ada, "room")
        assert told(model, "helper")["reply"] is None
        assert [run["status"] for run in tree(house, run_id)] == ["completed"] * 3


def answered_without_its_tool(house: Roomful, ada: Caller, model: FakeOpenAI) -> list[dict[str, Any]]:
    """The form of a sub-agent whom its agent knows no more is answered; gives what is seen then."""
    boss(house, model, delegate("scout", FORM))
    house.space("room", "ada", "boss")
    with ada.listen("room") as listener:
        run_id = ada.say("room", "go")["runs"][0]["runId"]
        waiting = listener.wait(form_waits)
        config = {"id": "boss", "name": "Boss", "model": openai(model.base_url), "tools": []}
        house.admin.call("PUT", "/api/agents/boss", {**config, "instructions": "You are boss."})
        assert answers(ada, waiting, "yes") == 200
        listener.wait_for("run.completed", runId=run_id)
        assert [run["status"] for run in tree(house, run_id)] == ["completed", "failed"]
        return checked(listener, ada, "room")


def lost_tool() -> Script:
    return Script(boss=[Answer(asks("scout")), Answer(text("ok"))], scout=[Answer(call("form", {"q": "?"}))])


def test_a_form_is_answered_though_its_agent_lost_the_tool(house: Roomful, ada: Caller) -> None:
    with FakeOpenAI(lost_tool()) as model:
        [_, message, asked] = answered_without_its_tool(house, ada, model)
        [part], [form] = message["parts"], asked["parts"]
        assert (part["status"], part["error"]) == ("error", "Scout failed: it could not finish")
        assert part["child"]["status"] == "failed"
        assert (form["status"], form["result"], form["answeredBy"]) == ("complete", "yes", "ada")


def test_a_run_that_cannot_go_on_closes_its_messages(house: Roomful, ada: Caller) -> None:
    with FakeOpenAI(lost_tool()) as model:
        state = answered_without_its_tool(house, ada, model)
        assert [message["status"] for message in state] == ["final"] * 3


ENDS = ("run.completed", "run.failed", "run.canceled")


def test_a_kill_in_the_middle_of_a_cancel_does_not_keep_it_from_its_end(tmp_path: Path) -> None:
    with FakeOpenAI(asking) as model, Roomful(tmp_path) as house:
        ada = house.person("ada")
        boss(house, model, ASKING)
        house.space("room", "ada", "boss")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "go")["runs"][0]["runId"]
            listener.wait(form_waits)
            before = len(listener.events)

            def cancel() -> None:
                with contextlib.suppress(httpx.TransportError):
                    ada.request("POST", f"/api/runs/{run_id}/cancel")

            thread = threading.Thread(target=cancel)
            thread.start()
            listener.wait(lambda events: len(events) > before)
            house.kill()
            thread.join()
        house.start()
        assert rest(house, run_id) == "canceled"
        assert [run["status"] for run in tree(house, run_id)] == ["canceled"] * 3
        assert not ALIVE & set(statuses(ada.messages("room")))


def test_a_post_stream_goes_on_while_an_agent_is_waited_for(house: Roomful, ada: Caller) -> None:
    script = Script(
        asker=[
            Answer(call("send_message", {"text": "@expert how many?", "wait": True})),
            Answer(call("send_message", {"text": "It is 42."})),
            Answer([]),
        ],
        expert=[Answer([hold("end"), *call("send_reply", {"text": "42"})]), Answer([])],
    )
    with FakeOpenAI(script) as model:
        agent(house, model, "asker", "expert")
        house.space("room", "ada", "asker", "expert")
        with Posting(ada, "room", {"text": "go", "mentions": ["asker"]}) as stream:
            stream.wait_for("run.waiting_reply")
            model.release("end")
            stream.wait_end()
            assert "It is 42." in json.dumps([event.data for event in stream.events])
            assert stream.names()[-1] == "run.completed"


def test_a_post_stream_ends_when_a_form_waits_and_nobody_works(house: Roomful, ada: Caller) -> None:
    script = Script(
        boss=[both(asks("clerk", 0), asks("scout", 1)), Answer(text("ok"))],
        clerk=[Answer(call("form", {"q": "?"}))],
        scout=[Answer([*text("working"), hold("end"), *text(" till the end")])],
    )
    body = {"text": "go", "clientMessageId": "one"}
    with FakeOpenAI(script) as model:
        boss(house, model, delegate("clerk", FORM), delegate("scout", SEARCH))
        house.space("room", "ada", "boss")
        with ada.listen("room") as listener:
            with Posting(ada, "room", body) as stream:
                listener.wait_for("subagent.text", delta="working")
                listener.wait(form_waits)
                model.release("end")
                stream.wait_end()
                assert " till the end" in json.dumps([event.data for event in stream.events])
            with Posting(ada, "room", body) as replay:
                replay.wait_end()
                assert '"toolName": "form"' in json.dumps([event.data for event in replay.events])


def test_words_told_before_a_crash_stay(tmp_path: Path) -> None:
    script = Script(
        boss=[Answer(asks("scout")), Answer(text("ok"))],
        scout=[
            Answer([*text("I look. "), *call("search", {"query": "x"}), hold("never")]),
            Answer([*text("Found it."), hold("end")]),
        ],
    )
    with FakeOpenAI(script) as model, Roomful(tmp_path) as house:
        ada = house.person("ada")
        boss(house, model, delegate("scout", SEARCH))
        house.space("room", "ada", "boss")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "go")["runs"][0]["runId"]
            listener.wait_for("subagent.call")
            listener.wait_for("subagent.text", delta="I look. ")
            house.kill()
        house.start()
        with ada.listen("room") as listener:
            listener.wait_for("subagent.text")
            assert checked(listener, ada, "room")[1]["parts"][0]["child"]["text"] == "I look. Found it."
            model.release("end")
            listener.wait_for("run.completed", runId=run_id)
            [part] = checked(listener, ada, "room")[1]["parts"]
        assert (part["child"]["text"], part["result"]["text"]) == ("I look. Found it.", "I look. Found it.")
        assert told(model, "boss") == part["result"]


def test_a_result_only_delegation_shows_its_result(house: Roomful, ada: Caller) -> None:
    script = Script(
        boss=[Answer(asks("scout")), Answer([])],
        scout=[both(text("Hm. "), call("search", {"query": "canary"})), Answer(text("Found."))],
    )
    with FakeOpenAI(script) as model:
        tool = {**delegate("scout", SEARCH), "visibility": "result-only"}
        boss(house, model, tool, dialect="active")
        house.space("room", "ada", "boss")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "go")["runs"][0]["runId"]
            listener.wait_for("run.completed", runId=run_id)
            [part] = checked(listener, ada, "room")[1]["parts"]
        assert part["result"]["text"] == "Hm. Found."
        assert "canary" not in json.dumps([event.data for event in listener.events])


def test_a_run_out_of_time_stops_its_child_beside_a_slow_tool(tmp_path: Path) -> None:
    script = Script(
        boss=[both(asks("scout", 0), call("slow", {}, index=1))],
        scout=[Answer([*text("working"), hold("never")])],
    )
    with socket.create_server(("127.0.0.1", 0)) as silent, FakeOpenAI(script) as model:
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        slow = {
            "name": "slow",
            "description": "Never answers.",
            "executionType": "request",
            "visibility": "full",
            "execution": {"url": f"http://{place}/", "method": "GET"},
            "inputSchema": {"type": "object", "properties": {}},
        }
        with Roomful(tmp_path, ROOMFUL_ALLOW_HOSTS=place) as house:
            ada = house.person("ada")
            boss(house, model, delegate("scout", SEARCH), slow, limits={"runSeconds": 1.5})
            house.space("room", "ada", "boss")
            with ada.listen("room") as listener:
                run_id = ada.say("room", "go")["runs"][0]["runId"]
                listener.wait_for("subagent.text")
                listener.wait(lambda es: [e for e in es if e.name in ENDS and e.data["runId"] == run_id])
                state = checked(listener, ada, "room")
            assert not ALIVE & set(statuses(state))
            assert [run["status"] for run in tree(house, run_id)][1:] == ["canceled"]
            assert model.requests[-1].gone.wait(10)


def test_what_a_sub_agent_out_of_time_left_undone_is_not_shown_as_running(tmp_path: Path) -> None:
    script = Script(
        boss=[both(asks("scout")), Answer(text("done"))],
        scout=[both(call("slow", {}), call("form", {"q": "?"}, index=1))],
    )
    with socket.create_server(("127.0.0.1", 0)) as silent, FakeOpenAI(script) as model:
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        slow = {**SEARCH, "name": "slow", "executionType": "request", "visibility": "full"}
        slow["execution"] = {"url": f"http://{place}/", "method": "GET"}
        slow["inputSchema"] = {"type": "object", "properties": {}}
        scout = delegate("scout", slow, FORM)
        scout["execution"]["agentConfig"]["limits"] = {"runSeconds": 1.5}
        with Roomful(tmp_path, ROOMFUL_ALLOW_HOSTS=place) as house:
            ada = house.person("ada")
            boss(house, model, scout)
            house.space("room", "ada", "boss")
            with ada.listen("room") as listener:
                run_id = ada.say("room", "go")["runs"][0]["runId"]
                listener.wait_for("run.completed", runId=run_id)
                state = checked(listener, ada, "room")
    assert not ALIVE & set(statuses(state)), state
    [child] = [part["child"] for message in state for part in message["parts"] if "child" in part]
    assert [inner["status"] for inner in child["calls"]] == ["unknown", "canceled"]


def test_plans_and_runs_of_elsewhere_are_neither_told_nor_deleted(house: Roomful, ada: Caller) -> None:
    bob = house.person("bob")
    plan = {"name": "Tea", "instruction": "canary", "runAfter": "2 hours"}
    script = Script(shop=[Answer(call("set_plans", {"plans": [plan]})), Answer([])])
    with FakeOpenAI(script) as model:
        agent(house, model, "shop")
        house.space("room", "ada", "shop")
        house.space("hall", "ada", "bob", "shop")
        there = ada.say("room", "go")["runs"][0]["runId"]
        assert rest(house, there) == "completed"
        plans = house.admin.get("/api/agents/shop/plans")["plans"]
        script.answers["shop"] = [
            Answer(call("get_plans", {})),
            Answer(call("get_my_runs", {})),
            Answer(call("delete_plans", {"ids": [plans[0]["id"]]})),
            Answer([]),
        ]
        here = bob.say("hall", "go")["runs"][0]["runId"]
        assert rest(house, here) == "completed"
        assert told(model, "shop", -3) == {"plans": []}
        assert [run["id"] for run in told(model, "shop", -2)["runs"]] == [here]
        assert "you have no plan" in model.requests[-1].messages[-1]["content"]
        assert house.admin.get("/api/agents/shop/plans")["plans"] == plans


def test_an_agent_cannot_approve_its_own_call(house: Roomful, ada: Caller) -> None:
    script = Script(boss=[Answer(call("search", {"query": "x"})), Answer(text("ok"))])
    with FakeOpenAI(script) as model:
        boss(house, model, {**SEARCH, "approval": True})
        house.space("room", "ada", "boss")
        itself = Caller(house, house.admin.post("/api/entities/boss/tokens", {}, expect=201)["token"], "boss")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "go")["runs"][0]["runId"]
            waiting = listener.wait(form_waits)
            assert answers(itself, waiting, {"approved": True}) == 403
            assert answers(ada, waiting, {"approved": True}) == 200
            listener.wait_for("run.completed", runId=run_id)


def test_a_form_inside_asks_where_the_call_is_shown(house: Roomful, ada: Caller) -> None:
    house.person("grace")
    grace = Caller(house, house.admin.post("/api/entities/grace/tokens", expect=201)["token"], "grace")
    script = Script(
        boss=[
            Answer(call("ask_scout", {"targetSpaceId": "finance", "prompt": "ask them"})),
            Answer(text("ok")),
        ],
        scout=[Answer(call("form", {"q": "May I?"})), Answer(text("done"))],
    )
    with FakeOpenAI(script) as model:
        house.agent("boss", openai(model.base_url), delegate("scout", FORM), instructions="You are boss.")
        house.space("room", "ada", "boss")
        house.space("finance", "grace", "boss")
        with ada.listen("room") as here, grace.listen("finance") as there:
            run_id = ada.say("room", "go")["runs"][0]["runId"]
            asked = there.wait(lambda events: [e.data for e in events if e.data.get("pendingToolCalls")])[0]
            answer = {"toolCallId": asked["pendingToolCalls"][0]["toolCallId"], "result": "yes"}
            grace.post(f"/api/runs/{asked['runId']}/tool-results", answer)
            here.wait_for("run.completed", runId=run_id)
            there.wait_for("run.completed", runId=run_id)
            checked(there, grace, "finance")
            assert len(checked(here, ada, "room")) == 1
