"""What happened in a space is told again from a file, offline, and comes out the same."""

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.app.storytelling import Shelf, answer, typed
from tests.http.casting import Cast, mentions, once, people, say
from tests.http.shopping import AS_SEEN, ASK, LAPTOPS, seen, shop, story
from tests.http.test_approvals import PAY
from tests.http.test_busy import FORM, LOOK
from tests.http.test_delegation import FAILS, SEARCH, Script, delegate
from tests.http.test_visibility import calling
from tests.servers.fake_openai import HANG, Answer, FakeOpenAI, call, hold, reasoning, status, text
from tests.servers.inhouse import InHouse
from tests.servers.postgres import postgres_server
from tests.servers.roomful import Caller, Roomful, openai
from tests.servers.world import World


@pytest.fixture
def ada(house: InHouse) -> Caller:
    return house.person("ada")


def ends(who: Caller, space_id: str, words: str, how: str = "run.completed") -> str:
    """Says something, and waits until the run that it starts has ended."""
    with who.listen(space_id) as listener:
        run_id = who.say(space_id, words)["runs"][0]["runId"]
        listener.wait_for(how, runId=run_id)
    return run_id


def asked(who: Caller, space_id: str, words: str = "go") -> tuple[str, str]:
    """Says something, and waits until the run asks: the run and the call that waits."""
    with who.listen(space_id) as listener:
        run_id = who.say(space_id, words)["runs"][0]["runId"]
        [pending] = listener.wait_for("run.waiting_tool", runId=run_id).data["pendingToolCalls"]
    return run_id, pending["toolCallId"]


def settled(who: Caller, space_id: str, run_id: str, call_id: str, **body: Any) -> None:
    with who.listen(space_id) as listener:
        answer(who, run_id, call_id, **body)
        listener.wait_for("run.completed", runId=run_id)


def test_an_agent_that_speaks_in_plain_words(
    house: InHouse, ada: Caller, model: FakeOpenAI, shelf: Shelf
) -> None:
    house.agent("poet", openai(model.base_url), LOOK, speaks="text", showReasoning=True)
    house.space("room", "ada", "poet")
    model.answer(
        Answer([*reasoning("A rhyme…"), *text("Roses "), *call("look", {}), *text("are red.")]),
        Answer(text("Violets too.")),
    )
    ends(ada, "room", "A poem!")
    kinds = [part["type"] for part in ada.messages("room")[1]["parts"]]
    assert kinds == ["reasoning", "text", "text", "text"]

    out = shelf.tell_again(house, "room", messages=2, runs=1)

    lines = ["Ada: A poem!", "Poet:", "  (A rhyme…)", "  Roses ", "  are red.", "  Violets too."]
    assert out.splitlines() == [*lines, "equal: 2 messages, 1 runs"]


def test_a_composite_message_and_a_card_that_is_answered_later(
    house: InHouse, model: FakeOpenAI, shelf: Shelf
) -> None:
    ada = shop(house, model)
    model.answer(*story(), Answer(text("Noted.")))
    run_id = ends(ada, "shop-space", "laptops?")
    bubble = ada.messages("shop-space")[1]
    assert seen(bubble) == AS_SEEN
    with ada.listen("shop-space") as listener:
        answer(ada, run_id, bubble["parts"][1]["toolCallId"], result={"selected": True})
        listener.wait_for("run.completed")
    out = shelf.tell_again(house, "shop-space", messages=2, runs=2)
    assert f"  {LAPTOPS}\n" in out
    assert f"  {ASK}\n" in out


@pytest.mark.parametrize("of", ["a", "b", "c"])
def test_a_run_that_speaks_in_three_spaces(
    house: InHouse, ada: Caller, model: FakeOpenAI, shelf: Shelf, of: str
) -> None:
    bob = house.person("bob")
    house.agent("agent", openai(model.base_url), FORM, dialect="composite")
    house.agent("other", openai(model.base_url))
    house.space("a", "ada", "agent")
    house.space("b", "bob", "agent")
    house.space("c", "ada", "agent", "other")
    model.answer(
        calling(
            ("sendSpaceMessage", {"spaceId": "a", "text": "I ask b."}),
            ("form", {"targetSpaceId": "b", "q": "Well?"}),
            ("sendSpaceMessage", {"spaceId": "c", "text": "I ask b, c."}),
        ),
        calling(("sendSpaceMessage", {"spaceId": "a", "text": "b says yes."})),
        Answer(text("Done.")),
    )
    ada.say("c", "CANARY: nobody is meant by this.")
    with ada.listen("a") as listener:
        run_id = ada.say("a", "ask them")["runs"][0]["runId"]
        listener.wait_for("run.waiting_tool", runId=run_id)
        [card] = bob.messages("b")[0]["parts"]
        answer(bob, run_id, card["toolCallId"], result="yes")
        listener.wait_for("run.completed", runId=run_id)
    shelf.tell_again(house, of, messages={"a": 2, "b": 1, "c": 2}[of], runs=1)
    assert ("CANARY" in (shelf.folder / f"{of}.jsonl").read_text()) == (of == "c")


def test_a_form_that_somebody_fills_in(house: InHouse, ada: Caller, model: FakeOpenAI, shelf: Shelf) -> None:
    house.agent("asker", openai(model.base_url), FORM)
    house.space("room", "ada", "asker")
    model.answer(calling(("form", {"q": "Size?"})), calling())
    settled(ada, "room", *asked(ada, "room"), result={"size": 4})
    out = shelf.tell_again(house, "room", messages=2, runs=1)
    assert '[form {"q":"Size?"}: complete by ada {"size":4}]' in out


def test_a_form_that_still_waits(house: InHouse, ada: Caller, model: FakeOpenAI, shelf: Shelf) -> None:
    house.agent("asker", openai(model.base_url), FORM)
    house.space("room", "ada", "asker")
    model.answer(calling(("form", {"q": "Size?"})))
    asked(ada, "room")
    assert ": waiting]" in shelf.tell_again(house, "room", messages=2, runs=1)


@pytest.mark.parametrize(
    "decision", [{"approved": True}, {"approved": False, "reason": "too dear"}, {"approved": False}]
)
def test_an_approval(
    house: InHouse, ada: Caller, model: FakeOpenAI, shelf: Shelf, decision: dict[str, Any]
) -> None:
    house.agent("payer", openai(model.base_url), PAY)
    house.space("room", "ada", "payer")
    model.answer(calling(("pay", {"amount": 50, "to": "ACME"})), calling())
    settled(ada, "room", *asked(ada, "room"), result=decision)
    out = shelf.tell_again(house, "room", messages=2, runs=1)
    assert ("too dear" in out) == ("reason" in decision)


def test_what_a_tool_reached_outside_is_not_reached_again(
    tmp_path: Path, model: FakeOpenAI, shelf: Shelf
) -> None:
    with World() as world, InHouse(tmp_path, allow_hosts=world.host) as house:
        ada = house.person("ada")
        house.agent("doer", openai(model.base_url), world.tool("act"), FAILS)
        house.space("room", "ada", "doer")
        model.answer(calling(("act", {"key": "one"}), ("act", {"key": "two"}), ("fails", {})), calling())
        ends(ada, "room", "do it")
        asked_models = len(model.requests)
        shelf.tell_again(house, "room", messages=2, runs=1)
        assert world.effects == {"one": 1, "two": 1}
        assert len(model.requests) == asked_models


def test_delegations_two_deep_and_a_call_that_fails_inside(house: InHouse, ada: Caller, shelf: Shelf) -> None:
    script = Script(
        boss=[
            calling(("ask_one", {"prompt": "go"}), ("ask_other", {"prompt": "you too"})),
            Answer(text("Ok.")),
        ],
        one=[Answer([*text("I ask. "), *call("ask_two", {"prompt": "help"})]), Answer(text("It failed."))],
        two=[calling(("fails", {}), ("search", {"query": "x"})), Answer(text("I could not."))],
        other=[Answer(text("Here is another word."))],
    )
    deep = delegate("one", delegate("two", FAILS, SEARCH))
    with FakeOpenAI(script) as model:
        house.agent("boss", openai(model.base_url), deep, delegate("other"), instructions="You are boss.")
        house.space("room", "ada", "boss")
        ends(ada, "room", "go")
        [part, _] = ada.messages("room")[1]["parts"]
        assert [one["status"] for one in part["child"]["calls"][0]["child"]["calls"]] == ["error", "complete"]
        shelf.tell_again(house, "room", messages=2, runs=4)


def test_agents_that_mention_each_other(house: InHouse, ada: Caller, shelf: Shelf) -> None:
    cast = Cast(ann=mentions("bob"), bob=once(*say(words="Here I am.")))
    with FakeOpenAI(cast) as model:
        people(house, model, "ann", "bob")
        with ada.listen("room") as listener:
            ada.say("room", "go", mentions=["ann"])
            listener.wait_for("run.completed", count=2)
        shelf.tell_again(house, "room", messages=3, runs=2)


def test_a_run_that_waits_for_a_reply(house: InHouse, ada: Caller, model: FakeOpenAI, shelf: Shelf) -> None:
    house.agent("asker", openai(model.base_url))
    house.space("room", "ada", "asker")
    wait = {"spaceId": "room", "text": "Which one?", "wait": True}
    thanks = {"spaceId": "room", "text": "Thank you."}
    model.answer(calling(("sendSpaceMessage", wait)), calling(("sendSpaceMessage", thanks)), calling())
    with ada.listen("room") as listener:
        ada.say("room", "go")
        listener.wait_for("run.waiting_reply")
        ada.say("room", "The red one.")
        listener.wait_for("run.completed")
    shelf.tell_again(house, "room", messages=3, runs=1)


def test_a_poll(house: InHouse, ada: Caller, model: FakeOpenAI, shelf: Shelf) -> None:
    bob = house.person("bob")
    poll = {**FORM, "execution": {"mode": "no-execution", "answers": "each"}}
    house.agent("asker", openai(model.base_url), poll)
    house.space("room", "ada", "bob", "asker")
    model.answer(calling(("form", {"q": "Pizza?"})), calling())
    run_id, call_id = asked(ada, "room")
    for who, word in [(ada, "yes"), (bob, "no"), (ada, "no")]:
        answer(who, run_id, call_id, result=word)
    settled(ada, "room", run_id, call_id, close=True)
    shelf.tell_again(house, "room", messages=2, runs=1)


def test_a_canceled_run_keeps_what_it_had_said(house: InHouse, model: FakeOpenAI, shelf: Shelf) -> None:
    ada = shop(house, model)
    said = call("sendSpaceMessage", {"spaceId": "shop-space", "text": LAPTOPS}, size=4)[:-2]
    model.answer(Answer([*said, HANG]))
    with ada.listen("shop-space") as listener:
        run_id = ada.say("shop-space", "laptops?")["runs"][0]["runId"]
        listener.wait_for("text-delta")
        ada.post(f"/api/runs/{run_id}/cancel")
    assert ada.messages("shop-space")[1]["parts"][0]["status"] == "canceled"
    shelf.tell_again(house, "shop-space", messages=2, runs=1)


def test_a_run_that_is_canceled_while_a_form_waits(
    house: InHouse, ada: Caller, model: FakeOpenAI, shelf: Shelf
) -> None:
    house.agent("asker", openai(model.base_url), FORM)
    house.space("room", "ada", "asker")
    model.answer(calling(("form", {"q": "Size?"})))
    run_id, _ = asked(ada, "room")
    ada.post(f"/api/runs/{run_id}/cancel")
    assert ": canceled]" in shelf.tell_again(house, "room", messages=2, runs=1)


def test_a_run_whose_model_fails(house: InHouse, model: FakeOpenAI, shelf: Shelf) -> None:
    ada = shop(house, model)
    model.answer(story()[0], status(401))
    ends(ada, "shop-space", "laptops?", "run.failed")
    shelf.tell_again(house, "shop-space", messages=2, runs=1)


@pytest.mark.parametrize("on_busy", ["parallel", "queue", "steer"])
def test_a_message_to_an_agent_at_work(
    house: InHouse, ada: Caller, model: FakeOpenAI, shelf: Shelf, on_busy: str
) -> None:
    house.agent("worker", openai(model.base_url), speaks="text", onBusy=on_busy)
    house.space("room", "ada", "worker")
    model.answer(Answer([*text("One, "), hold(), *text("done.")]), Answer(text("Two.")))
    with ada.listen("room") as listener:
        first = ada.say("room", "one")["runs"][0]["runId"]
        listener.wait_for("text-delta")
        second = ada.say("room", "two")["runs"][0]["runId"]
        model.release()
        for run_id in {first, second}:
            listener.wait_for("run.completed", runId=run_id)
    told = ada.messages("room")
    assert [message.get("woke", [{}])[0].get("how") for message in told if message["role"] == "user"] == [
        None,
        {"parallel": None, "queue": "queued", "steer": "steered"}[on_busy],
    ]
    shelf.tell_again(house, "room", messages=len(told), runs=len({first, second}))


def test_a_run_that_nobody_of_the_space_started(
    house: InHouse, ada: Caller, model: FakeOpenAI, shelf: Shelf
) -> None:
    house.agent("clerk", openai(model.base_url))
    house.space("room", "ada", "clerk")
    model.answer(calling(("sendSpaceMessage", {"spaceId": "room", "text": "A parcel came."})), calling())
    with ada.listen("room") as listener:
        body = {"serviceName": "post", "payload": {"parcel": 1}}
        house.admin.post("/api/agents/clerk/trigger", body, expect=202)
        listener.wait_for("run.completed")
    shelf.tell_again(house, "room", messages=1, runs=1)


def test_the_demos_stories(tmp_path: Path, shelf: Shelf) -> None:
    with InHouse(tmp_path, demo=True) as house:
        people = {person["id"]: person for person in httpx.get(f"{house.url}/api/demo").json()}
        ada = Caller(house, people["ada"]["token"], "ada")
        run_id = ends(ada, "shopping", "Show me some laptops")
        card = ada.messages("shopping")[1]["parts"][1]
        with ada.listen("shopping") as listener:
            answer(ada, run_id, card["toolCallId"], result={"selected": True})
            listener.wait_for("run.completed")
        ends(ada, "research", "Is a four-day week worth it?")
        shelf.tell_again(house, "shopping", messages=3, runs=2)
        shelf.tell_again(house, "research", messages=4, runs=4)


def test_a_story_from_postgres(tmp_path: Path, model: FakeOpenAI, shelf: Shelf) -> None:
    with postgres_server() as postgres, Roomful(tmp_path, database=postgres.new_url()) as house:
        ada = shop(house, model)
        model.answer(*story())
        ends(ada, "shop-space", "laptops?")
        shelf.tell_again(house, "shop-space", messages=2, runs=1)


def test_the_page_about_stories_shows_what_happens(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/stories.md").read_text()
    [commands, shown] = re.findall(r"```\n(.*?)```", page, re.DOTALL)
    with InHouse(tmp_path, demo=True) as house:
        people = {person["id"]: person for person in httpx.get(f"{house.url}/api/demo").json()}
        ends(Caller(house, people["ada"]["token"], "ada"), "shopping", "Show me some laptops")
    done = [typed(*line.split()[1:], folder=tmp_path) for line in commands.splitlines()]
    assert [one.code for one in done] == [0, 0]
    assert done[-1].out == shown
