"""A run that is left without a word: handed over to another agent, or ended because nothing is to be said."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.http.test_delegation import Script, checked, delegate
from tests.http.test_visibility import CANARY, calling
from tests.requirements import requirement
from tests.servers.fake_openai import HANG, Answer, FakeOpenAI, text
from tests.servers.roomful import Caller, Roomful, openai

FORM: dict[str, Any] = {"name": "form", "executionType": "basic", "execution": {"mode": "no-execution"}}


@pytest.fixture
def ada(house: Roomful) -> Caller:
    return house.person("ada")


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def model(script: Script) -> Iterator[FakeOpenAI]:
    with FakeOpenAI(script) as model:
        yield model


def arrange(house: Roomful, model: FakeOpenAI, *tools: Any, **more: Any) -> None:
    """Ada and the agents first and second in a room, where first is spoken to; third is elsewhere."""
    for name in ("first", "second", "third"):
        made = tools if name == "first" else ()
        house.agent(name, openai(model.base_url), *made, instructions=f"You are {name}.", **more)
    house.person("outside", kind="agent")
    house.space("room", "ada", "first", "second", "outside", adminAgentId="first")
    house.space("elsewhere", "ada", "third")


def says(words: str, space_id: str = "room") -> Answer:
    return calling(("sendSpaceMessage", {"spaceId": space_id, "text": words}))


def hands_to(target: Any) -> Answer:
    return calling(("delegateToAgent", {"targetAgentEntityId": target}))


@requirement("C-17")
@pytest.mark.parametrize("text_of_it", ["who can do this?", "@first who can do this?"])
def test_a_run_is_handed_over_without_a_word(
    house: Roomful, ada: Caller, model: FakeOpenAI, script: Script, text_of_it: str
) -> None:
    arrange(house, model)
    script.answers = {
        "first": [hands_to("second")],
        "second": [says("I can."), Answer(text("done"))],
    }
    with ada.listen("room") as ears:
        posted = ada.say("room", text_of_it)
        [first] = posted["runs"]
        ears.wait_for("run.canceled", runId=first["runId"])
        ended = ears.wait_for("run.completed", entityId="second").data
        state = checked(ears, ada, "room")

    before, after = (house.admin.get(f"/api/runs/{one}") for one in (first["runId"], ended["runId"]))
    assert (before["status"], after["status"]) == ("canceled", "completed")
    assert after["trigger"] == before["trigger"]
    assert after["trigger"] == {
        "type": "mention" if "@" in text_of_it else "message",
        "spaceId": "room",
        "messageId": posted["message"]["id"],
        "entityId": "ada",
    }
    assert "parentCallId" not in after
    assert "error" not in before
    [_, answer] = state
    assert (answer["entityId"], answer["runId"]) == ("second", after["id"])
    assert [(part["type"], part["text"]) for part in answer["parts"]] == [("text", "I can.")]
    assert text_of_it in model.requests[1].messages[-1]["content"]
    assert not [name for name in ears.names() if name.startswith("tool-")]
    assert "delegateToAgent" not in json.dumps([event.data for event in ears.events])


@requirement("C-17")
def test_a_task_goes_from_hand_to_hand_and_ends_at_the_bound(
    house: Roomful, ada: Caller, model: FakeOpenAI, script: Script
) -> None:
    """Two agents that hand the same thing to each other do not do so for ever."""
    arrange(house, model, limits={"depth": 3})
    over = [hands_to("second"), hands_to("second"), says("I do it."), Answer(text("done"))]
    script.answers = {"first": over, "second": [hands_to("first"), says("I do it."), Answer(text("done"))]}
    with ada.listen("room") as ears:
        ada.say("room", "who can do this?")
        ears.wait_for("run.completed")
        runs = house.admin.get("/api/runs", params={"spaceId": "room"})["runs"]
        assert [run["status"] for run in runs].count("completed") == 1
        assert {run["rootRunId"] for run in runs} == {runs[-1]["id"]}
        assert len({json.dumps(run["trigger"]) for run in runs}) == 1
        checked(ears, ada, "room")


@requirement("C-17")
@pytest.mark.parametrize(
    ("target", "words"),
    [
        pytest.param("third", "there is no agent 'third' here", id="an agent that is not in the space"),
        pytest.param("nobody", "there is no agent 'nobody' here", id="unknown"),
        pytest.param("", "there is no agent '' here", id="empty"),
        pytest.param("first", "yourself", id="itself"),
        pytest.param("ada", "there is no agent 'ada' here", id="a person"),
        pytest.param("outside", "there is no agent 'outside' here", id="an agent without configuration"),
        pytest.param(5, "targetAgentEntityId", id="no id"),
    ],
)
def test_nobody_there_to_take_over(
    house: Roomful, ada: Caller, model: FakeOpenAI, script: Script, target: Any, words: str
) -> None:
    arrange(house, model)
    script.answers = {"first": [hands_to(target), says("Then I do it."), Answer(text("done"))]}
    with ada.listen("room") as ears:
        run_id = ada.say("room", "go")["runs"][0]["runId"]
        ears.wait_for("run.completed", runId=run_id)
        [_, answer] = checked(ears, ada, "room")
    assert [part["text"] for part in answer["parts"]] == ["Then I do it."]
    told = model.requests[1].messages[-1]["content"]
    assert told.startswith("Error: ")
    assert words in told
    assert len(house.admin.get("/api/runs")["runs"]) == 1


@requirement("C-17")
def test_a_sub_agent_cannot_hand_over(house: Roomful, ada: Caller, model: FakeOpenAI, script: Script) -> None:
    arrange(house, model, delegate("scout"))
    script.answers = {
        "first": [calling(("ask_scout", {"prompt": "find it"})), Answer(text("done"))],
        "scout": [hands_to("second"), Answer(text("Found."))],
    }
    with ada.listen("room") as ears:
        run_id = ada.say("room", "go")["runs"][0]["runId"]
        ears.wait_for("run.completed", runId=run_id)
        [_, answer] = checked(ears, ada, "room")
    assert answer["parts"][0]["result"]["text"] == "Found."
    assert "you cannot hand it over" in model.requests[2].messages[-1]["content"]


@requirement("C-17")
def test_a_service_call_is_handed_over_among_the_agents_of_one_owner(
    house: Roomful, ada: Caller, model: FakeOpenAI, script: Script
) -> None:
    arrange(house, model)
    script.answers = {"first": [hands_to("third")], "third": [says("Here.", "elsewhere"), Answer(text("ok"))]}
    with ada.listen("elsewhere") as ears:
        body = {"serviceName": "cron", "payload": {"n": 7}}
        run_id = house.admin.post("/api/agents/first/trigger", body, expect=202)["runId"]
        ended = ears.wait_for("run.completed").data["runId"]
    before, after = (house.admin.get(f"/api/runs/{one}") for one in (run_id, ended))
    assert before["status"] == "canceled"
    assert after["trigger"] == before["trigger"]
    assert json.loads(model.requests[1].messages[-1]["content"]) == body


BESIDE: dict[str, list[tuple[str, Any]]] = {
    "alone": [],
    "beside a hidden call": [("getMyRuns", {})],
    "beside a call that fails": [("readSpaceMessages", {"spaceId": CANARY})],
    "beside a call that is wrong": [("nothing_like_it", {"x": CANARY})],
    "beside another end": [("skipResponse", {})],
}


@requirement("C-17", "T-12")
@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("beside", BESIDE)
@pytest.mark.parametrize(
    ("ending", "status"),
    [
        pytest.param(("skipResponse", {}), "completed", id="skip"),
        pytest.param(("delegateToAgent", {"targetAgentEntityId": "second"}), "canceled", id="hand over"),
    ],
)
def test_a_run_ends_with_the_call_and_says_nothing(
    house: Roomful,
    ada: Caller,
    model: FakeOpenAI,
    script: Script,
    ending: tuple[str, Any],
    status: str,
    beside: str,
    is_first: bool,
) -> None:
    arrange(house, model)
    calls = [ending, *BESIDE[beside]] if is_first else [*BESIDE[beside], ending]
    status = status if calls[0][0] != "skipResponse" else "completed"
    both = Answer([*text(CANARY), *calling(*calls).pieces])
    script.answers = {"first": [both], "second": [calling(("skipResponse", {}))]}
    with ada.listen("room") as ears:
        run_id = ada.say("room", "go")["runs"][0]["runId"]
        ears.wait_for(f"run.{status}", runId=run_id)
        if status == "canceled":
            ears.wait_for("run.completed", entityId="second")
        [_] = checked(ears, ada, "room")
        assert CANARY not in json.dumps([event.data for event in ears.events])
    assert house.admin.get(f"/api/runs/{run_id}")["status"] == status
    assert len([asked for asked in model.requests if "You are first" in asked.messages[0]["content"]]) == 1


@requirement("C-17")
def test_a_form_beside_the_end_is_canceled(
    house: Roomful, ada: Caller, model: FakeOpenAI, script: Script
) -> None:
    arrange(house, model, FORM)
    script.answers = {"first": [calling(("form", {}), ("skipResponse", {}))]}
    with ada.listen("room") as ears:
        run_id = ada.say("room", "go")["runs"][0]["runId"]
        ears.wait_for("run.completed", runId=run_id)
        [_, answer] = checked(ears, ada, "room")
    assert [part["status"] for part in answer["parts"]] == ["canceled"]
    body = {"toolCallId": answer["parts"][0]["toolCallId"], "result": 1}
    assert ada.request("POST", f"/api/runs/{run_id}/tool-results", body).status_code == 409


@requirement("C-17", "X-03")
def test_a_sub_agent_beside_the_end_is_stopped(
    house: Roomful, ada: Caller, model: FakeOpenAI, script: Script
) -> None:
    arrange(house, model, delegate("scout"))
    script.answers = {
        "first": [calling(("ask_scout", {"prompt": "find it"}), ("skipResponse", {}))],
        "scout": [Answer([*text("Looking."), HANG])],
    }
    with ada.listen("room") as ears:
        run_id = ada.say("room", "go")["runs"][0]["runId"]
        ears.wait_for("run.completed", runId=run_id)
        ended = ears.wait_for("subagent.end").data["child"]
        [_, answer] = checked(ears, ada, "room")
    assert ended["status"] == "canceled"
    assert (answer["parts"][0]["status"], answer["parts"][0]["child"]["status"]) == ("error", "canceled")
    runs = house.admin.get("/api/runs")["runs"]
    assert {run["id"]: run["status"] for run in runs} == {run_id: "completed", ended["runId"]: "canceled"}


@requirement("C-17")
def test_a_form_beside_a_hand_over_that_is_refused_stays_open(
    house: Roomful, ada: Caller, model: FakeOpenAI, script: Script
) -> None:
    arrange(house, model, FORM, limits={"runsPerRoot": 1})
    hand_over = ("delegateToAgent", {"targetAgentEntityId": "second"})
    script.answers = {"first": [calling(("form", {}), hand_over), Answer(text("done"))]}
    with ada.listen("room") as ears:
        run_id = ada.say("room", "go")["runs"][0]["runId"]
        pending = ears.wait_for("run.waiting_tool", runId=run_id).data["pendingToolCalls"]
        [_, answer] = checked(ears, ada, "room")
        assert answer["parts"][0]["status"] == "waiting"
        body = {"toolCallId": pending[0]["toolCallId"], "result": {"x": 1}}
        ada.post(f"/api/runs/{run_id}/tool-results", body)
        ears.wait_for("run.completed", runId=run_id)
        checked(ears, ada, "room")
    assert "runsPerRoot" in model.requests[1].messages[-1]["content"]
