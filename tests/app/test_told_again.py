"""Stories in which time, company and other spaces play a part come out the same too."""

from typing import Any

import pytest

from tests.app.storytelling import Shelf, answer
from tests.http.test_approvals import PAY
from tests.http.test_busy import FORM, LOOK
from tests.http.test_delegation import Script, delegate
from tests.http.test_visibility import calling
from tests.servers.fake_openai import HANG, Answer, FakeOpenAI, text
from tests.servers.inhouse import InHouse
from tests.servers.roomful import Caller, openai


@pytest.fixture
def ada(house: InHouse) -> Caller:
    return house.person("ada")


def said(space_id: str, words: str, **more: Any) -> Answer:
    return calling(("sendSpaceMessage", {"spaceId": space_id, "text": words, **more}))


def ends(who: Caller, space_id: str, words: str = "go") -> None:
    with who.listen(space_id) as listener:
        run_id = who.say(space_id, words)["runs"][0]["runId"]
        listener.wait_for("run.completed", runId=run_id)


def test_a_sub_agent_that_is_stopped_in_the_middle_of_a_word(
    house: InHouse, ada: Caller, shelf: Shelf
) -> None:
    script = Script(
        boss=[calling(("ask_scout", {"prompt": "go"})), Answer(text("Ok."))],
        scout=[Answer([*text("I think that"), HANG])],
    )
    with FakeOpenAI(script) as model:
        house.agent("boss", openai(model.base_url), delegate("scout"), instructions="You are boss.")
        house.space("room", "ada", "boss")
        with ada.listen("room") as listener:
            ada.say("room", "go")
            child = listener.wait_for("subagent.text")
            [part] = ada.messages("room")[1]["parts"]
            assert child.data["partId"] == part["id"]
            ada.post(f"/api/runs/{part['child']['runId']}/cancel")
            listener.wait_for("run.completed")
    assert ada.messages("room")[1]["parts"][0]["child"]["text"] == "I think that"
    shelf.tell_again(house, "room", messages=2, runs=2)


def test_a_form_that_nobody_answers_in_time(
    house: InHouse, ada: Caller, model: FakeOpenAI, shelf: Shelf
) -> None:
    house.agent("asker", openai(model.base_url), FORM, limits={"answerSeconds": 60})
    house.space("room", "ada", "asker")
    model.answer(calling(("form", {"q": "Size?"})), said("room", "Nobody is here."), calling())
    with ada.listen("room") as listener:
        ada.say("room", "go")
        listener.wait_for("run.waiting_tool")
        house.clock.move(minutes=2)
        listener.wait_for("run.completed")
    assert "nobody answered in time" in shelf.tell_again(house, "room", messages=2, runs=1)


@pytest.mark.parametrize("of", ["here", "there"])
def test_a_reply_in_another_space(
    house: InHouse, ada: Caller, model: FakeOpenAI, shelf: Shelf, of: str
) -> None:
    bob = house.person("bob")
    house.agent("asker", openai(model.base_url))
    house.space("here", "ada", "asker")
    house.space("there", "bob", "asker")
    model.answer(said("there", "May I?", wait=True), said("here", "Bob agrees."), calling())
    with ada.listen("here") as listener:
        ada.say("here", "Ask Bob.")
        listener.wait_for("run.waiting_reply")
        bob.say("there", "You may.")
        listener.wait_for("run.completed")
    shelf.tell_again(house, of, messages=2, runs=1)


def test_what_was_granted_for_good_and_taken_back(
    house: InHouse, ada: Caller, model: FakeOpenAI, shelf: Shelf
) -> None:
    house.agent("payer", openai(model.base_url), PAY)
    house.space("room", "ada:owner", "payer")
    pay = calling(("pay", {"amount": 50, "to": "ACME"}))
    model.answer(pay, calling(), pay, calling(), pay)
    with ada.listen("room") as listener:
        ada.say("room", "pay")
        waiting = listener.wait_for("run.waiting_tool").data
        call_id = waiting["pendingToolCalls"][0]["toolCallId"]
        answer(ada, waiting["runId"], call_id, result={"approved": True, "remember": "tool"})
        listener.wait_for("run.completed")
        ends(ada, "room", "pay again")
        [grant] = ada.get("/api/spaces/room/grants")["grants"]
        ada.call("DELETE", f"/api/spaces/room/grants/{grant['id']}", expect=204)
        ada.say("room", "and again")
        listener.wait_for("run.waiting_tool", count=2)
    shelf.tell_again(house, "room", messages=5, runs=3)


def test_a_card_whose_arguments_were_edited_is_named(
    house: InHouse, ada: Caller, model: FakeOpenAI, shelf: Shelf
) -> None:
    house.agent("payer", openai(model.base_url), PAY)
    house.space("room", "ada", "payer")
    model.answer(calling(("pay", {"amount": 50, "to": "ACME"})), calling())
    with ada.listen("room") as listener:
        ada.say("room", "pay")
        waiting = listener.wait_for("run.waiting_tool").data
        edited = {"approved": True, "args": {"amount": 5, "to": "ACME"}}
        answer(ada, waiting["runId"], waiting["pendingToolCalls"][0]["toolCallId"], result=edited)
        listener.wait_for("run.completed")
    told = shelf.replay(shelf.export(house, "room"))
    assert told.code == 0
    assert "the card with the arguments before somebody edited them" in told.out


def test_agents_that_come_and_go(house: InHouse, ada: Caller, model: FakeOpenAI, shelf: Shelf) -> None:
    for agent in ("first", "second"):
        house.agent(agent, openai(model.base_url), LOOK, speaks="text")
    house.space("room", "ada")
    ada.say("room", "Is anybody there?")
    house.admin.post("/api/spaces/room/members", {"entityId": "first"}, expect=201)
    model.answer(Answer(text("I am.")), Answer(text("Now I am.")))
    ends(ada, "room", "And now?")
    house.admin.post("/api/spaces/room/members", {"entityId": "second"}, expect=201)
    ada.say("room", "Which of you?")
    house.admin.call("DELETE", "/api/spaces/room/members/first", expect=204)
    ends(ada, "room", "And now?")
    assert [one["entityId"] for one in ada.messages("room")] == [
        "ada",
        "ada",
        "first",
        "ada",
        "ada",
        "second",
    ]
    told = shelf.replay(shelf.export(house, "room"))
    assert told.code == 0, told
    assert told.verdict == "equal: 5 messages, 2 runs (1 messages, 0 runs as given)"


def test_a_failed_run_that_is_tried_again(
    house: InHouse, ada: Caller, model: FakeOpenAI, shelf: Shelf
) -> None:
    house.agent("clerk", openai(model.base_url), speaks="text")
    house.space("room", "ada", "clerk")
    with ada.listen("room") as listener:
        run_id = ada.say("room", "go")["runs"][0]["runId"]
        listener.wait_for("run.failed")
        model.answer(Answer(text("Here.")))
        ada.post(f"/api/runs/{run_id}/retry", expect=201)
        listener.wait_for("run.completed")
    shelf.tell_again(house, "room", messages=2, runs=2)


def test_a_plan_that_comes_due(house: InHouse, ada: Caller, model: FakeOpenAI, shelf: Shelf) -> None:
    house.agent("clerk", openai(model.base_url), dialect="active")
    house.space("room", "ada", "clerk")
    plan = {"name": "later", "instruction": "say it", "runAfter": "1h"}
    model.answer(
        calling(("set_plans", {"plans": [plan]})),
        calling(),
        calling(("enter_space", {"spaceId": "room"}), ("send_message", {"text": "It is time."})),
        calling(),
    )
    ends(ada, "room", "Remind me.")
    with ada.listen("room") as listener:
        house.clock.move(hours=2)
        listener.wait_for("run.completed")
    assert "Clerk: It is time." in shelf.tell_again(house, "room", messages=2, runs=2)
