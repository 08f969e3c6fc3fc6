"""Where a call is seen: the routing tables of composite messages, row by row, and who may answer there."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.http.shopping import PRODUCT_CARD, seen
from tests.http.test_visibility import CANARY, QUERY, Scene, of_calls, scene, static
from tests.requirements import requirement
from tests.servers.fake_openai import Answer, FakeOpenAI, text
from tests.servers.roomful import Caller, Event, Roomful, fold, openai
from tests.tools.documents import document


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roomful]:
    with Roomful(tmp_path_factory.mktemp("house")) as house:
        yield house


FORM = document("composite-client-tool")
ALERT = {
    "name": "showAlert",
    "executionType": "basic",
    "execution": {"mode": "no-execution", "wait": False},
    "inputSchema": {"type": "object", "properties": {"message": {"type": "string"}}},
}
BUDGET = {
    **document("composite-minimal-tool"),
    "executionType": "basic",
    "execution": {"mode": "static", "output": {"left": 12}},
    "inputSchema": {"type": "object", "properties": {"year": {"type": "integer"}}},
}
LAPTOP = {"name": "MacBook Pro", "price": 1299}
CARD = ("showProductCard", LAPTOP, None)
ALERTED = ("showAlert", {"message": "m"}, None)
NAME_ONLY = ("queryBudgetAPI", None, None)

ROWS: list[Any] = [
    pytest.param(
        "sendSpaceMessage",
        lambda p: {"spaceId": p.a, "text": "text"},
        lambda p: {p.a: ["text"]},
        id="sendSpaceMessage(spaceA)",
    ),
    pytest.param(
        "sendSpaceMessage",
        lambda p: {"spaceId": p.b, "text": "text"},
        lambda p: {p.b: ["text"]},
        id="sendSpaceMessage(spaceB)",
    ),
    pytest.param("showProductCard", lambda p: LAPTOP, lambda p: {p.a: [CARD]}, id="client tool, no target"),
    pytest.param(
        "showProductCard",
        lambda p: {"targetSpaceId": p.b, **LAPTOP},
        lambda p: {p.b: [CARD]},
        id="client tool, spaceB",
    ),
    pytest.param(
        "showAlert",
        lambda p: {"targetSpaceIds": [p.a, p.b], "message": "m"},
        lambda p: {p.a: [ALERTED], p.b: [ALERTED]},
        id="client tool, spaceA and spaceB",
    ),
    pytest.param(
        "queryBudgetAPI", lambda p: {"year": 1}, lambda p: {p.a: [NAME_ONLY]}, id="minimal, no target"
    ),
    pytest.param(
        "queryBudgetAPI",
        lambda p: {"targetSpaceId": p.b, "year": 1},
        lambda p: {p.b: [NAME_ONLY]},
        id="minimal, spaceB",
    ),
    pytest.param("readSpaceMessages", lambda p: {"spaceId": p.b}, lambda p: {}, id="built-in"),
]


@requirement("C-15")
@pytest.mark.parametrize(("name", "arguments", "expected"), ROWS)
def test_which_space_sees_what(
    house: Roomful, model: FakeOpenAI, name: str, arguments: Callable[[Scene], Any], expected: Any
) -> None:
    play = scene(house, model, PRODUCT_CARD, ALERT, BUDGET, dialect="composite")

    _, heard = play.runs([(name, arguments(play))])

    where = expected(play)
    assert {space_id: _agent_said(play, space_id) for space_id in play.spaces} == {
        space_id: where.get(space_id, []) for space_id in play.spaces
    }
    for space_id in play.spaces:
        if space_id not in where:
            assert of_calls(heard[space_id]) == []
        if space_id not in where and space_id != play.a:
            assert heard[space_id] == []
        assert fold(heard[space_id]) == play.ada.messages(space_id)


def _agent_said(play: Scene, space_id: str) -> list[Any]:
    return seen({"parts": play.bubble(space_id)})


@requirement("C-11")
@pytest.mark.parametrize(
    ("routing", "expected"),
    [
        pytest.param(lambda p: {}, lambda p: [p.a], id="omitted"),
        pytest.param(lambda p: {"targetSpaceId": None}, lambda p: [p.a], id="null"),
        pytest.param(lambda p: {"targetSpaceId": p.b}, lambda p: [p.b], id="one"),
        pytest.param(lambda p: {"targetSpaceId": p.a}, lambda p: [p.a], id="the trigger space by name"),
        pytest.param(lambda p: {"targetSpaceIds": [p.c]}, lambda p: [p.c], id="a list of one"),
        pytest.param(lambda p: {"targetSpaceIds": [p.b, p.c]}, lambda p: [p.b, p.c], id="several"),
        pytest.param(lambda p: {"targetSpaceIds": [p.b, p.b]}, lambda p: [p.b], id="the same twice"),
        pytest.param(
            lambda p: {"targetSpaceId": p.a, "targetSpaceIds": [p.b]}, lambda p: [p.a, p.b], id="both: union"
        ),
    ],
)
def test_a_part_is_in_the_message_of_each_space_of_its_route(
    house: Roomful, model: FakeOpenAI, routing: Any, expected: Any
) -> None:
    play = scene(house, model, PRODUCT_CARD)

    play.runs([("showProductCard", routing(play) | LAPTOP)])

    shown = {space_id for space_id in play.spaces if play.bubble(space_id)}
    assert shown == set(expected(play))
    assert all(_agent_said(play, space_id) == [CARD] for space_id in shown)
    calls = {play.bubble(space_id)[0]["toolCallId"] for space_id in shown}
    assert len(calls) == 1


@requirement("C-11")
def test_parts_of_one_run_gather_in_each_space_in_call_order(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, PRODUCT_CARD, ALERT)

    run_id, heard = play.runs(
        [
            ("sendSpaceMessage", {"spaceId": play.a, "text": "one"}),
            ("showAlert", {"targetSpaceIds": [play.a, play.b], "message": "two"}),
        ],
        [
            ("showProductCard", {"targetSpaceId": play.b, **LAPTOP}),
            ("sendSpaceMessage", {"spaceId": play.a, "text": "four"}),
        ],
    )

    alert = ("showAlert", {"message": "two"}, None)
    assert _agent_said(play, play.a) == ["one", alert, "four"]
    assert _agent_said(play, play.b) == [alert, CARD]
    for space_id in (play.a, play.b):
        stored = play.ada.messages(space_id)
        assert fold(heard[space_id]) == stored
        assert (stored[-1]["runId"], stored[-1]["status"]) == (run_id, "final")


@requirement("C-11")
@pytest.mark.parametrize("tool", ["showProductCard", "sendSpaceMessage"])
def test_one_space_that_the_agent_is_not_in_fails_the_whole_call(
    house: Roomful, model: FakeOpenAI, tool: str
) -> None:
    play = scene(house, model, PRODUCT_CARD)
    closed = play.house.space(f"closed-{play.a}", play.ada.id)
    args = {"spaceId": closed, "text": CANARY} if tool == "sendSpaceMessage" else {
        "targetSpaceIds": [play.b, closed], "name": CANARY, "price": 1
    }  # fmt: skip

    _, heard = play.runs([(tool, args)])

    assert play.told().startswith(f"Error: there is no space '{closed}' that you are in; your spaces: ")
    assert [event for events in heard.values() for event in of_calls(events)] == []
    assert CANARY not in json.dumps([play.ada.messages(space_id) for space_id in (*play.spaces, closed)])


def answer(person: Caller, run_id: str, call_id: str, result: Any, expect: int = 200) -> Any:
    body = {"toolCallId": call_id, "result": result}
    return person.post(f"/api/runs/{run_id}/tool-results", body, expect=expect)


@requirement("C-05")
def test_a_client_part_has_no_result_until_a_person_answers(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, FORM)
    play.plays([("showApprovalForm", {"amount": 50, "description": "pens"})])
    with play.ada.listen(play.a) as ears:
        run_id = play.begins()
        ears.wait_for("run.waiting_tool")
        [waiting] = play.bubble(play.a)
        assert waiting == {
            "id": waiting["id"],
            "type": "tool_call",
            "toolName": "showApprovalForm",
            "toolCallId": waiting["toolCallId"],
            "runId": run_id,
            "args": {"amount": 50, "description": "pens"},
            "result": None,
            "status": "waiting",
            "asks": "answer",
        }

        accepted = answer(play.ada, run_id, waiting["toolCallId"], {"approved": True})

        assert accepted == {"status": "accepted"}
        ears.wait_for("run.completed")
        [filled] = play.bubble(play.a)
        answered = {"answeredBy": play.ada.id, "answeredAt": filled["answeredAt"]}
        assert filled == waiting | answered | {"result": {"approved": True}, "status": "complete"}
        assert json.loads(play.told()) == {"approved": True}
        assert fold(ears.events) == play.ada.messages(play.a)


@requirement("C-05")
def test_a_card_that_nobody_waits_for_is_filled_later_and_wakes_the_agent(
    house: Roomful, model: FakeOpenAI
) -> None:
    play = scene(house, model, PRODUCT_CARD)
    run_id, _ = play.runs([("showProductCard", LAPTOP)])
    [card] = play.bubble(play.a)
    assert (card["result"], card["status"]) == (None, "waiting")
    model.answer(Answer(text("noted")))

    with play.ada.listen(play.a) as ears:
        answer(play.ada, run_id, card["toolCallId"], {"selected": True})
        woken = ears.wait_for("run.completed").data["runId"]

    [filled] = play.bubble(play.a)
    assert (filled["result"], filled["status"]) == ({"selected": True}, "complete")
    assert house.admin.get(f"/api/runs/{woken}")["trigger"]["type"] == "answer"
    assert "selected" in model.requests[-1].messages[-1]["content"]


@requirement("C-12")
def test_a_form_in_another_space_asks_the_members_of_that_space(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, FORM)
    cleo = house.person(f"cleo-{play.a}")
    house.admin.post(f"/api/spaces/{play.a}/members", {"entityId": cleo.id}, expect=201)
    play.plays([("showApprovalForm", {"targetSpaceId": play.b, "amount": 50})])
    with play.listening() as heard, play.bob.listen(play.b) as bob_hears:
        run_id = play.begins()
        asked = bob_hears.wait_for("run.waiting_tool")
        card_id = bob_hears.wait_for("tool-call").data["toolCallId"]
        pending = {"toolCallId": card_id, "toolName": "showApprovalForm", "args": {"amount": 50}}
        assert _pending(asked) == [pending]
        elsewhere = heard[play.a].wait_for("run.waiting_tool")
        assert _pending(elsewhere) == []
        assert house.admin.get(f"/api/runs/{run_id}")["status"] == "waiting_tool"
        assert cleo.get(f"/api/runs/{run_id}")["pendingToolCalls"] == []

        answer(cleo, run_id, card_id, {"approved": True}, expect=404)
        answer(play.bob, run_id, card_id, {"approved": False})

        heard[play.a].wait_for("run.completed")
        bob_hears.wait_for("run.completed")
        others = [event.data for event in bob_hears.events if event.name.startswith("run.")]
        assert play.a not in {event.get("trigger", {}).get("spaceId") for event in others}
        assert {event["trigger"]["type"] for event in others} == {"message"}
        assert json.loads(play.told()) == {"approved": False}
        assert of_calls(play.so_far(heard[play.a], play.a)) == []
        assert play.so_far(heard[play.c], play.c) == []
    [part] = play.bubble(play.b)
    assert (part["answeredBy"], part["result"]) == (play.bob.id, {"approved": False})


def _pending(event: Event) -> list[dict[str, Any]]:
    calls = event.data.get("pendingToolCalls", [])
    return [
        {key: value for key, value in one.items() if key not in ("spaceIds", "waitsFor", "asksPeople")}
        for one in calls
    ]


@requirement("C-12")
def test_a_form_in_two_spaces_is_answered_once_for_both(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, FORM)
    play.plays([("showApprovalForm", {"targetSpaceIds": [play.a, play.b], "amount": 50})])
    with play.listening() as heard:
        run_id = play.begins()
        card_id = heard[play.b].wait_for("tool-call").data["toolCallId"]
        heard[play.b].wait_for("run.waiting_tool")
        answer(play.bob, run_id, card_id, "yes")
        for space_id in (play.a, play.b):
            complete = heard[space_id].wait_for("tool-call.complete")
            assert (complete.data["toolCallId"], complete.data["output"]) == (card_id, "yes")
            heard[space_id].wait_for("run.completed")
            assert fold(heard[space_id].events) == play.ada.messages(space_id)
            [part] = play.bubble(space_id)
            assert (part["result"], part["status"], part["answeredBy"]) == ("yes", "complete", play.bob.id)


PRIVATE = {"amount": 7, "description": f"for your eyes {CANARY}"}


def _all_of(person: Caller, play: Scene, run_id: str, events: list[Event]) -> str:
    mine = [space["id"] for space in person.get("/api/spaces")["spaces"]]
    with person.listen(play.b) as late:
        snapshot = late.wait_for("snapshot").data
    return json.dumps(
        [
            [event.data for event in events],
            [person.messages(space_id) for space_id in mine],
            [person.messages(space_id, q=CANARY) for space_id in mine],
            [person.messages(space_id, q="showApprovalForm") for space_id in mine],
            person.get(f"/api/runs/{run_id}"),
            person.get("/api/runs"),
            snapshot,
        ]
    )


@requirement("C-16")
def test_a_part_for_one_member_reaches_nobody_else(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, FORM)
    args = {"targetSpaceId": play.b, "targetEntityId": play.bob.id, **PRIVATE}
    play.plays([("sendSpaceMessage", {"spaceId": play.b, "text": "for all"}), ("showApprovalForm", args)])
    with play.ada.listen(play.b) as ada_hears, play.bob.listen(play.b) as bob_hears:
        run_id = play.begins()
        bob_hears.wait_for("run.waiting_tool")
        ada_hears.wait_for("run.waiting_tool")
        waiting = _all_of(play.ada, play, run_id, play.so_far(ada_hears, play.b))
        assert CANARY not in waiting
        assert "showApprovalForm" not in waiting
        card = bob_hears.wait_for("tool-call").data
        assert card["args"] == PRIVATE
        [_, part] = _parts(play.bob, play)
        assert (part["args"], part["targetEntityId"]) == (PRIVATE, play.bob.id)

        answer(play.ada, run_id, card["toolCallId"], {"ok": CANARY}, expect=404)
        answer(play.bob, run_id, card["toolCallId"], {"ok": CANARY})

        for ears in (ada_hears, bob_hears):
            ears.wait_for("run.completed")
        after = _all_of(play.ada, play, run_id, play.so_far(ada_hears, play.b))
        assert CANARY not in after
        assert card["toolCallId"] not in after
        assert [part["text"] for part in _parts(play.ada, play)] == ["for all"]
        assert bob_hears.wait_for("tool-call.complete").data["output"] == {"ok": CANARY}
        assert fold(bob_hears.events) == play.bob.messages(play.b)
        assert fold(ada_hears.events) == play.ada.messages(play.b)


def _parts(person: Caller, play: Scene) -> list[dict[str, Any]]:
    [message] = [m for m in person.messages(play.b) if m["entityId"] == play.agent]
    return message["parts"]


@requirement("C-16")
def test_a_private_part_alone_leaves_nothing_for_the_others(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, static("whisper", visibility="full"))
    args = {"targetSpaceId": play.b, "targetEntityId": play.bob.id, **QUERY}
    play.plays([("whisper", args)])

    with play.ada.listen(play.b) as ada_hears, play.bob.listen(play.b) as bob_hears:
        run_id = play.begins()
        bob_hears.wait_for("run.completed", runId=run_id)
        others = _all_of(play.ada, play, run_id, play.so_far(ada_hears, play.b))

    assert CANARY not in others
    assert "whisper" not in others
    [part] = _parts(play.bob, play)
    assert (part["toolName"], part["args"]) == ("whisper", QUERY)


@requirement("C-16")
def test_another_agent_does_not_read_a_part_that_is_not_for_it(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, static("whisper", visibility="full"))
    other = house.agent(f"other-{play.a}", openai(model.base_url))
    house.admin.post(f"/api/spaces/{play.b}/members", {"entityId": other}, expect=201)
    play.runs([("whisper", {"targetSpaceId": play.b, "targetEntityId": play.bob.id, **QUERY})])
    play.plays([("readSpaceMessages", {"spaceId": play.b})])

    with play.ada.listen(play.b) as ears:
        play.ada.say(play.b, "what happened?", mentions=[other])
        ears.wait_for("run.completed")

    assert CANARY not in json.dumps([asked.messages for asked in model.requests[2:]])
    assert "what happened?" in play.told()


@requirement("C-16")
def test_a_target_entity_who_is_no_member_fails_the_call(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, FORM)

    _, heard = play.runs([("showApprovalForm", {"targetEntityId": play.bob.id, **PRIVATE})])

    assert play.told() == f"Error: there is no member '{play.bob.id}' in the space '{play.a}'"
    assert of_calls(heard[play.a]) == []
