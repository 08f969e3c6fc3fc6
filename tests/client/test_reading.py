"""What the server writes, a client reads."""

from typing import Any, get_args

import msgspec
import pytest

from roomful.client.sse import FrameReader
from roomful.domain import errors
from roomful.domain.answers import Snapshot
from roomful.domain.events import (
    AgentActive,
    AgentInactive,
    Announcement,
    CallCompleted,
    CallFailed,
    CallInput,
    CallReady,
    CallStarted,
    MemberJoined,
    MemberLeft,
    MessageChanged,
    PartReset,
    ReadUpTo,
    RunChanged,
    SpaceEvent,
    SubagentCall,
    SubagentEnded,
    SubagentText,
    TextDelta,
    TextEnded,
    TextStarted,
)
from roomful.domain.messages import ApprovalCard, MemberAnswer, Message, ReasoningPart, TextPart, ToolCallPart
from roomful.domain.reading import Draining, Truncated, read_event, read_problem
from roomful.domain.runs import PendingCall, Run, RunError, RunStatus, Trigger
from roomful.domain.shape import UNSET, encode_json
from roomful.domain.spaces import Member
from roomful.domain.trails import Child, ChildCall
from roomful.domain.usage import Usage
from roomful.domain.wire import EVENT_LIMIT, Form, frame, one_frame, problem

WHEN = "2026-01-01T00:00:00Z"
CALL = ChildCall("c9", "look", "complete", args={"q": [1, None]}, result={"a": "ü"})
CHILD = Child("run_2", "bob", "Bob", "completed", "words", [CALL], "stop", Usage(1, 2))
PART = ToolCallPart(
    id="p2",
    tool_call_id="c1",
    tool_name="pay",
    status="waiting",
    run_id="run_1",
    args={"amount": 5},
    result=None,
    custom_ui="Card",
    target_entity_id="ada",
    approval=ApprovalCard("payer", "0" * 64, "room", "ada"),
    answers=[MemberAnswer("ada", {"yes": True}, WHEN)],
    question={"requests": {}},
    answered_by="ada",
    answered_at=WHEN,
    child=CHILD,
    provider_call_id="x",
)
MESSAGE = Message(
    id="msg_1",
    space_id="room",
    entity_id="payer",
    seq=3,
    status="open",
    role="assistant",
    parts=[
        TextPart("p1", "Grüße \u2028 \x1b[31m", tool_call_id="c0"),
        ReasoningPart("p0", "hm", step=1),
        PART,
    ],
    created_at=WHEN,
    updated_at=WHEN,
    run_id="run_1",
    mentions=["ada"],
)
PLACE: dict[str, Any] = {"space_id": "room", "message_id": "msg_1", "part_id": "p1", "run_id": "run_1"}
BEGINS: dict[str, Any] = {**PLACE, "entity_id": "payer", "seq": 3, "created_at": WHEN}
NAMED: dict[str, Any] = {**PLACE, "tool_call_id": "c1", "tool_name": "pay"}
INSIDE: dict[str, Any] = {
    "space_id": "room",
    "message_id": "msg_1",
    "part_id": "p2",
    "tool_call_id": "c1",
    "path": ["c2", "c3"],
}
ADA = Member("ada", "Ada", "human", "owner")
EVENTS: list[SpaceEvent] = [
    MessageChanged("room", MESSAGE, stream_id="c1"),
    MessageChanged("room", msgspec.structs.replace(MESSAGE, parts=[], deleted=True, run_id=UNSET)),
    TextStarted(**BEGINS, tool_call_id="c0", reasoning=True, step=2),
    TextStarted(**BEGINS),
    TextDelta("p1", 'ü "truncated" \n\r\u2028', 7),
    TextEnded(**PLACE, tool_call_id="c0"),
    CallStarted(
        **BEGINS,
        tool_call_id="c1",
        tool_name="pay",
        custom_ui="Card",
        target_entity_id="ada",
        shows_args=False,
        shows_result=False,
    ),
    CallInput("c1", [("append", "/to", "AC"), ("set", "/a~1b", {"deep": [1]})]),
    CallReady(**NAMED, args={"amount": 5}),
    CallReady(**NAMED),
    CallCompleted(**NAMED, args={}, output=None),
    CallCompleted(**NAMED),
    CallFailed(**NAMED, error="failed", args=None),
    SubagentCall(**INSIDE, call=CALL),
    SubagentText(**INSIDE, delta="more", offset=5),
    SubagentEnded(**INSIDE, child=msgspec.structs.replace(CHILD, calls=UNSET)),
    PartReset("room", "p1"),
    *[RunChanged("room", "run_1", "payer", status) for status in get_args(RunStatus)],
    RunChanged(
        "room",
        "run_1",
        "payer",
        "waiting_tool",
        trigger=Trigger("message", "room", "msg_0", "ada"),
        pending_tool_calls=[PendingCall("c1", "pay", {"amount": 5}, ["room"], "approval")],
        waits_for=["approval"],
        asks_people=True,
        error=RunError("limit", "It stopped."),
        root_run_id="run_0",
    ),
    MemberJoined("room", ADA),
    MemberLeft("room", ADA),
    AgentActive("room", "payer", "run_1"),
    AgentInactive("room", "payer", "run_1"),
    ReadUpTo("room", "ada", "msg_1"),
]


def test_the_list_has_every_kind_of_event() -> None:
    assert {type(event) for event in EVENTS} == set(get_args(SpaceEvent))


@pytest.mark.parametrize("form", [Form.OPS, Form.OPS | Form.V1, Form.OPS | Form.MANY], ids=str)
@pytest.mark.parametrize(
    "event", EVENTS, ids=[f"{number}-{event.type}" for number, event in enumerate(EVENTS)]
)
def test_an_event_is_read_as_it_was_written(event: SpaceEvent, form: int) -> None:
    written = frame(Announcement(event=event, space_id="room"), form) + b"\n"
    [read] = FrameReader().feed(written)
    assert read_event(read.name, read.data) == event


def test_what_else_stands_on_a_stream_is_read() -> None:
    run = Run("run_1", "payer", "running", Trigger("message"), "run_1", WHEN)
    snapshot = Snapshot([MESSAGE], [ADA], [run], has_more=True)
    [read] = FrameReader().feed(one_frame("snapshot", encode_json(snapshot), "e.7"))
    assert (read.id, read_event(read.name, read.data)) == ("e.7", snapshot)
    assert read_event("draining", b'{"retryMs":250}') == Draining(250)


@pytest.mark.parametrize("event", [EVENTS[0], CallCompleted(**NAMED)], ids=["message", "call"])
def test_an_event_that_was_too_large_is_known_as_such(event: Any) -> None:
    if isinstance(event, CallCompleted):
        event.output = "x" * EVENT_LIMIT
    else:
        event = MessageChanged(
            "room", msgspec.structs.replace(MESSAGE, parts=[TextPart("p", "x" * EVENT_LIMIT)])
        )
    [read] = FrameReader().feed(frame(Announcement(event=event, space_id="room"), Form.OPS) + b"\n")
    assert read_event(read.name, read.data) == Truncated(True, "/api/spaces/room/messages/msg_1")


@pytest.mark.parametrize("name", ["", "run.paused", "message", "space.renamed"])
def test_an_event_of_a_newer_server_is_nothing(name: str) -> None:
    assert read_event(name, b"not even json") is None


def test_an_event_that_cannot_be_read_says_so() -> None:
    for data in (b"", b"{", b"[]", b'{"partId":1}', b'{"partId":"\xff"}'):
        with pytest.raises(errors.Invalid, match="text-delta"):
            read_event("text-delta", data)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (errors.Invalid, 422),
        (errors.Unauthorized, 401),
        (errors.Forbidden, 403),
        (errors.NotFound, 404),
        (errors.Conflict, 409),
        (errors.TooLarge, 413),
        (errors.RateLimited, 429),
        (errors.Unavailable, 503),
        (errors.RoomfulError, 500),
    ],
)
def test_a_problem_is_the_error_it_tells_of(kind: type[errors.RoomfulError], status: int) -> None:
    written = problem("Title", status, "Do this.", kind.code, outcome={"status": "complete"})
    error = read_problem(status, written, 7.0)
    assert (type(error), error.code, error.detail, error.status) == (kind, kind.code, "Do this.", status)
    if isinstance(error, errors.Conflict):
        assert error.outcome == {"status": "complete"}
    if isinstance(error, errors.RateLimited):
        assert error.retry_after == 7.0
    for body in (b"", b"<html>", b"[1]", b"\xff", b'{"code":"new_one"}'):
        assert type(read_problem(status, body)) is kind


def test_a_bound_that_is_reached_is_told_from_another_conflict() -> None:
    error = read_problem(409, problem("Title", 409, "There are 500 already.", errors.OverBound.code))
    assert (type(error), error.detail, error.status) == (errors.OverBound, "There are 500 already.", 409)
