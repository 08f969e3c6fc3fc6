"""Who is asked whether something may come into a guarded space, where, and what follows from the answer."""

import json
from collections.abc import Iterator

import pytest

from tests.http.guarding import EVERYWHERE, UNSHOWN, Guarded
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, call, hold, reasoning, text
from tests.servers.inhouse import InHouse
from tests.servers.roomful import openai

END = Answer(text(""))


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InHouse]:
    with InHouse(tmp_path_factory.mktemp("house")) as house:
        yield house


def _join(play: Guarded, space_id: str, entity_id: str, role: str = "member") -> None:
    body = {"entityId": entity_id, "role": role}
    assert play.house.admin.request("POST", f"/api/spaces/{space_id}/members", body).is_success


def _leave(play: Guarded, space_id: str, entity_id: str) -> None:
    play.house.admin.call("DELETE", f"/api/spaces/{space_id}/members/{entity_id}", expect=204)


def _fails(play: Guarded, *answers: Answer, sources: str | None = None, shown: int = 1) -> None:
    """The last ones of these are refused at once, and the model is told."""
    play.model.answer(*answers, END)
    with play.watching() as watch:
        run_id = play.begins()
        watch.ends(run_id)
        assert play.secret not in watch.everything(run_id)
    told = [m["content"] for m in play.model.requests[-1].messages if m["role"] == "tool"]
    refused = [one for one in told if one.startswith("Error: ")]
    assert len(refused) == shown
    for one in refused:
        assert f"cannot be shown in {play.room}: you have read {sources or play.vault}, which" in one
    assert [part["error"] for part in play.parts()] == [UNSHOWN]


@pytest.mark.parametrize("left", ["reader", "agent", "nobody"])
def test_where_no_person_could_agree_the_call_fails_and_the_model_knows_why(
    house: InHouse, model: FakeOpenAI, left: str
) -> None:
    play = Guarded(house, model)
    play.grace.say(play.vault, play.secret)
    _leave(play, play.vault, play.grace.id)
    if left != "reader":
        _leave(play, play.vault, play.rita.id)
    if left == "agent":
        _join(play, play.vault, house.agent(f"other-{play.agent}", {"name": "openai:x"}))
    _fails(play, play.reads(), *(play.shows(how) for how in EVERYWHERE), shown=len(EVERYWHERE))


def test_an_agent_that_may_not_write_in_the_source_cannot_ask_there(
    house: InHouse, model: FakeOpenAI
) -> None:
    play = Guarded(house, model)
    play.grace.say(play.vault, play.secret)
    _join(play, play.vault, play.agent, "reader")
    _fails(play, play.reads(), play.shows("text"))


def test_of_several_sources_one_person_who_writes_in_all_is_asked(house: InHouse, model: FakeOpenAI) -> None:
    play = Guarded(house, model)
    play.grace.say(play.vault, play.secret)
    noor = house.person(f"noor-{play.agent}")
    safe = house.space(f"safe-{play.room}", noor.id, play.agent)
    both = f"{play.vault}, {safe}"
    _fails(play, play.reads(), play.reads(safe), play.shows("text"), sources=both)
    _join(play, play.vault, noor.id)
    model.answer(play.reads(), play.reads(safe), play.shows("text"), END)
    with play.watching() as watch:
        run_id = play.begins()
        card = watch.card()
        assert card["approval"]["fromSpaceIds"] == [play.vault, safe]
        assert card["approvers"]["entities"] == [noor.id]
        play.answers(play.grace, card, {"approved": True}, expect=403)
        _leave(play, safe, noor.id)
        play.answers(noor, card, {"approved": True}, expect=403)
        _join(play, safe, noor.id)
        play.answers(noor, card, {"approved": True})
        watch.ends(run_id)
    assert play.parts()[-1]["text"] == play.secret


def test_only_the_approvers_agree_and_only_to_it_as_it_is(house: InHouse, model: FakeOpenAI) -> None:
    play = Guarded(house, model)
    play.grace.say(play.vault, play.secret)
    other = house.agent(f"bot-{play.agent}", {"name": "openai:x"})
    _join(play, play.vault, other)
    model.answer(play.reads(), play.shows("show"), END)
    with play.watching() as watch:
        run_id = play.begins()
        card = watch.card()
        play.answers(play.ada, card, {"approved": True}, expect=404)
        play.answers(play.rita, card, {"approved": True}, expect=403)
        as_other = {"x-roomful-as": other}
        body = {"toolCallId": card["toolCallId"], "result": {"approved": True}}
        path = f"/api/runs/{run_id}/tool-results"
        assert house.admin.request("POST", path, body, headers=as_other).status_code == 403
        for more in ({"args": {"note": "another"}}, {"remember": "tool"}, {"remember": "arguments"}):
            play.answers(play.grace, card, {"approved": True, **more}, expect=422)
        play.answers(play.grace, card, {"approved": True})
        watch.ends(run_id)
        late = play.answers(play.grace, card, {"approved": False}, expect=409)
        assert late["outcome"]["answeredBy"] == play.grace.id
        assert late["outcome"]["result"] is None
    assert play.parts()[0]["args"] == {"note": play.secret}
    for space_id in (play.room, play.vault):
        assert house.admin.get(f"/api/spaces/{space_id}/grants")["grants"] == []


def test_a_remembered_tool_is_asked_about_all_the_same(house: InHouse, model: FakeOpenAI) -> None:
    play = Guarded(house, model)
    play.grace.say(play.vault, play.secret)
    for who, space_id in ((play.ada, play.room), (play.grace, play.vault)):
        model.answer(play.calls("pay", space_id, note="x"), END)
        with who.listen(space_id) as ears:
            play.begins(who, space_id)
            [asked] = ears.wait_for("run.waiting_tool").data["pendingToolCalls"]
            run_id = ears.wait_for("run.waiting_tool").data["runId"]
            play.answers(who, {**asked, "runId": run_id}, {"approved": True, "remember": "tool"})
            ears.wait_for("run.completed")
    model.answer(play.reads(), play.shows("pay"), END)
    with play.watching() as watch:
        run_id = play.begins()
        card = watch.card()
        assert play.secret not in watch.everything(run_id)
        play.answers(play.grace, card, {"approved": True})
        watch.ends(run_id)
    assert play.parts()[-1]["result"] == {"note": play.secret}


def test_between_two_guarded_spaces_only_somebody_of_both_sees_the_question(
    house: InHouse, model: FakeOpenAI
) -> None:
    play = Guarded(house, model)
    play.grace.say(play.vault, play.secret)
    house.admin.call("PATCH", f"/api/spaces/{play.vault}", {"flow": "guarded"})
    _fails(play, play.reads(), play.shows("text"))
    noor = house.person(f"noor-{play.agent}")
    _join(play, play.vault, noor.id)
    _join(play, play.room, noor.id)
    model.answer(play.reads(), play.shows("text"), END)
    with play.watching() as watch, noor.listen(play.vault) as ears:
        run_id = play.begins()
        waiting = ears.wait(
            lambda events: [
                part
                for event in events
                for part in event.data.get("message", {}).get("parts", ())
                if part["status"] == "waiting"
            ]
        )[0]
        assert play.parts(play.grace, play.vault) == play.parts(play.rita, play.vault) == []
        play.answers(play.grace, waiting, {"approved": True}, expect=404)
        play.answers(noor, waiting, {"approved": True})
        watch.ends(run_id)
    assert play.parts()[-1]["text"] == play.secret


def test_what_was_agreed_to_does_not_follow_an_agent_that_left(house: InHouse, model: FakeOpenAI) -> None:
    play = Guarded(house, model)
    play.grace.say(play.vault, play.secret)
    model.answer(play.reads(), play.shows("text"), END)
    with play.watching() as watch:
        run_id = play.begins()
        card = watch.card()
        _leave(play, play.room, play.agent)
        play.answers(play.grace, card, {"approved": True})
        watch.vault.wait_for("run.completed", runId=run_id)
        assert play.secret not in watch.everything(run_id)
    assert "you are not in all the spaces any more" in model.requests[-1].messages[-1]["content"]


def test_a_question_that_nobody_answers_in_time_is_a_refusal(house: InHouse, model: FakeOpenAI) -> None:
    play = Guarded(house, model, more={"limits": {"answerSeconds": 3600}})
    play.grace.say(play.vault, play.secret)
    model.answer(play.reads(), play.shows("text"), END)
    with play.watching() as watch:
        run_id = play.begins()
        watch.card()
        watch.room.wait_for("run.waiting_tool", runId=run_id)
        house.clock.move(hours=2)
        watch.ends(run_id)
        assert play.secret not in watch.everything(run_id)
    assert [part["error"] for part in play.parts()] == [UNSHOWN]


def test_an_owner_guards_a_space_and_opens_it_again(house: InHouse, model: FakeOpenAI) -> None:
    play = Guarded(house, model, flow="open")
    play.grace.say(play.vault, play.secret)
    for flow in ("open", "guarded", "open"):
        play.ada.call("PATCH", f"/api/spaces/{play.room}", {"flow": flow})
        model.answer(play.reads(), play.shows("text"), END)
        with play.watching() as watch:
            run_id = play.begins()
            if flow == "guarded":
                card = watch.card()
                play.answers(play.grace, card, {"approved": False})
            watch.ends(run_id)
    shown = [part.get("text", part.get("error")) for part in play.parts()]
    assert shown == [play.secret, UNSHOWN, play.secret]
    assert play.grace.request("PATCH", f"/api/spaces/{play.vault}", {"flow": "open"}).status_code == 403


def test_a_call_for_one_member_is_judged_by_that_member_alone(house: InHouse, model: FakeOpenAI) -> None:
    play = Guarded(house, model)
    play.grace.say(play.vault, play.secret)
    _join(play, play.room, play.grace.id)
    args = {"targetSpaceId": play.room, "targetEntityId": play.grace.id, "note": play.secret}
    model.answer(play.reads(), Answer(call("show", args)), END)
    with play.watching() as watch:
        run_id = play.begins()
        watch.ends(run_id)
        assert play.secret not in watch.everything(run_id)
    assert [part["args"] for part in play.parts(play.grace)] == [{"note": play.secret}]
    model.answer(play.reads(), Answer(call("show", {**args, "targetEntityId": play.ada.id})), END)
    with play.watching() as watch:
        run_id = play.begins()
        card = watch.card()
        assert play.secret not in watch.everything(run_id)
        play.answers(play.grace, card, {"approved": True})
        watch.ends(run_id)
    assert [part["args"] for part in play.parts()] == [{"note": play.secret}]


def test_a_call_to_an_open_and_a_guarded_space_is_held_whole(house: InHouse, model: FakeOpenAI) -> None:
    play = Guarded(house, model)
    play.grace.say(play.vault, play.secret)
    args = {"targetSpaceIds": [play.desk, play.room], "note": play.secret}
    model.answer(play.reads(), Answer(call("show", args)), END)
    with play.watching() as watch:
        run_id = play.begins()
        card = watch.card()
        assert card["approval"]["toSpaceIds"] == [play.desk, play.room]
        assert play.secret not in watch.everything(run_id)
        play.answers(play.grace, card, {"approved": True})
        watch.ends(run_id)
    for space_id in (play.desk, play.room):
        assert [part["args"] for part in play.parts(space_id=space_id)] == [{"note": play.secret}]


def test_a_name_alone_passes_and_thoughts_are_kept(house: InHouse, model: FakeOpenAI) -> None:
    play = Guarded(house, model, more={"showReasoning": True})
    play.grace.say(play.vault, play.secret)
    thought = Answer([*reasoning(play.secret), *play.shows("tick").pieces])
    model.answer(play.reads(), thought, END)
    with play.watching() as watch:
        run_id = play.begins()
        watch.ends(run_id)
        assert play.secret not in watch.everything(run_id)
    [part] = play.parts()
    assert (part["toolName"], part["status"], "args" in part, "result" in part) == (
        "tick", "complete", False, False,
    )  # fmt: skip


def test_what_a_step_reads_counts_from_the_next_one_on(house: InHouse, model: FakeOpenAI) -> None:
    play = Guarded(house, model)
    words = call("sendSpaceMessage", {"spaceId": play.room, "text": "hello"}, index=1, id="c1")
    both = [*play.reads().pieces, *words]
    model.answer(Answer(both), END)
    with play.watching() as watch:
        watch.ends(play.begins())
    assert [part["text"] for part in play.parts()] == ["hello"]


def test_a_message_that_steers_a_run_finds_it_as_it_is(house: InHouse, model: FakeOpenAI) -> None:
    play = Guarded(house, model, more={"onBusy": "steer"})
    play.grace.say(play.vault, play.secret)
    model.answer(Answer([hold("now"), *play.reads().pieces]), play.shows("words"), END)
    with play.watching() as watch:
        run_id = play.begins()
        model.wait_for_requests(1)
        play.ada.say(play.room, f"@{play.agent} and tell me")
        model.release("now")
        play.answers(play.grace, watch.card(), {"approved": False})
        watch.ends(run_id)
        assert play.secret not in watch.everything(run_id)
    assert "and tell me" in json.dumps(model.requests[1].messages)


def test_a_text_that_is_let_in_wakes_whom_it_mentions(house: InHouse) -> None:
    def script(asked: Asked) -> Answer:
        if "You are a helper" in asked.messages[0]["content"]:
            return Answer(text("thanks"))
        said = sum(message["role"] == "tool" for message in asked.messages)
        return (play.reads(), play.says(play.room, f"@{helper} {play.secret}"), END)[said]

    with FakeOpenAI(script) as model:
        play = Guarded(house, model)
        play.grace.say(play.vault, play.secret)
        own = {"speaks": "text", "instructions": "You are a helper."}
        helper = house.agent(f"helper-{play.agent}", openai(model.base_url), **own)
        _join(play, play.room, helper)
        with play.watching() as watch:
            play.begins()
            play.answers(play.grace, watch.card(), {"approved": True})
            watch.room.wait_for("run.completed", 2)
    texts = [(m["entityId"], m["parts"][0]["text"]) for m in play.ada.messages(play.room)[1:]]
    assert texts == [(play.agent, f"@{helper} {play.secret}"), (helper, "thanks")]
