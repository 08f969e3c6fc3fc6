"""`roomful chat` at a real pseudo-terminal, against a real server."""

from typing import Any

import pytest

from tests.client.pseudo import Terminal
from tests.http.shopping import LAPTOPS, shop, story
from tests.servers.fake_openai import HANG, Answer, FakeOpenAI, call, hold, text
from tests.servers.roomful import Caller, Roomful, openai

EVIL = "\x1b[2J\x1b]0;owned\x07\x9b31m\rover\u202egnp.exe\x08\x08"


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": "A tool.",
        "executionType": "basic",
        "execution": {"mode": "no-execution"},
        "visibility": "full",
        "inputSchema": {"type": "object"},
        **more,
    }


def world(house: Roomful, model: FakeOpenAI, *tools: dict[str, Any], **more: Any) -> Caller:
    ada = house.person("ada")
    house.agent("helper", openai(model.base_url), *tools, **more)
    house.space("room", "ada", "helper")
    return ada


def test_text_appears_while_it_is_written(house: Roomful, model: FakeOpenAI) -> None:
    ada = house.person("ada")
    house.agent("helper", openai(model.base_url), speaks="text")
    house.space("room", "ada")
    ada.say("room", "an earlier word")
    house.admin.post("/api/spaces/room/members", {"entityId": "helper"}, expect=201)
    model.answer(Answer([*text("The sun is "), hold(), *text("a star.")]))
    with Terminal(ada, "room") as terminal:
        terminal.wait_for("── room ──", "an earlier word", "room>")
        terminal.type("what is the sun?\r")
        shown = terminal.wait_for("Helper", "The sun is", "at work…")
        assert "a star." not in shown
        assert shown.rstrip().endswith("room>")
        model.release()
        shown = terminal.wait(lambda shown: "a star." in shown and "at work" not in shown)
        assert shown.count("The sun is a star.") == 1
        assert shown.count("what is the sun?") == 1
        assert shown.index("an earlier word") < shown.index("what is the sun?") < shown.index("The sun is")
        terminal.type("\x04")
        assert terminal.wait_end() == 0
        assert terminal.display.strange == []


def test_cards_are_boxes_that_go_from_calling_to_done(house: Roomful, model: FakeOpenAI) -> None:
    ada = shop(house, model)
    model.answer(*story())
    with Terminal(ada, "shop-space", columns=50) as terminal:
        terminal.wait_for("shop-space>")
        terminal.type("laptops?\r")
        shown = terminal.wait(lambda shown: "add any to your cart?" in shown and "at work" not in shown)
    lines = [line.strip() for line in shown.splitlines()]
    begin = lines.index(LAPTOPS)
    assert [line[:2] for line in lines[begin + 1 : begin + 9]] == ["╭─", "│ ", "│ ", "╰─"] * 2
    assert lines[begin + 1].startswith("╭─ showProductCard ─")
    assert len({len(line) for line in lines[begin + 1 : begin + 9]}) == 1
    assert lines[begin + 2 : begin + 4] == [
        f"│ {words:<43} │" for words in ("name: MacBook Pro", "price: 1299")
    ]


def test_a_form_is_answered_in_place_and_the_run_goes_on(house: Roomful, model: FakeOpenAI) -> None:
    ada = world(house, model, tool("travelForm"), speaks="text")
    fields = [
        {"name": "city", "label": "Where to?"},
        {"name": "days", "label": "How long?", "type": "integer"},
        {"name": "class", "label": "Which class?", "options": ["first", "second"]},
        {"name": "note", "label": "Anything else?", "required": False},
    ]
    pieces = call("travelForm", {"title": "Trip", "fields": fields}, size=60)
    model.answer(Answer([*pieces[:3], hold(), *pieces[3:]]), Answer(text("Booked.")))
    with Terminal(ada, "room") as terminal:
        terminal.wait_for("room>")
        terminal.type("book a trip\r")
        shown = terminal.wait_for("╭─ travelForm", "writing…")
        assert "Where to?:" not in shown
        model.release()
        terminal.wait_for("Where to?:", "waits for an answer")
        terminal.type("Rome\r")
        terminal.wait_for("How long? (integer):")
        terminal.type("soon\r")
        terminal.wait_for("this must be a whole number")
        terminal.type("3\r")
        terminal.wait_for("Which class? 1) first 2) second:")
        terminal.type("2\r")
        terminal.wait_for("Anything else?:")
        terminal.type("\r")
        shown = terminal.wait_for("answered by Ada", "Booked.", "room>")
        assert "done" not in shown.splitlines()[-1]
    told = model.wait_for_requests(2)[1].messages[-1]["content"]
    assert told == '{"city":"Rome","days":3,"class":"second"}'


def test_consent_is_given_or_refused_with_a_reason(house: Roomful, model: FakeOpenAI) -> None:
    pay = tool("pay", execution={"mode": "pass-through"}, approval=True)
    ada = world(house, model, pay)
    asked = Answer(call("pay", {"amount": 5}))
    model.answer(asked, Answer(text("ok")), asked, Answer(text("ok")))
    with Terminal(ada, "room") as terminal:
        terminal.wait_for("room>")
        terminal.type("pay\r")
        terminal.wait_for("waits for approval", "Approve pay? (y/n):")
        terminal.type("n\r")
        terminal.wait_for("Why not?:")
        terminal.type("too much\r")
        terminal.wait_for("did not approve this call: too much")
        terminal.type("pay again\r")
        terminal.wait_for("Approve pay? (y/n):")
        terminal.type("y\r")
        model.wait_for_requests(4)
        terminal.wait(lambda shown: shown.count("answered by Ada") == 2)
    assert model.requests[3].messages[-1]["content"] == '{"amount":5}'


def test_who_was_slower_is_told_who_answered(house: Roomful, model: FakeOpenAI) -> None:
    ada = world(house, model, tool("form"))
    bob = house.person("bob", "Bob B.")
    house.admin.post("/api/spaces/room/members", {"entityId": "bob"}, expect=201)
    model.answer(Answer(call("form", {"title": "Name?"})), Answer(text("ok")))
    with Terminal(ada, "room") as terminal:
        terminal.wait_for("room>")
        terminal.type("ask\r")
        terminal.wait_for("Answer to Name?:")
        terminal.type("half an ans")
        [run] = ada.get("/api/runs", params={"spaceId": "room"})["runs"]
        body = {"toolCallId": run["pendingToolCalls"][0]["toolCallId"], "result": {"text": "Bob"}}
        bob.post(f"/api/runs/{run['id']}/tool-results", body)
        terminal.wait_for("already answered by Bob B.", "answered by Bob B.", "room> half an ans")


def test_a_form_that_was_left_is_asked_again_on_demand(house: Roomful, model: FakeOpenAI) -> None:
    ada = world(house, model, tool("form"))
    model.answer(Answer(call("form", {"title": "Name?"})), Answer(text("ok")))
    with Terminal(ada, "room") as terminal:
        terminal.wait_for("room>")
        terminal.type("ask\r")
        terminal.wait_for("Answer to Name?:")
        terminal.type("\x03")
        terminal.wait_for("left unanswered", "1) form waits: /answer 1", "room>")
        terminal.type("/answer\r")
        terminal.wait_for("Answer to Name?:")
        terminal.type("Ada\r")
        terminal.wait_for("answered by Ada", "text: Ada")


def test_a_card_that_no_run_waits_for_is_answered_on_demand(house: Roomful, model: FakeOpenAI) -> None:
    card = tool("card") | {"execution": {"mode": "no-execution", "wait": False}}
    ada = world(house, model, card, speaks="text")
    shown = [*call("card", {"title": "Buy?"})]
    model.answer(Answer(shown), Answer(text("There.")), Answer(text("Bought.")))
    with Terminal(ada, "room") as terminal:
        terminal.wait_for("room>")
        terminal.type("show\r")
        assert "/answer" not in terminal.wait_for("There.", "room>")
        terminal.type("/answer\r")
        terminal.wait_for("Answer to Buy?:")
        terminal.type("yes\r")
        terminal.wait_for("answered by Ada", "Bought.")


def test_a_run_is_stopped(house: Roomful, model: FakeOpenAI) -> None:
    ada = world(house, model, speaks="text")
    model.answer(Answer([*text("Let me th"), HANG]))
    with Terminal(ada, "room") as terminal:
        terminal.wait_for("room>")
        terminal.type("think\r")
        terminal.wait_for("Let me th", "at work…")
        terminal.type("/stop\r")
        shown = terminal.wait(lambda shown: "Helper was stopped" in shown and "at work" not in shown)
        assert "Let me th" in shown
        terminal.type("/stop\r")
        terminal.wait_for("nobody is at work here")
    [run] = ada.get("/api/runs", params={"spaceId": "room"})["runs"]
    assert run["status"] == "canceled"


def test_one_can_look_around_and_go_elsewhere(house: Roomful, model: FakeOpenAI) -> None:
    ada = world(house, model)
    bob = house.person("bob")
    house.space("den", "ada", "bob")
    bob.say("den", "welcome to the den")
    with Terminal(ada, "room") as terminal:
        terminal.wait_for("room>")
        terminal.type("/spaces\r/who\r/nothing\r")
        terminal.wait_for(
            "* room: Room", "  den: Den, 1 unread", "Helper (helper), agent, member", "no /nothing"
        )
        terminal.type("/switch nowhere\r")
        terminal.wait_for("nowhere")
        terminal.wait(lambda shown: shown.rstrip().endswith("room>"))
        terminal.type("/switch den\r")
        terminal.wait_for("── den ──", "welcome to the den", "den>")
        terminal.type("thank you\r")
        terminal.wait(lambda shown: shown.count("thank you") == 1 and shown.rstrip().endswith("den>"))
        terminal.type("/help\r")
        terminal.wait_for("/switch SPACE", "/quit")
        terminal.type("/quit\r")
        assert terminal.wait_end() == 0
    assert [message["parts"][0]["text"] for message in bob.messages("den")] == [
        "welcome to the den",
        "thank you",
    ]


def test_a_server_that_went_away_is_found_again_with_what_was_missed(
    tmp_path: Any, model: FakeOpenAI
) -> None:
    with Roomful(tmp_path) as house:
        ada = house.person("ada")
        bob = house.person("bob")
        house.space("room", "ada", "bob")
        bob.say("room", "before")
        with Terminal(ada, "room") as terminal:
            terminal.wait_for("before", "room>")
            house.kill()
            terminal.wait_for("the connection is lost")
            house.start()
            for number in range(60):
                bob.say("room", f"missed {number:02}")
            shown = terminal.wait(lambda shown: "missed 59" in shown and "is lost" not in shown)
            seen = [line.strip() for line in shown.splitlines() if "missed" in line or "before" in line]
            assert seen == ["before", *(f"missed {number:02}" for number in range(60))]
            terminal.type("I am back\r")
            terminal.wait(lambda shown: shown.count("I am back") == 1 and shown.rstrip().endswith("room>"))
    assert terminal.display.strange == []


def test_what_others_write_is_shown_and_not_obeyed(house: Roomful, model: FakeOpenAI) -> None:
    ada = world(house, model, tool("show", execution={"mode": "pass-through"}), speaks="both")
    house.person("eve", f"Eve {EVIL}")
    house.admin.post("/api/spaces/room/members", {"entityId": "eve"}, expect=201)
    model.answer(
        Answer([*text(f"text {EVIL}"), *call("show", {f"key {EVIL}": f"value {EVIL}"})]), Answer(text("Bye."))
    )
    with Terminal(ada, "room", columns=100) as terminal:
        terminal.wait_for("room>")
        terminal.type("go\r")
        shown = terminal.wait(lambda shown: "Bye." in shown and "at work" not in shown)
        assert shown.count("␛[2J␛]0;owned␇<U+009B>31m␍over<U+202E>gnp.exe␈␈") >= 1
        terminal.type("/who\r")
        terminal.wait_for("Eve ␛[2J")
    assert terminal.display.strange == []
    assert b"owned\x07" not in terminal.raw
    assert "\u202e".encode() not in terminal.raw


def test_a_terminal_that_becomes_narrower_is_drawn_anew(house: Roomful, model: FakeOpenAI) -> None:
    ada = world(house, model, tool("form"))
    model.answer(Answer(call("form", {"title": "Name?", "why": "because " * 12})), Answer(text("ok")))
    with Terminal(ada, "room", columns=80) as terminal:
        terminal.wait_for("room>")
        terminal.type("ask\r")
        terminal.wait_for("Answer to Name?:")
        terminal.resize(30, 40)
        terminal.wait(lambda shown: any(line.strip() == "╰" + "─" * 35 + "╯" for line in shown.splitlines()))
        terminal.type("Ada\r")
        terminal.wait_for("answered by Ada")


@pytest.mark.parametrize("no_color", ["", "1"])
def test_colours_are_left_out_on_demand(house: Roomful, model: FakeOpenAI, no_color: str) -> None:
    ada = world(house, model)
    with Terminal(ada, "room", NO_COLOR=no_color) as terminal:
        terminal.wait_for("── room ──", "room>")
    assert (b"\x1b[2m" in terminal.raw) == (not no_color)


def test_keys_edit_the_line(house: Roomful, model: FakeOpenAI) -> None:
    ada = house.person("ada")
    house.space("room", "ada")
    with Terminal(ada, "room") as terminal:
        terminal.wait_for("room>")
        terminal.type("wörld 你好x\x7f\x01hello \x05!\x1b[D\x1b[D\x1b[3~\r")
        terminal.wait_for("hello wörld 你!")
        terminal.type("not this\x03\x1b[A\x15second\r")
        terminal.wait(lambda shown: "second" in shown and shown.rstrip().endswith("room>"))
        terminal.type("\x1b[A\x1b[A again\r")
        terminal.wait(lambda shown: shown.count("again") == 1 and shown.rstrip().endswith("room>"))
    texts = [message["parts"][0]["text"] for message in ada.messages("room")]
    assert texts == ["hello wörld 你!", "second", "hello wörld 你! again"]


def test_who_is_put_out_is_told_and_leaves(house: Roomful) -> None:
    ada = house.person("ada")
    house.space("room", "ada")
    with Terminal(ada, "room") as terminal:
        terminal.wait_for("room>")
        house.admin.call("DELETE", "/api/spaces/room/members/ada", expect=204)
        assert terminal.wait_end() == 1
        assert "room" in terminal.display.text().splitlines()[-2]
