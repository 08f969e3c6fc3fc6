"""Agents that wait for a reply, and those who give it."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.http.test_delegation import Script, checked
from tests.requirements import requirement
from tests.servers.fake_openai import Answer, FakeOpenAI, call, hold, text
from tests.servers.inhouse import InHouse, MovableClock
from tests.servers.roomful import Caller, Roomful, openai


def agent(house: Roomful, model: FakeOpenAI, *names: str, **more: Any) -> None:
    for name in names:
        house.agent(name, openai(model.base_url), instructions=f"You are {name}.", dialect="active", **more)


def told(model: FakeOpenAI, who: str, number: int = -1) -> Any:
    """What the last tool call told this agent, in its number-th request."""
    asked = [one for one in model.requests if f"You are {who}." in one.messages[0]["content"]]
    return json.loads(asked[number].messages[-1]["content"])


@pytest.fixture
def ada(house: Roomful) -> Caller:
    return house.person("ada")


@requirement("T-13")
def test_a_run_waits_for_a_persons_reply_and_goes_on_with_it(house: Roomful, ada: Caller) -> None:
    script = Script(
        shop=[
            Answer(call("send_message", {"text": "Which size?", "wait": {"for": [{"type": "human"}]}})),
            Answer(call("send_message", {"text": "Size M it is."})),
            Answer([]),
        ]
    )
    with FakeOpenAI(script) as model:
        agent(house, model, "shop")
        house.space("room", "ada", "shop")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "shoes")["runs"][0]["runId"]
            waiting = listener.wait_for("run.waiting_reply").data
            assert (waiting["runId"], waiting["waitsFor"]) == (run_id, ["reply"])
            assert house.admin.get(f"/api/runs/{run_id}")["status"] == "waiting_reply"
            reply = ada.say("room", "M please")
            assert [run["runId"] for run in reply["runs"]] == [run_id], "the waiting run takes it, no new one"
            listener.wait_for("run.completed")
            checked(listener, ada, "room")
        assert len(house.admin.get("/api/runs")["runs"]) == 1
        assert told(model, "shop", 1)["reply"] == {
            "messageId": reply["message"]["id"],
            "from": "ada",
            "text": "M please",
        }


def test_only_those_who_are_waited_for_are_the_reply(house: Roomful, ada: Caller) -> None:
    bob = house.person("bob")
    wait = {"for": [{"type": "entity", "entityId": "bob"}]}
    script = Script(
        shop=[Answer(call("send_message", {"text": "Bob?", "wait": wait})), Answer([]), Answer([])]
    )
    with FakeOpenAI(script) as model:
        agent(house, model, "shop")
        house.space("room", "ada", "bob", "shop")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "ask bob")["runs"][0]["runId"]
            listener.wait_for("run.waiting_reply")
            other = ada.say("room", "me too")["runs"]
            assert [run["runId"] == run_id for run in other] == [False], "another message wakes as ever"
            listener.wait_for("run.completed", runId=other[0]["runId"])
            assert house.admin.get(f"/api/runs/{run_id}")["status"] == "waiting_reply"
            assert [run["runId"] for run in bob.say("room", "yes")["runs"]] == [run_id]
            listener.wait_for("run.completed", runId=run_id)


@requirement("T-13")
@pytest.mark.parametrize("tool", ["send_reply", "send_message"])
def test_an_agents_reply_resumes_the_run_that_waits_for_it(house: Roomful, ada: Caller, tool: str) -> None:
    script = Script(
        asker=[
            Answer(call("send_message", {"text": "@expert how many?", "wait": True})),
            Answer(call("send_message", {"text": "It is 42."})),
            Answer([]),
        ],
        expert=[Answer(call(tool, {"text": "42"})), Answer([])],
    )
    with FakeOpenAI(script) as model:
        agent(house, model, "asker", "expert")
        house.space("room", "ada", "asker", "expert")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "go", mentions=["asker"])["runs"][0]["runId"]
            listener.wait_for("run.completed", runId=run_id)
            state = checked(listener, ada, "room")
        assert [(m["entityId"], m["parts"][0]["text"]) for m in state] == [
            ("ada", "go"),
            ("asker", "@expert how many?"),
            ("expert", "42"),
            ("asker", "It is 42."),
        ]
        assert told(model, "asker", 1)["reply"]["text"] == "42"
        assert len(house.admin.get("/api/runs")["runs"]) == 2


@requirement("T-13")
def test_send_message_starts_a_mentioned_agent_and_send_reply_does_not(house: Roomful, ada: Caller) -> None:
    script = Script(
        asker=[
            Answer(call("send_message", {"text": "Anybody?", "wait": {"for": [{"type": "agent"}]}})),
            Answer([]),
        ],
        first=[Answer(call("send_reply", {"text": "@asker here", "mentions": "asker"})), Answer([])],
        second=[Answer(call("send_reply", {"text": "@asker too late"})), Answer([])],
    )
    with FakeOpenAI(script) as model:
        agent(house, model, "asker", "first", "second")
        house.space("room", "ada", "asker", "first", "second")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "ask", mentions=["asker"])["runs"][0]["runId"]
            listener.wait_for("run.waiting_reply")
            one = ada.say("room", "reply", mentions=["first"])["runs"][0]["runId"]
            listener.wait_for("run.completed", runId=one)
            listener.wait_for("run.completed", runId=run_id)
            two = ada.say("room", "reply", mentions=["second"])["runs"][0]["runId"]
            listener.wait_for("run.completed", runId=two)
        assert len(house.admin.get("/api/runs")["runs"]) == 3, "no reply started anybody"
        assert told(model, "first")["resumed"] == [{"agentId": "asker", "runId": run_id}]
        assert told(model, "second")["notStarted"][0]["entityId"] == "asker"


def test_who_waits_for_an_agent_that_ends_without_a_word_is_told(house: Roomful, ada: Caller) -> None:
    script = Script(
        asker=[Answer(call("send_message", {"text": "@expert?", "wait": True})), Answer([])],
        expert=[Answer([])],
    )
    with FakeOpenAI(script) as model:
        agent(house, model, "asker", "expert")
        house.space("room", "ada", "asker", "expert")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "go", mentions=["asker"])["runs"][0]["runId"]
            listener.wait_for("run.completed", runId=run_id)
        assert told(model, "asker")["reply"] is None
        assert "without a word" in told(model, "asker")["reason"]


@pytest.mark.parametrize("whom", ["right", "third"])
def test_those_who_wait_in_a_circle_or_for_nobody_at_work_are_told(
    house: Roomful, ada: Caller, whom: str
) -> None:
    def waits(text: str, whom: str) -> Answer:
        wait = {"for": [{"type": "entity", "entityId": whom}]}
        return Answer(call("send_message", {"text": text, "wait": wait}))

    script = Script(left=[waits("@right?", whom), Answer([])], right=[waits("and you?", "left"), Answer([])])
    with FakeOpenAI(script) as model:
        agent(house, model, "left", "right", "third")
        house.space("room", "ada", "left", "right", "third")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "go", mentions=["left"])["runs"][0]["runId"]
            listener.wait_for("run.completed", runId=run_id)
            listener.wait(lambda events: len([e for e in events if e.name == "run.completed"]) == 2)
        assert told(model, "right")["reply"] is None
        said = told(model, "left")["reply"]
        assert said["text"] == "and you?" if whom == "right" else said is None


def test_a_reply_is_applied_once_of_many_that_race(house: Roomful, ada: Caller) -> None:
    script = Script(
        shop=[
            Answer(call("send_message", {"text": "Who?", "wait": {"for": [{"type": "any"}]}})),
            *[Answer([]) for _ in range(8)],
        ]
    )
    with FakeOpenAI(script) as model:
        agent(house, model, "shop")
        house.space("room", "ada", "shop")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "go")["runs"][0]["runId"]
            listener.wait_for("run.waiting_reply")
            taken = race(ada, run_id)
            listener.wait_for("run.completed", runId=run_id)
        assert taken == 1


def race(ada: Caller, run_id: str) -> int:
    """Six messages at the same time; how many of them the waiting run took."""
    found: list[str] = []
    threads = [
        threading.Thread(
            target=lambda n=n: found.extend(r["runId"] for r in ada.say("room", f"me {n}")["runs"])
        )
        for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found.count(run_id)


def test_a_wait_ends_at_its_deadline(tmp_path: Path) -> None:
    script = Script(
        shop=[
            Answer(
                call("send_message", {"text": "Quick?", "wait": {"for": [{"type": "any"}], "timeout": 60}})
            ),
            Answer([]),
        ]
    )
    clock = MovableClock()
    with FakeOpenAI(script) as model, InHouse(tmp_path, clock=clock) as house:
        ada = house.person("ada")
        agent(house, model, "shop")
        house.space("room", "ada", "shop")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "go")["runs"][0]["runId"]
            listener.wait_for("run.waiting_reply")
            clock.move(59)
            assert house.admin.get(f"/api/runs/{run_id}")["status"] == "waiting_reply"
            clock.move(2)
            listener.wait_for("run.completed", runId=run_id)
            assert not [name for name in listener.names() if name.startswith("tool-call")]
        assert told(model, "shop")["timedOut"] is True
        assert told(model, "shop")["reply"] is None


def test_a_waiting_run_is_not_answered_through_tool_results(house: Roomful, ada: Caller) -> None:
    script = Script(shop=[Answer(call("send_message", {"text": "?", "wait": True})), Answer([])])
    with FakeOpenAI(script) as model:
        agent(house, model, "shop")
        house.space("room", "ada", "shop")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "go")["runs"][0]["runId"]
            listener.wait_for("run.waiting_reply")
            part = ada.messages("room")[1]["parts"][0]
            body = {"toolCallId": part["toolCallId"], "result": "x"}
            refused = ada.request("POST", f"/api/runs/{run_id}/tool-results", body)
            assert (refused.status_code, "post it in the space" in refused.text) == (403, True)
            assert ada.post(f"/api/runs/{run_id}/cancel")["status"] == "canceled"
            listener.wait_for("run.canceled")
            checked(listener, ada, "room")


@requirement("T-13")
def test_send_space_message_waits_too(house: Roomful, ada: Caller) -> None:
    script = Script(
        asker=[
            Answer(
                call(
                    "sendSpaceMessage",
                    {"spaceId": "den", "text": "Numbers?", "mention": "expert", "wait": {"timeout": 3600}},
                )
            ),
            Answer(call("sendSpaceMessage", {"spaceId": "room", "text": "They say 42."})),
            Answer([]),
        ],
        expert=[Answer(call("sendSpaceMessage", {"spaceId": "den", "text": "42"})), Answer([])],
    )
    with FakeOpenAI(script) as model:
        for name in ("asker", "expert"):
            house.agent(name, openai(model.base_url), instructions=f"You are {name}.")
        house.space("room", "ada", "asker")
        house.space("den", "asker", "expert")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "go")["runs"][0]["runId"]
            listener.wait_for("run.waiting_reply")
            listener.wait_for("run.completed", runId=run_id)
            state = checked(listener, ada, "room")
        assert state[1]["parts"][0]["text"] == "They say 42."


def test_a_kill_while_waiting_loses_neither_the_wait_nor_the_reply(tmp_path: Path) -> None:
    script = Script(
        shop=[
            Answer(call("send_message", {"text": "Which?", "wait": True})),
            Answer([*text("hm"), hold("never")]),
            Answer(call("send_message", {"text": "Thanks."})),
            Answer([]),
        ]
    )
    with FakeOpenAI(script) as model, Roomful(tmp_path) as house:
        ada = house.person("ada")
        agent(house, model, "shop")
        house.space("room", "ada", "shop")
        with ada.listen("room") as listener:
            run_id = ada.say("room", "go")["runs"][0]["runId"]
            listener.wait_for("run.waiting_reply")
            house.kill()
        house.start()
        assert [run["runId"] for run in ada.say("room", "this one")["runs"]] == [run_id]
        model.wait_for_requests(2)
        house.kill()
        house.start()
        with ada.listen("room") as listener:
            listener.wait(lambda _: house.admin.get(f"/api/runs/{run_id}")["status"] == "completed")
        assert told(model, "shop", 2)["reply"]["text"] == "this one"


def test_a_shared_context_is_the_callers_and_no_context_is_none(house: Roomful, ada: Caller) -> None:
    def tool(name: str, *, share: bool) -> dict[str, Any]:
        config = {"name": name, "instructions": f"You are {name}."}
        return {
            "name": name,
            "description": "Ask.",
            "executionType": "gateway",
            "execution": {"agentConfig": config, "includeContext": share},
        }

    script = Script(
        boss=[
            Answer([*call("open", {"prompt": "a"}, index=0), *call("shut", {"prompt": "b"}, index=1)]),
            Answer([]),
        ],
        open=[Answer(text("1"))],
        shut=[Answer(text("2"))],
    )
    with FakeOpenAI(script) as model:
        tools = [tool("open", share=True), tool("shut", share=False)]
        house.agent("boss", openai(model.base_url), *tools, instructions="You are boss.")
        house.space("room", "ada", "boss")
        with ada.listen("room") as listener:
            ada.say("room", "the harvest moon")
            listener.wait_for("run.completed")
        asked = {one.messages[0]["content"][:13]: one.messages for one in model.requests}
        assert "the harvest moon" in json.dumps(asked["You are open."])
        assert "the harvest moon" not in json.dumps(asked["You are shut."])
        assert asked["You are shut."][1]["content"] == "b"


def test_who_waits_for_somebody_who_leaves_is_told(house: Roomful, ada: Caller) -> None:
    house.person("bob")
    wait = {"for": [{"type": "entity", "entityId": "bob"}]}
    script = Script(shop=[Answer(call("send_message", {"text": "Bob?", "wait": wait})), Answer([])])
    with FakeOpenAI(script) as model:
        agent(house, model, "shop")
        house.space("room", "ada", "bob", "shop")
        with ada.listen("room") as listener:
            ada.say("room", "ask bob")
            listener.wait_for("run.waiting_reply")
            house.admin.call("DELETE", "/api/spaces/room/members/bob", expect=204)
            listener.wait_for("run.completed")
        assert "nobody whose reply" in told(model, "shop")["reason"]
