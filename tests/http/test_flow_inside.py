"""A guarded space and what runs show of each other there: sub-agents, their results, their questions."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.http.guarding import UNSHOWN, Guarded
from tests.servers.fake_openai import Answer, FakeOpenAI, call, hold, text
from tests.servers.inhouse import InHouse
from tests.servers.mcp_server import McpHttpServer
from tests.servers.roomful import Roomful, openai

END = Answer(text(""))


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InHouse]:
    with InHouse(tmp_path_factory.mktemp("house")) as house:
        yield house


def _look(play: Guarded) -> Answer:
    """What a sub-agent's call shows inside the part that shows the sub-agent."""
    return Answer([*text(f"I found {play.secret}. "), *call("look", {"note": play.secret})])


def test_what_a_sub_agent_says_and_calls_is_shown_until_it_has_read_elsewhere(
    house: InHouse, model: FakeOpenAI
) -> None:
    play = Guarded(house, model)
    play.grace.say(play.vault, play.secret)
    before = Answer([*text("Looking. "), *call("look", {"note": "here"})])
    last = Answer([*text(f"It is {play.secret}."), hold("end")])
    model.answer(play.shows("ask_scout", "look"), before, play.reads(), _look(play), last)
    model.answer(play.shows("text"), END)
    with play.watching() as watch:
        run_id = play.begins()
        model.wait_for_requests(5)
        assert play.secret not in watch.everything(run_id)
        model.release("end")
        play.answers(play.grace, watch.card(), {"approved": False})
        watch.ends(run_id)
        everything = watch.everything(run_id)
    assert play.secret not in everything
    assert play.vault not in everything
    part, refused = play.parts()
    assert (part["status"], part["args"], "result" in part) == ("complete", {"prompt": "look"}, False)
    assert part["child"]["text"] == "Looking. "
    inside = [(one["toolName"], one.get("args"), one.get("result")) for one in part["child"]["calls"]]
    assert inside == [("look", {"note": "here"}, {"note": "here"}), ("look", None, None)]
    assert refused["error"] == UNSHOWN
    told = json.loads(model.requests[5].messages[-1]["content"])
    assert told["text"] == f"Looking. I found {play.secret}. It is {play.secret}."


def test_a_result_from_deeper_inside_is_not_shown_above(house: InHouse, model: FakeOpenAI) -> None:
    play = Guarded(house, model)
    play.grace.say(play.vault, play.secret)
    model.answer(play.shows("ask_scout", "look"), Answer(call("ask_deep", {"prompt": "deeper"})))
    model.answer(play.reads(), Answer(text(play.secret)), Answer(text("nothing to see")))
    model.answer(Answer(call("skipResponse", {})))
    with play.watching() as watch:
        run_id = play.begins()
        watch.ends(run_id)
        assert play.secret not in watch.everything(run_id)
    [part] = play.parts()
    [deep] = part["child"]["calls"]
    assert (deep["status"], deep["args"], "result" in deep) == ("complete", {"prompt": "deeper"}, False)
    assert deep["child"]["text"] == part["child"]["text"] == ""


@pytest.mark.parametrize("is_reader", [False, True])
def test_a_result_is_shown_where_everybody_may_read_what_was_read_for_it(
    house: InHouse, model: FakeOpenAI, is_reader: bool
) -> None:
    play = Guarded(house, model, "active")
    play.grace.say(play.vault, play.secret)
    if is_reader:
        body = {"entityId": play.ada.id, "role": "reader"}
        house.admin.post(f"/api/spaces/{play.vault}/members", body, expect=201)
    model.answer(play.calls("ask_scout_result_only", prompt="look"), play.reads(), Answer(text(play.secret)))
    model.answer(Answer(call("get_my_runs", {})), END)
    with play.watching() as watch:
        run_id = play.begins()
        watch.ends(run_id)
        assert (play.secret in watch.everything(run_id)) is is_reader
    [part] = play.parts()
    assert (part["status"], "result" in part) == ("complete", is_reader)


def test_a_sub_agent_knows_what_its_caller_knew(house: InHouse, model: FakeOpenAI) -> None:
    play = Guarded(house, model)
    play.grace.say(play.vault, play.secret)
    ask = Answer(call("ask_scout_hidden", {"prompt": play.secret}))
    model.answer(play.reads(), ask, play.says(play.room, play.secret), END, Answer(call("skipResponse", {})))
    with play.watching() as watch:
        run_id = play.begins()
        card = watch.card()
        assert play.secret not in watch.everything(run_id)
        play.answers(play.grace, card, {"approved": True})
        watch.ends(run_id)
    assert [part["text"] for part in play.parts()] == [play.secret]


def test_consent_to_ask_a_sub_agent_is_none_to_what_it_answers(house: InHouse, model: FakeOpenAI) -> None:
    play = Guarded(house, model)
    play.grace.say(play.vault, play.secret)
    answer = f"more about {play.secret}"
    model.answer(play.reads(), play.shows("ask_scout", "what?"), Answer(text(answer)))
    model.answer(Answer(call("skipResponse", {})))
    with play.watching() as watch:
        run_id = play.begins()
        play.answers(play.grace, watch.card(), {"approved": True})
        watch.ends(run_id)
        assert play.secret not in watch.everything(run_id)
    [part] = play.parts()
    assert (part["args"], "result" in part, part["child"]["text"]) == ({"prompt": "what?"}, False, "")
    assert answer in play.told()


def test_a_long_result_is_no_file_of_the_room(house: InHouse, model: FakeOpenAI) -> None:
    play = Guarded(house, model)
    play.grace.say(play.vault, play.secret)
    long = f"{play.secret} " * 6000
    model.answer(play.shows("ask_scout", "look"), play.reads(), Answer(text(long, size=4000)))
    model.answer(Answer(call("skipResponse", {})))
    with play.watching() as watch:
        run_id = play.begins()
        watch.ends(run_id)
        assert play.secret not in watch.everything(run_id)
    url = json.loads(play.told())["url"]
    assert play.ada.request("GET", url).status_code == 404


def test_a_run_that_a_late_answer_starts_knows_what_the_card_told(house: InHouse, model: FakeOpenAI) -> None:
    play = Guarded(house, model)
    play.grace.say(play.vault, play.secret)
    note = {"targetSpaceId": play.desk, "note": play.secret}
    model.answer(play.reads(), Answer(call("board", note)), Answer(call("skipResponse", {})))
    with play.grace.listen(play.desk) as ears, play.watching() as watch:
        run_id = play.begins(play.grace, play.desk)
        ears.wait_for("run.completed", runId=run_id)
        model.answer(play.shows("text"), END)
        [card] = [part for part in play.parts(play.grace, play.desk) if part["toolName"] == "board"]
        play.answers(play.ada, card, {"said": "thanks"})
        asked = watch.card()
        assert asked["approval"]["fromSpaceIds"] == [play.vault]
        assert play.parts() == []
        play.answers(play.grace, asked, {"approved": False})


def test_a_tools_question_is_not_asked_where_it_may_not_be_shown(tmp_path: Path, model: FakeOpenAI) -> None:
    with McpHttpServer(tmp_path) as server:
        folder = tmp_path / "agents"
        folder.mkdir()
        city = {"name": "city", "url": server.url, "transport": "http", "allowedTools": ["book"]}
        config: dict[str, Any] = {
            "id": "guide",
            "name": "Guide",
            "dialect": "active",
            "mcp": {"servers": [city]},
        }
        (folder / "guide.json").write_text(json.dumps({**config, "model": openai(model.base_url)}))
        with Roomful(tmp_path, "--agents", str(folder), ROOMFUL_ALLOW_HOSTS=server.authority) as house:
            ada = house.person("ada")
            house.person("grace")
            house.space("room", "ada", "guide", flow="guarded")
            house.space("vault", "grace", "guide")
            book = Answer(call("city_book", {"room": "c4n4ry-91bd"}))
            model.answer(book, Answer(call("read_messages", {"spaceId": "vault"})), book, END)
            with ada.listen("room") as ears:
                run_id = ada.say("room", "go")["runs"][0]["runId"]
                waiting = ears.wait_for("run.waiting_tool").data["pendingToolCalls"][0]
                [part] = [part for part in ada.messages("room")[-1]["parts"] if "question" in part]
                assert "c4n4ry-91bd" in json.dumps(part["question"])
                [key] = part["question"]["requests"]
                no = {"toolCallId": waiting["toolCallId"], "result": {key: {"action": "decline"}}}
                ada.post(f"/api/runs/{run_id}/tool-results", no)
                ears.wait_for("run.completed")
            assert len(ada.messages("room")[-1]["parts"]) == 1
    assert "may not be shown here" in model.requests[-1].messages[-1]["content"]
