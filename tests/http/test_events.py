"""What a space's stream says of a call, event by event, in every dialect; and what the run's own says."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.http.shopping import seen
from tests.http.test_routing_tables import answer
from tests.http.test_visibility import Scene, scene
from tests.requirements import requirement
from tests.servers.fake_openai import Answer, FakeOpenAI, call, hold, interleave, text
from tests.servers.roomful import Event, Listener, Roomful, fold
from tests.tools.documents import document


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roomful]:
    with Roomful(tmp_path_factory.mktemp("house")) as house:
        yield house


SCHEMA = {
    "type": "object",
    "properties": {"prompt": {"type": "string"}, "size": {"type": "integer"}},
    "required": ["prompt"],
}
ARGS = {"prompt": "a sunset over mountains", "size": 2}
OUTPUT = {"url": "blob:1"}
STATIC = {"mode": "static", "output": OUTPUT}
DRAW: dict[str, dict[str, Any]] = {
    "composite": {"executionType": "basic", "execution": STATIC, "visibility": "full"},
    "display": {"executionType": "basic", "execution": STATIC, "displayTool": True},
    "active": {"executionType": "gateway", "execution": STATIC, "visibility": "visible"},
}
ASK: dict[str, dict[str, Any]] = {
    "composite": {"executionType": "basic", "execution": {"mode": "no-execution"}},
    "display": {"executionType": "basic", "execution": None, "displayTool": True},
    "active": {"executionType": "space", "execution": {}},
}
DIALECTS = ["composite", "display", "active"]


def _tool(dialect: str, tools: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": "drawPicture",
        "description": "Draw.",
        "inputSchema": SCHEMA,
        "display": {"customUI": "Picture"},
        **tools[dialect],
    }


def _played(
    house: Roomful, model: FakeOpenAI, dialect: str, tools: dict[str, dict[str, Any]]
) -> tuple[Scene, str]:
    """A call with its routing, and the space it goes to: in the active dialect, where the run is. The model
    stops twice while it writes the arguments."""
    play = scene(house, model, _tool(dialect, tools), dialect=dialect)
    target = play.a if dialect == "active" else play.b
    routing = {} if dialect == "active" else {"targetSpaceId": target}
    pieces = call("drawPicture", routing | ARGS)
    model.answer(Answer([*pieces[:-3], hold(), *pieces[-3:-1], hold(), pieces[-1]]), Answer(text("ok")))
    return play, target


def _watch(play: Scene, ears: Listener) -> str:
    """Lets the model go on when what it wrote so far was seen."""
    run_id = play.begins()
    for count in (1, 2):
        ears.wait_for("tool-input-delta", count)
        play.model.release()
    return run_id


def _about(events: list[Event], call_id: str) -> list[Event]:
    return [
        event for event in events if call_id in (event.data.get("toolCallId"), event.data.get("streamId"))
    ]


def _in_short(events: list[Event]) -> list[str]:
    """The names, with neighbouring input deltas as one."""
    names = [event.name for event in events]
    return [
        name for at, name in enumerate(names) if name != "tool-input-delta" or names[at - 1 : at] != [name]
    ]


def _completed(form: dict[str, str]) -> str:
    return "tool-call.result" if form else "tool-call.complete"


FORMS = [pytest.param({}, id="plain"), pytest.param({"events": "v1"}, id="v1")]


@requirement("D-04", "T-15")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_server_tool_is_told_in_this_order(
    house: Roomful, model: FakeOpenAI, dialect: str, form: dict[str, str]
) -> None:
    play, target = _played(house, model, dialect, DRAW)
    with play.ada.listen(target, **form) as ears:
        run_id = _watch(play, ears)
        ears.wait_for("run.completed", runId=run_id)
        events = list(ears.events)
    start = next(event for event in events if event.name == "tool-call.start")
    call_id, part_id = start.data["toolCallId"], start.data["partId"]
    told = _about(events, call_id)

    assert _in_short(told) == [
        "tool-call.start",
        "tool-input-delta",
        "tool-call",
        _completed(form),
        "smartSpace.message",
    ]
    assert (start.data["toolName"], start.data["customUI"]) == ("drawPicture", "Picture")
    _grows([event.data["partialArgs"] for event in told if event.name == "tool-input-delta"])
    [whole] = [event.data for event in told if event.name == "tool-call"]
    assert (whole["toolName"], whole["args"]) == ("drawPicture", ARGS)
    complete, changed = told[-2].data, told[-1].data
    assert (complete["toolName"], complete["args"], complete["output"]) == ("drawPicture", ARGS, OUTPUT)
    part = {
        "id": part_id,
        "type": "tool_call",
        "toolCallId": call_id,
        "toolName": "drawPicture",
        "runId": run_id,
        "args": ARGS,
        "result": OUTPUT,
        "status": "complete",
        "customUI": "Picture",
    }
    assert changed["message"]["parts"] == [part]
    assert play.bubble(target) == [part]


def _grows(partial: list[dict[str, Any]]) -> None:
    """Each is the one before and more, the last is all, and no routing is in any."""
    assert len(partial) >= 3
    assert partial[-1] == ARGS
    for shorter, longer in itertools.pairwise(partial):
        assert longer.keys() >= shorter.keys()
        assert longer["prompt"].startswith(shorter.get("prompt", ""))


@requirement("D-04")
def test_the_message_behind_a_settled_part_carries_that_part_only(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, _tool("composite", DRAW))

    _, heard = play.runs(
        [
            ("sendSpaceMessage", {"spaceId": play.a, "text": "one"}),
            ("drawPicture", ARGS),
            ("drawPicture", ARGS | {"size": 3}),
        ]
    )

    calls = [event.data["toolCallId"] for event in heard[play.a] if event.name == "tool-call"]
    for call_id in calls:
        [changed] = [e.data for e in heard[play.a] if e.data.get("streamId") == call_id]
        assert [part["toolCallId"] for part in changed["message"]["parts"]] == [call_id]
    assert seen({"parts": play.bubble(play.a)}) == [
        "one",
        ("drawPicture", ARGS, OUTPUT),
        ("drawPicture", ARGS | {"size": 3}, OUTPUT),
    ]


@requirement("D-05", "T-15")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_client_tool_is_told_in_this_order(
    house: Roomful, model: FakeOpenAI, dialect: str, form: dict[str, str]
) -> None:
    play, target = _played(house, model, dialect, ASK)
    with play.ada.listen(target, **form) as ears:
        run_id = _watch(play, ears)
        ears.wait_for("run.waiting_tool", runId=run_id)
        call_id = ears.wait_for("tool-call").data["toolCallId"]
        before = _about(play.so_far(ears, target), call_id)
        assert _in_short(before) == [
            "tool-call.start",
            "tool-input-delta",
            "tool-call",
            "smartSpace.message",
        ]
        _grows([event.data["partialArgs"] for event in before if event.name == "tool-input-delta"])
        [waiting] = before[-1].data["message"]["parts"]
        assert (waiting["status"], waiting["args"], waiting["result"]) == ("waiting", ARGS, None)

        answer(play.ada, run_id, call_id, {"approved": True})

        ears.wait_for("run.completed", runId=run_id)
        after = _about(ears.events, call_id)[len(before) :]
        assert [event.name for event in after] == [_completed(form), "smartSpace.message"]
        assert (after[0].data["toolName"], after[0].data["output"]) == ("drawPicture", {"approved": True})
        [complete] = after[1].data["message"]["parts"]
        assert (complete["status"], complete["result"]) == ("complete", {"approved": True})
        assert complete["customUI"] == "Picture"
        if not form:
            assert fold(ears.events) == play.ada.messages(target)


@requirement("T-15")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_tool_that_fails_ends_in_an_error(house: Roomful, model: FakeOpenAI, dialect: str) -> None:
    fails = {"operation": "evaluate", "expression": "1 / 0"}
    kinds = {
        "composite": {"executionType": "compute", "execution": fails, "visibility": "full"},
        "display": {"executionType": "compute", "execution": fails, "displayTool": True},
        "active": {"executionType": "gateway", "execution": fails},
    }
    play, target = _played(house, model, dialect, kinds)
    with play.ada.listen(target) as ears:
        run_id = _watch(play, ears)
        ears.wait_for("run.completed", runId=run_id)
        failed = ears.wait_for("tool-call.error").data
        told = _about(ears.events, failed["toolCallId"])

    assert _in_short(told) == [
        "tool-call.start",
        "tool-input-delta",
        "tool-call",
        "tool-call.error",
        "smartSpace.message",
    ]
    [part] = play.bubble(target)
    assert (part["status"], part["error"], part["args"]) == ("error", failed["error"], ARGS)
    assert play.told() == f"Error: {failed['error']}"


@requirement("D-16")
def test_the_runs_own_stream_has_every_event_wherever_it_shows(house: Roomful, model: FakeOpenAI) -> None:
    form = document("composite-client-tool")
    hidden = _tool("composite", DRAW) | {"name": "hiddenTool", "visibility": "hidden"}
    play = scene(house, model, _tool("composite", DRAW), hidden, form)
    pieces = [
        *call("hiddenTool", ARGS, index=0, id="c0"),
        *call("drawPicture", {"targetSpaceId": play.b, **ARGS}, index=1, id="c1"),
        *call("sendSpaceMessage", {"spaceId": play.a, "text": "hello"}, index=2, id="c2"),
        *call("showApprovalForm", {"targetSpaceId": play.c, "amount": 5}, index=3, id="c3"),
    ]
    model.answer(Answer([hold(), *pieces]), Answer(text("ok")))
    with play.ada.listen(play.c) as ears:
        run_id = play.begins()
        with Listener(house.admin, f"/api/runs/{run_id}/stream") as whole:
            whole.wait_for("snapshot")
            model.release()
            waiting = ears.wait_for("run.waiting_tool")
            [pending] = waiting.data["pendingToolCalls"]
            answer(play.ada, run_id, pending["toolCallId"], {"approved": True})
            whole.wait_for("run.completed")
            whole.wait_end()

    events = whole.events
    outputs = {"hiddenTool": OUTPUT, "drawPicture": OUTPUT, "showApprovalForm": {"approved": True}}
    for name, output in outputs.items():
        [start] = [e.data for e in events if e.name == "tool-call.start" and e.data["toolName"] == name]
        told = [event for event in _about(events, start["toolCallId"]) if event.name.startswith("tool-")]
        assert _in_short(told) == ["tool-call.start", "tool-input-delta", "tool-call", "tool-call.complete"]
        assert told[-1].data["output"] == output
    assert "".join(e.data["delta"] for e in events if e.name == "text-delta") == "hello"
    assert {e.data.get("spaceId") for e in events if e.name == "run.completed"} >= {play.a, play.b, play.c}
    with Listener(house.admin, f"/api/runs/{run_id}/stream") as ended:
        calls = ended.wait_for("snapshot").data["calls"]
    assert [one["startedAt"] <= one["endedAt"] for one in calls] == [True] * 4


@requirement("S-02")
def test_a_form_can_be_answered_when_its_input_is_complete_and_not_before(
    house: Roomful, model: FakeOpenAI
) -> None:
    play = scene(house, model, document("composite-client-tool"))
    args = {"targetSpaceId": play.a, "amount": 5, "description": "pens and paper"}
    pieces = call("showApprovalForm", args, size=4)
    model.answer(Answer([*pieces[:-1], hold(), pieces[-1], hold()]), Answer(text("ok")))
    with play.ada.listen(play.a) as ears:
        run_id = play.begins()
        preview = ears.wait(_preview)
        call_id = preview["toolCallId"]
        [part] = play.bubble(play.a)
        assert (part["status"], part["result"]) == ("streaming", None)
        early = play.ada.request(
            "POST", f"/api/runs/{run_id}/tool-results", {"toolCallId": call_id, "result": "early"}
        )
        assert early.status_code in (404, 409)

        model.release()
        ears.wait_for("tool-call", toolCallId=call_id)
        answer(play.ada, run_id, call_id, "in time")
        model.release()

        ears.wait_for("run.completed")
        assert json.loads(json.dumps(play.told())) == "in time"
        [part] = play.bubble(play.a)
        assert (part["status"], part["result"]) == ("complete", "in time")
        assert fold(ears.events) == play.ada.messages(play.a)


def _preview(events: list[Event]) -> dict[str, Any] | None:
    deltas = [event.data for event in events if event.name == "tool-input-delta"]
    return next((data for data in deltas if "pens" in data["partialArgs"].get("description", "")), None)


CHART = {
    "name": "showChart",
    "executionType": "gateway",
    "execution": {"mode": "pass-through"},
    "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}},
}


def _charts(play: Scene, space_id: str) -> list[Any]:
    said = seen({"parts": play.bubble(space_id)})
    return [one if isinstance(one, str) else one[1]["title"] for one in said]


@requirement("S-04")
def test_enter_space_takes_effect_in_call_order(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, CHART, dialect="active")

    play.runs(
        [
            ("showChart", {"title": "first"}),
            ("enter_space", {"spaceId": play.b}),
            ("showChart", {"title": "second"}),
            ("send_message", {"text": "third"}),
            ("enter_space", {"spaceId": play.c}),
            ("send_message", {"text": "fourth"}),
        ],
        [("showChart", {"title": "fifth"}), ("enter_space", {"spaceId": play.a})],
        [("send_message", {"text": "sixth"})],
    )

    assert _charts(play, play.a) == ["first", "sixth"]
    assert _charts(play, play.b) == ["second", "third"]
    assert _charts(play, play.c) == ["fourth", "fifth"]


@requirement("S-04")
def test_the_space_of_a_call_is_bound_when_the_call_opens(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, CHART, dialect="active")
    pieces = interleave(
        call("enter_space", {"spaceId": play.b}, index=0, id="c0"),
        call("showChart", {"title": "opened before the other was whole"}, index=1, id="c1"),
    )
    after = call("showChart", {"title": "opened after"}, index=2, id="c2")
    model.answer(Answer([*pieces, *after]), Answer(text("ok")))

    with play.listening() as heard:
        run_id = play.begins()
        heard[play.a].wait_for("run.completed", runId=run_id)

    assert _charts(play, play.a) == ["opened before the other was whole"]
    assert _charts(play, play.b) == ["opened after"]


@requirement("S-04")
def test_entering_a_space_that_one_is_not_in_changes_nothing(house: Roomful, model: FakeOpenAI) -> None:
    play = scene(house, model, CHART, dialect="active")
    closed = house.space(f"closed-{play.a}", play.ada.id)

    play.runs([("enter_space", {"spaceId": closed}), ("showChart", {"title": "here"})])

    assert _charts(play, play.a) == ["here"]
    assert play.ada.messages(closed) == []
    [entered, _] = [m["content"] for m in model.requests[1].messages if m["role"] == "tool"]
    assert entered == f"Error: there is no space '{closed}' that you are in"


@pytest.mark.parametrize("size", [1, 4, 100])
def test_the_deltas_alone_make_the_whole_arguments(house: Roomful, model: FakeOpenAI, size: int) -> None:
    """Empty ones too, and in their order: a reader has them before the input is complete."""
    anything = {"name": "look", "description": "Look.", "executionType": "basic", "visibility": "full"}
    args = {"first": "a", "none": "", "list": [], "then": "b", "also": ""}
    play = scene(house, model, anything | {"execution": STATIC})
    model.answer(Answer(call("look", {"targetSpaceId": play.b, **args}, size=size)), Answer(text("ok")))
    with play.ada.listen(play.b, args="ops") as ears:
        play.begins()
        ears.wait_for("run.completed")
    grown: dict[str, Any] = {}
    for event in ears.events:
        for kind, path, value in event.data.get("ops", ()) if event.name == "tool-input-delta" else ():
            key = path.removeprefix("/")
            grown[key] = value if kind == "set" else grown.get(key, "") + value
    assert list(grown.items()) == list(args.items())
