"""A space id that comes in fragments never reaches a wrong space."""

import json

import pytest

from roomful.domain.wire import EVENT_LIMIT
from tests.requirements import requirement
from tests.servers.fake_openai import Answer, FakeOpenAI, call, text
from tests.servers.roomful import Caller, Listener, Roomful, openai

CARD = {
    "name": "showCard",
    "description": "Show a card.",
    "executionType": "basic",
    "visibility": "full",
    "execution": {"mode": "pass-through"},
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}, "x": {}}},
}
SPACES = ("space-1", "space-12", "space-2")
CASES = {
    "prefix": ('{"targetSpaceId": "space-12", "text": "hi"}', ["space-12"]),
    "short": ('{"targetSpaceId": "space-1", "text": "hi"}', ["space-1"]),
    "escaped-key": (r'{"target\u0053paceId": "space-2", "text": "hi"}', ["space-2"]),
    "escaped-value": (r'{"targetSpaceId": "space\u002d2", "text": "hi"}', ["space-2"]),
    "several": ('{"targetSpaceIds": ["space-2", "space-12"], "text": "hi"}', ["space-12", "space-2"]),
    "both": ('{"targetSpaceId": "space-1", "targetSpaceIds": ["space-2"]}', ["space-1", "space-2"]),
    "null": ('{"targetSpaceId": null, "text": "hi"}', ["space-1"]),
    "none": ('{"text": "targetSpaceId\\": \\"space-2"}', ["space-1"]),
    "behind": ('{"text": "hi", "targetSpaceId": "space-2"}', ["space-2"]),
    "nested": ('{"x": {"targetSpaceId": "space-2"}, "text": "hi"}', ["space-1"]),
    "late": ('{"targetSpaceId": "space-2", "text": "hi", "targetSpaceIds": ["space-1"]}', None),
    "twice": ('{"targetSpaceId": "space-2", "targetSpaceId": "space-1", "text": "hi"}', None),
    "twice-escaped": (r'{"targetSpaceId": "space-2", "target\u0053paceId": "space-1"}', None),
    "stranger": ('{"targetSpaceId": "space-3", "text": "hi"}', None),
    "one-stranger": ('{"targetSpaceIds": ["space-1", "space-3"], "text": "hi"}', None),
    "empty": ('{"targetSpaceId": "", "text": "hi"}', None),
    "number": ('{"targetSpaceId": 12, "text": "hi"}', None),
}


@requirement("S-01")
@pytest.mark.parametrize("case", CASES)
def test_whatever_the_fragments_the_call_reaches_its_spaces_and_no_other(
    house: Roomful, model: FakeOpenAI, case: str
) -> None:
    arguments, expected = CASES[case]
    ada = house.person("ada")
    house.agent("agent", openai(model.base_url), CARD)
    for space_id in SPACES:
        house.space(space_id, "ada", "agent")
    house.space("space-3", "ada")
    cuts = [[1], [2, 1], [3], [20], *([cut, len(arguments)] for cut in range(1, len(arguments)))]
    with Listener(ada, "/api/stream") as mine:
        for number, cut in enumerate(cuts):
            _one_run(ada, model, mine, arguments, cut, expected, number)
    seen = {
        s: [m for m in ada.messages(s, limit=200) if m["role"] == "assistant"] for s in (*SPACES, "space-3")
    }
    for space_id, messages in seen.items():
        for message in messages:
            statuses = {part["status"] for part in message["parts"]}
            assert statuses == ({"complete"} if expected else {"error"}), (space_id, message)
        if expected is not None:
            count = min(len(cuts), 200 - len(cuts)) if space_id == "space-1" else min(len(cuts), 200)
            assert (len(messages) >= min(count, 10)) == (space_id in expected), space_id


def _one_run(
    ada: Caller,
    model: FakeOpenAI,
    mine: Listener,
    arguments: str,
    cut: list[int],
    expected: list[str] | None,
    number: int,
) -> None:
    model.answer(Answer(call("showCard", arguments, splits=cut)), Answer(text("ok")))
    before = len(mine.events)
    run_id = ada.say("space-1", "go")["runs"][0]["runId"]
    mine.wait_for("run.completed", runId=run_id, spaceId="space-1")
    told = model.requests[2 * number + 1].messages[-1]["content"]
    starts = [e for e in mine.events[before:] if e.name == "tool-call.start"]
    if expected is None:
        assert told.startswith("Error: "), (cut, told)
        assert {e.data["spaceId"] for e in starts} <= {"space-2"}, cut
    else:
        assert sorted(e.data["spaceId"] for e in starts) == expected, cut
        stripped = {k: v for k, v in json.loads(arguments).items() if not k.startswith("targetSpace")}
        assert json.loads(told) == stripped


def test_arguments_too_long_for_an_event_name_only_the_space_where_it_is_read(
    house: Roomful, model: FakeOpenAI
) -> None:
    ada, bob = house.person("ada"), house.person("bob")
    house.agent("agent", openai(model.base_url), CARD)
    house.space("space-1", "ada", "agent")
    house.space("space-2", "bob", "agent")
    arguments = {"targetSpaceIds": ["space-1", "space-2"], "text": "x" * (EVENT_LIMIT + 100)}
    model.answer(Answer(call("showCard", arguments, size=100_000)), Answer(text("ok")))
    with ada.listen("space-1") as first, bob.listen("space-2") as second:
        ada.say("space-1", "go")
        first.wait_for("tool-call.complete")
        second.wait_for("tool-call.complete")
    for listener, space_id in ((first, "space-1"), (second, "space-2")):
        cut = [event.data for event in listener.events if "truncated" in event.data]
        assert {one["spaceId"] for one in cut} == {space_id}
        assert all(one["url"].startswith(f"/api/spaces/{space_id}/messages") for one in cut)
        assert any(event.name == "tool-input-delta" and event.data in cut for event in listener.events)
