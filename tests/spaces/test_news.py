"""What gateways tell each other arrives as it was said."""

import random
from typing import Any, get_args

import msgspec
import pytest

from roomful.domain.arguments import Arguments, Op, apply_ops, pointer
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
from roomful.domain.fold import SpaceView
from roomful.domain.messages import Message, ReasoningPart, TextPart, ToolCallPart
from roomful.domain.news import Hello, Reached, Told, announcement_of, decode_parcel, encode_parcel, told
from roomful.domain.runs import PendingCall, RunError, Trigger
from roomful.domain.shape import UNSET
from roomful.domain.spaces import Member
from roomful.domain.trails import Child, ChildCall
from roomful.domain.wire import Form, frame
from roomful.spaces.announcer import Announcer

PLACE: dict[str, Any] = {"space_id": "s", "message_id": "m", "part_id": "p"}
CALL: dict[str, Any] = {**PLACE, "run_id": "r", "tool_call_id": "c", "tool_name": "t"}
START: dict[str, Any] = {"run_id": "r", "entity_id": "e", "seq": 7, "created_at": "2026-01-01T00:00:00.000Z"}
ODD = {"null": None, "big": 2**63, "float": 0.1, "text": "a\u2028b 😀", "deep": [[{}]], "": False}
CHILD = Child(run_id="r2", agent_id="a", name="A", status="running", text="so far", calls=[])
MEMBER = Member(entity_id="e", name="E", kind="human", role="owner")
MESSAGE = Message(
    id="m",
    space_id="s",
    entity_id="e",
    seq=7,
    status="open",
    role="assistant",
    parts=[
        TextPart(id="p1", text="one", status="streaming", step=2),
        ReasoningPart(id="p2", text="two", status="complete", step=2),
        ToolCallPart(id="p3", tool_call_id="c", tool_name="t", args=ODD, result=None, status="waiting"),
    ],
    created_at="x",
    updated_at="y",
    run_id="r",
)
EVENTS: list[SpaceEvent] = [
    MessageChanged(space_id="s", message=MESSAGE, stream_id="c"),
    TextStarted(**PLACE, **START, step=1),
    TextDelta(part_id="p", delta="é\n", offset=3),
    TextEnded(**PLACE, run_id="r"),
    CallStarted(**PLACE, **START, tool_call_id="c", tool_name="t", custom_ui="card", shows_args=False),
    CallInput(tool_call_id="c", ops=[("set", "/a", ODD), ("append", "/b~1", "x")]),
    CallReady(**CALL, args=ODD),
    CallCompleted(**CALL, args=ODD, output=None),
    CallFailed(**CALL, error="no"),
    SubagentCall(
        **PLACE,
        tool_call_id="c",
        path=["d"],
        call=ChildCall(tool_call_id="d", tool_name="t", args=ODD, status="running"),
    ),
    SubagentText(**PLACE, tool_call_id="c", path=[], delta="x", offset=1),
    SubagentEnded(**PLACE, tool_call_id="c", path=[], child=msgspec.structs.replace(CHILD, calls=UNSET)),
    PartReset(space_id="s", part_id="p"),
    RunChanged(
        space_id="s",
        run_id="r",
        entity_id="e",
        status="waiting_tool",
        trigger=Trigger(type="message", space_id="s"),
        pending_tool_calls=[PendingCall(tool_call_id="c", tool_name="t", space_ids=["s"])],
        asks_people=True,
        error=RunError(code="limit", message="x"),
    ),
    MemberJoined(space_id="s", member=MEMBER),
    MemberLeft(space_id="s", member=MEMBER),
    AgentActive(space_id="s", entity_id="e", run_id="r"),
    AgentInactive(space_id="s", entity_id="e", run_id="r"),
    ReadUpTo(space_id="s", entity_id="e", message_id="m"),
]


def test_there_is_one_of_every_kind() -> None:
    assert {type(event) for event in EVENTS} == set(get_args(SpaceEvent))


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_announcement_is_heard_as_it_was_made(event: SpaceEvent) -> None:
    said = Announcement(event=event, space_id="s", run_id="r", audience="e", opens=True)
    parcel = decode_parcel(encode_parcel("me", [told(said, 4), Reached(4), Hello(is_new=False)]))

    [news, reached, hello] = parcel.news
    assert (parcel.sender, reached, hello) == ("me", Reached(4), Hello(is_new=False))
    assert isinstance(news, Told)
    assert news.batch == 4
    heard = announcement_of(news)
    assert heard == said
    assert frame(heard, Form.OPS) == frame(said, Form.OPS)


@pytest.mark.parametrize("data", [b"", b"[]", b'["me"]', b'["me",[["unheard of",1]]]', b"\xff", b"[" * 9999])
def test_what_no_gateway_wrote_is_refused(data: bytes) -> None:
    with pytest.raises((msgspec.MsgspecError, UnicodeError, RecursionError)):
        decode_parcel(data)


def test_arguments_followed_by_their_operations_are_the_same_at_every_mark() -> None:
    rng = random.Random(8)
    for _ in range(200):
        ops = _grown(rng)
        cut = rng.randint(0, len(ops))
        args = apply_ops({}, [op for group in ops[:cut] for op in group])
        arguments = Arguments.of(args)
        marks: list[tuple[tuple[int, int], Any]] = []
        for group in ops[cut:]:
            arguments.grow(group)
            args = apply_ops(msgspec.json.decode(msgspec.json.encode(args)), group)
            marks.append((arguments.mark, args))

        assert all(arguments.at(mark) == then for mark, then in marks)


def _grown(rng: random.Random) -> list[list[Op]]:
    """Values one after the other, each set at once or written bit by bit, several at a time or alone."""
    ops: list[Op] = []
    for number in range(rng.randint(1, 4)):
        path = pointer(f"a/{number}")
        if rng.random() < 0.5:
            ops.append(("set", path, rng.choice([1, None, "x", [1]])))
        else:
            if rng.random() < 0.5:
                ops.append(("set", path, ""))
            bits: list[Op] = [("append", path, rng.choice("xyé")) for _ in range(rng.randint(1, 5))]
            ops += bits
    groups: list[list[Op]] = [[]]
    for op in ops:
        groups[-1].append(op)
        if rng.random() < 0.6:
            groups.append([])
    return [group for group in groups if group]


def test_growth_of_what_is_not_known_is_not_passed_on() -> None:
    """Readers would put it in the wrong place; what is whole is passed on all the same."""
    heard: list[Announcement] = []

    class Listening:
        def publish(self, channel: str, announcements: Any) -> None:
            heard.extend(announcements)

    announcer = Announcer(Listening())  # pyright: ignore[reportArgumentType]
    for event in EVENTS:
        announcer.hear(Announcement(event=event, space_id="s"), in_step=False)

    assert {type(event) for event in EVENTS} - {type(one.event) for one in heard} == {
        TextDelta,
        TextEnded,
        CallInput,
        SubagentCall,
        SubagentText,
        SubagentEnded,
    }


@pytest.mark.parametrize("open_only", [True, False])
def test_a_part_that_a_change_does_not_name_goes_on_growing(open_only: bool) -> None:
    view = SpaceView(open_only=open_only)
    card = ToolCallPart(id="p1", tool_call_id="c1", tool_name="t", status="waiting")
    for part_id in ("p1", "p2"):
        view.apply(TextStarted(**PLACE | {"part_id": part_id}, **START))
    view.apply(CallStarted(**PLACE | {"part_id": "p3"}, **START, tool_call_id="c3", tool_name="t"))
    view.apply(TextDelta(part_id="p2", delta="one ", offset=0))
    view.apply(CallInput(tool_call_id="c3", ops=[("append", "/a", "x")]))
    changed = msgspec.structs.replace(MESSAGE, parts=[card])
    view.apply(MessageChanged(space_id="s", message=changed))
    view.apply(TextDelta(part_id="p2", delta="two", offset=4))
    view.apply(CallInput(tool_call_id="c3", ops=[("append", "/a", "y")]))

    [message] = view.messages()
    [first, text, call] = message.parts
    assert first == card
    assert isinstance(text, TextPart)
    assert isinstance(call, ToolCallPart)
    assert (text.text, call.args) == ("one two", {"a": "xy"})


def test_what_is_said_of_a_part_that_does_not_grow_is_not_passed_on() -> None:
    """One who does not know yet that its run was canceled still speaks."""
    heard: list[Announcement] = []

    class Listening:
        def publish(self, channel: str, announcements: Any) -> None:
            heard.extend(announcements)

    announcer = Announcer(Listening())  # pyright: ignore[reportArgumentType]
    final = msgspec.structs.replace(MESSAGE, status="final", parts=[TextPart(id="p", text="on")])
    said: list[SpaceEvent] = [
        TextStarted(**PLACE, **START),
        TextDelta(part_id="p", delta="one", offset=0),
        MessageChanged(space_id="s", message=final),
        TextDelta(part_id="p", delta="late", offset=3),
        TextEnded(**PLACE, run_id="r"),
    ]
    for event in said:
        announcer.hear(Announcement(event=event, space_id="s"), in_step=True)

    assert [one.event for one in heard] == said[:3]
