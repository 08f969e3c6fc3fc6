"""Words that go straight to the one who reads them are for everybody who comes later what they are for it."""

import json
from pathlib import Path
from typing import Any

import pytest

from roomful.domain.arguments import apply_ops
from roomful.spaces.lane import CallLane
from tests.budget.counted import CARD
from tests.servers.fake_openai import Answer, FakeOpenAI, call, text
from tests.servers.inhouse import InHouse
from tests.servers.roomful import Event, Listener, fold, openai
from tests.servers.watched import wait_until

TITLE = "".join(f"word {number}, " for number in range(140))
ARGS = {
    "title": TITLE,
    "note": 'She said "yes",\nthen: ' + "и так далее " * 20,
    "price": 1299,
    "more": "x" * 90,
}
FREE = {**CARD, "inputSchema": {"type": "object"}}


def _words(events: list[Event]) -> list[Event]:
    return [event for event in events if event.name == "tool-input-delta"]


def _folded(events: list[Event]) -> Any:
    return apply_ops({}, [op for event in _words(events) for op in event.data["ops"]])


@pytest.fixture
def straight(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What went straight."""
    said: list[str] = []
    say = CallLane.say

    def noted(lane: CallLane, words: str, so_far: Any) -> bool:
        is_said = say(lane, words, so_far)
        said.extend([words] if is_said else [])
        return is_said

    monkeypatch.setattr(CallLane, "say", noted)
    return said


@pytest.mark.parametrize("by", ["post", "space"])
def test_who_comes_later_has_the_same_as_who_was_there(tmp_path: Path, straight: list[str], by: str) -> None:
    """One reads from the beginning, one comes in the middle, and one comes back with an old position."""
    answers = [Answer(call("card", ARGS, size=7), held=True), Answer(text("So."))]
    with FakeOpenAI(answers) as model, InHouse(tmp_path) as house:
        ada = house.person("ada")
        space_id = house.space("room", "ada", house.agent("helper", openai(model.base_url), FREE))
        path = f"/api/spaces/{space_id}"
        if by == "post":
            asked = Listener(ada, f"{path}/messages", params={"args": "ops"}, posts={"text": "go"})
        else:
            asked = ada.listen(space_id, args="ops")
        with asked as first:
            if by == "space":
                ada.say(space_id, "go")
            model.release(times=3)

            def hear(until: int) -> None:
                for count in range(len(_words(first.events)) + 1, until + 1):
                    model.release()
                    first.wait_for("tool-input-delta", count)

            hear(60)
            came_at = len(straight)
            with ada.listen(space_id, args="ops") as second:
                hear(80)
                second.wait_for("tool-input-delta", 20)
                assert fold(second.events)[-1]["parts"][0]["args"] == _folded(first.events)
                [card] = ada.messages(space_id)[-1]["parts"]
                assert card["args"] == _folded(first.events), "a reload shows what was seen live"
            hear(120)
            model.release(times=200)
            first.wait_for("run.completed")
        again = _words(first.events)[10].id
        with ada.listen(space_id, again, args="ops") as third:
            third.wait_for("run.completed")
            assert _words(third.events) == _words(first.events)[11:]
    assert _folded(first.events) == ARGS
    assert came_at > 20
    assert len(straight) > came_at, "also after others came and went"


def test_who_wants_whole_arguments_has_no_straight_way(tmp_path: Path, straight: list[str]) -> None:
    answers = [Answer(call("card", {"title": TITLE}, size=7)), Answer(text("So."))]
    with FakeOpenAI(answers) as model, InHouse(tmp_path) as house:
        ada = house.person("ada")
        space_id = house.space("room", "ada", house.agent("helper", openai(model.base_url), CARD))
        with Listener(ada, f"/api/spaces/{space_id}/messages", posts={"text": "go"}) as stream:
            stream.wait_for("run.completed")
    assert _words(stream.events)[-1].data["partialArgs"] == {"title": TITLE}
    assert straight == []


@pytest.mark.requirement("C-16")
def test_what_one_member_alone_may_see_has_no_straight_way(tmp_path: Path, straight: list[str]) -> None:
    args = {"targetEntityId": "ada", "title": TITLE}
    answers = [Answer(call("card", args, size=7), held=True), Answer(text("So."))]
    with FakeOpenAI(answers) as model, InHouse(tmp_path) as house:
        ada, bob = house.person("ada"), house.person("bob")
        agent = house.agent("helper", openai(model.base_url), CARD)
        space_id = house.space("room", "ada", "bob", agent)

        def written() -> int:
            parts = ada.messages(space_id)[-1]["parts"]
            return len(parts[0].get("args", {}).get("title", "")) if parts else 0

        with bob.listen(space_id, args="ops") as stream:
            ada.say(space_id, "go")
            model.release(times=10)
            for characters in range(7, 7 * 40, 7):
                model.release()
                wait_until(lambda characters=characters: written() >= characters)
            model.release(times=200)
            stream.wait_for("run.completed")
        with ada.listen(space_id) as owner:
            owner.wait_for("snapshot")
    assert TITLE in json.dumps([event.data for event in owner.events])
    assert "word 3" not in json.dumps([event.data for event in stream.events])
    assert straight == []
