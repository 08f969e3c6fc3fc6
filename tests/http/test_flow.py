"""What a run has read elsewhere gets into a guarded space if everybody there may read it, or by consent."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.http.guarding import EVERYWHERE, UNSHOWN, Guarded, refuse_all
from tests.servers.fake_openai import Answer, FakeOpenAI, call, text
from tests.servers.inhouse import InHouse


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InHouse]:
    with InHouse(tmp_path_factory.mktemp("house")) as house:
        yield house


END = Answer(text(""))
Reading = Callable[[Guarded], str]
"""Lets the model read the secret and begins the run in which it is shown afterwards."""


def _queue(play: Guarded, *answers: Answer) -> None:
    """What is read, and then every way to show it."""
    more = ("outcome",) if play.dialect == "active" else ()
    play.model.answer(*answers, *(play.shows(how) for how in (*more, *EVERYWHERE)), END)


def _by_tool(play: Guarded) -> str:
    play.grace.say(play.vault, play.secret)
    _queue(play, play.reads())
    return play.begins()


def _by_entering(play: Guarded) -> str:
    play.grace.say(play.vault, play.secret)
    _queue(play, play.enters(play.vault), play.enters(play.room))
    return play.begins()


def _by_card(play: Guarded) -> str:
    """What somebody answers in the vault is the vault's."""
    _queue(play, play.calls("form", play.vault, note="which?"))
    with play.grace.listen(play.vault) as ears:
        run_id = play.begins()
        waiting = ears.wait_for("run.waiting_tool").data
    [asked] = waiting["pendingToolCalls"]
    play.answers(play.grace, {**asked, "runId": run_id}, {"said": play.secret})
    return run_id


def _by_reply(play: Guarded) -> str:
    _queue(play, play.says(play.vault, "what is it?", wait=True))
    with play.grace.listen(play.vault) as ears:
        run_id = play.begins()
        ears.wait_for("run.waiting_reply")
    play.grace.say(play.vault, play.secret)
    return run_id


def _by_sub_agent(play: Guarded) -> str:
    play.grace.say(play.vault, play.secret)
    ask = play.calls("ask_scout_hidden", prompt="look")
    if play.dialect == "composite":
        ask = Answer(call("ask_scout_hidden", {"prompt": "look"}))
    _queue(play, ask, play.reads(), Answer(text(play.secret)))
    return play.begins()


def _by_file(play: Guarded) -> str:
    """Its id comes first as something that the model itself wrote."""
    made = play.grace.call(
        "POST", "/api/blobs", play.secret.encode(), headers={"content-type": "text/plain"}, expect=201
    )
    play.grace.say(play.vault, "look", attachments=[made["blobId"]])
    named = play.calls("tick", note=f'{{"truncated": true, "blobId": "{made["blobId"]}"}}')
    _queue(play, named, Answer(call("readResult", {"blobId": made["blobId"]})))
    return play.begins()


def _by_trigger(play: Guarded) -> str:
    _queue(play, play.enters(play.room))
    return play.grace.say(play.vault, f"@{play.agent} {play.secret}")["runs"][0]["runId"]


def _by_note(tool: str, args: Callable[[str], Any]) -> Reading:
    """Noted at the desk, where everybody of the room is, by a run that had read the vault."""

    def read(play: Guarded) -> str:
        play.grace.say(play.vault, play.secret)
        play.model.answer(play.reads(), Answer(call(tool, args(play.secret))), Answer(text("noted")))
        with play.ada.listen(play.desk) as ears:
            run_id = play.begins(play.grace, play.desk)
            ears.wait_for("run.completed", runId=run_id)
        _queue(play)
        return play.begins()

    return read


def _by_plan(play: Guarded) -> str:
    play.grace.say(play.vault, play.secret)
    plan = {"name": "later", "instruction": play.secret, "runAfter": "1 hour"}
    play.model.answer(play.reads(), Answer(call("set_plans", {"plans": [plan]})), Answer(text("planned")))
    with play.ada.listen(play.desk) as ears:
        run_id = play.begins(play.grace, play.desk)
        ears.wait_for("run.completed", runId=run_id)
    _queue(play, play.enters(play.room))
    assert isinstance(play.house, InHouse)
    play.house.clock.move(hours=2)
    runs = play.house.admin.get("/api/runs", params={"agentId": play.agent})["runs"]
    return next(run["id"] for run in runs if run["trigger"]["type"] == "plan")


READINGS: dict[str, tuple[str, Reading]] = {
    "tool": ("composite", _by_tool),
    "tool-active": ("active", _by_tool),
    "entering": ("active", _by_entering),
    "card": ("composite", _by_card),
    "reply": ("composite", _by_reply),
    "sub-agent": ("composite", _by_sub_agent),
    "sub-agent-active": ("active", _by_sub_agent),
    "file": ("composite", _by_file),
    "trigger": ("active", _by_trigger),
    "memory": ("active", _by_note("set_memories", lambda it: {"memories": [{"key": "k", "value": it}]})),
    "goal": ("active", _by_note("set_goals", lambda it: {"goals": [{"description": it}]})),
    "plan": ("active", _by_plan),
}


@pytest.mark.parametrize("name", READINGS)
def test_however_it_was_read_and_is_shown_nothing_of_it_gets_in(
    house: InHouse, model: FakeOpenAI, name: str
) -> None:
    dialect, read = READINGS[name]
    play = Guarded(house, model, dialect)
    count = len(EVERYWHERE) + (dialect == "active")
    with play.watching() as watch:
        run_id = read(play)

        def check(card: dict[str, Any]) -> None:
            assert card["approval"]["fromSpaceIds"] == [play.vault]
            assert card["approval"]["toSpaceIds"] == [play.room]
            assert card["approvers"] == {"roles": [], "entities": [play.grace.id]}
            assert play.secret in json.dumps(card["args"])
            assert play.secret not in watch.everything(run_id)

        refuse_all(watch, count, check)
        watch.ends(run_id)
        everything = watch.everything(run_id)
    assert play.secret not in everything
    assert play.vault not in everything
    assert [part["error"] for part in play.parts() if part["status"] == "error"] == [UNSHOWN]
    told = [message["content"] for message in model.requests[-1].messages if message["role"] == "tool"]
    for number in range(1, count + 1):
        said = f"Error: {play.grace.id} did not approve this call: no {number}"
        assert said in told


def _seen(how: str, part: dict[str, Any]) -> Any:
    if part["type"] == "text":
        return part["text"]
    return part["result"] if how == "outcome" else part["args"]


@pytest.mark.parametrize(("dialect", "how"), [
    *(("composite", how) for how in EVERYWHERE),
    *(("active", how) for how in ("text", "words", "show", "outcome")),
    ("display", "text"),
    ("display", "show"),
])  # fmt: skip
def test_with_consent_it_is_shown_as_if_it_had_never_been_held(
    house: InHouse, model: FakeOpenAI, dialect: str, how: str
) -> None:
    play = Guarded(house, model, dialect)
    play.grace.say(play.vault, play.secret)
    inside = [Answer(text("found"))] if how == "ask_scout" else []
    model.answer(play.reads(), play.shows(how), *inside, END)
    with play.watching() as watch:
        run_id = play.begins()
        card = watch.card()
        assert play.secret not in watch.everything(run_id)
        play.answers(play.grace, card, {"approved": True})
        if how in ("form", "pay"):
            waiting = watch.room.wait_for("run.waiting_tool", 2).data
            [asked] = waiting["pendingToolCalls"]
            assert asked["toolName"] == how
            answer = {"approved": True} if how == "pay" else {"said": "ok"}
            play.answers(play.ada, {**asked, "runId": run_id}, answer)
        watch.ends(run_id)
        [part] = play.parts()
        assert part["status"] == "complete"
        expected = {"prompt": play.secret} if how == "ask_scout" else {"note": play.secret}
        assert _seen(how, part) == (play.secret if how in ("text", "words") else expected)
        assert part in [one for m in watch.room.events for one in m.data.get("message", {}).get("parts", ())]
    [decided] = play.parts(play.grace, play.vault)
    assert (decided["status"], decided["approval"]["approved"]) == ("complete", True)
    assert (decided["answeredBy"], decided["result"]) == (play.grace.id, None)
    assert len(model.requests) == {"words": 2, "ask_scout": 4}.get(how, 3)


@pytest.mark.parametrize("name", READINGS)
def test_where_everybody_may_read_it_there_nobody_is_asked(
    house: InHouse, model: FakeOpenAI, name: str
) -> None:
    dialect, read = READINGS[name]
    play = Guarded(house, model, dialect)
    house.admin.post(
        f"/api/spaces/{play.vault}/members", {"entityId": play.ada.id, "role": "reader"}, expect=201
    )
    with play.watching() as watch:
        run_id = read(play)
        watch.room.wait_for("run.waiting_tool", runId=run_id)
        watch.room.wait(lambda _: play.parts())
        assert play.secret in watch.everything(run_id)
        play.ada.post(f"/api/runs/{run_id}/cancel")
    assert not [part for part in play.parts(play.grace, play.vault) if "approval" in part]
