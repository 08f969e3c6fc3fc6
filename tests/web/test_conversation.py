"""A space as a conversation: envelopes in, four kinds of events out."""

from typing import Any

import pytest

from roomful.domain.changes import AddMessage, RemoveMember
from roomful.domain.events import (
    CallCompleted,
    CallFailed,
    CallReady,
    CallStarted,
    MemberLeft,
    MessageChanged,
    TextDelta,
    TextEnded,
    TextStarted,
)
from roomful.domain.messages import Message, TextPart
from roomful.domain.spaces import Member
from roomful.domain.stream_events import LARGEST
from tests.requirements import requirement
from tests.web.visiting import ADMIN_KEY, Answer, Stream, Visit, story

NOON = "2026-01-02T12:00:00.000Z"


async def furnish(house: Visit) -> tuple[str, str]:
    ada, bob = await house.person("ada"), await house.person("bob")
    await house.person("scout", kind="agent")
    await house.space("room", ada="owner", bob="reader", scout="member")
    return ada, bob


def envelope(**changes: Any) -> dict[str, Any]:
    fields = {"id": "e1", "conversation_id": "room", "sender": "user:ada", "recipient": "chat:room"}
    return {**fields, "content": "hello", **changes}


async def send(house: Visit, token: str, **changes: Any) -> Answer:
    return await house.ask("POST", "/send", envelope(**changes), token=token)


async def listen(house: Visit, token: str, **headers: str) -> Stream:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    stream = house.open("GET", "/stream/room", token=token, headers=given)
    await stream.until(lambda stream: stream.sends or stream.is_over)
    return stream


async def messages(house: Visit, token: str) -> list[Any]:
    return (await house.ask("GET", "/api/spaces/room/messages", token=token)).json["messages"]


def told(stream: Stream) -> list[dict[str, Any]]:
    """The frames but for the first, which only says where the stream begins."""
    return [event.data for event in stream.heard()]


def about(**more: Any) -> dict[str, Any]:
    return {"space_id": "room", "message_id": "msg_1", "part_id": "prt_1", "run_id": "run_1", **more}


def final(**more: Any) -> MessageChanged:
    fields: dict[str, Any] = {
        "id": "msg_1",
        "space_id": "room",
        "entity_id": "shop",
        "seq": 1,
        "status": "final",
        "role": "assistant",
        "parts": [TextPart(id="prt_1", text="Hi there")],
        "created_at": NOON,
        "updated_at": NOON,
        "run_id": "run_1",
    }
    return MessageChanged(space_id="room", message=Message(**fields | more))


@requirement("B-10")
@story()
async def test_an_envelope_is_a_message_once_however_often_it_is_sent(house: Visit) -> None:
    ada, _ = await furnish(house)
    first = await send(house, ada)
    again = await send(house, ada, created_at="2026-01-01T00:00:00Z")
    other = await send(house, ada, content="something else")
    [message] = await messages(house, ada)

    assert (first.status, first.json) == (
        200,
        {"status": "ok", "topic": "chat:room", "envelope_id": "e1", "message_id": message["id"]},
    )
    assert (again.status, again.json) == (200, first.json)
    assert again.headers["idempotent-replay"] == "true"
    assert (other.status, other.json["code"]) == (409, "conflict")
    assert (message["entityId"], message["parts"][0]["text"]) == ("ada", "hello")
    assert message["clientMessageId"] == "e1"


@pytest.mark.parametrize(
    ("who", "changes", "status"),
    [
        ("ada", {"sender": "user:bob"}, 403),
        ("ada", {"sender": "agent:ada"}, 403),
        ("scout", {"sender": "user:scout"}, 403),
        ("bob", {"sender": "user:bob"}, 403),
        ("eve", {"sender": "user:eve"}, 404),
        ("ada", {"conversation_id": "nowhere", "recipient": "chat:nowhere"}, 404),
        ("ada", {"type": "control"}, 422),
        ("ada", {"content": "  "}, 422),
        ("ada", {"content": None}, 422),
        ("ada", {"id": ""}, 422),
        ("ada", {"id": "é"}, 422),
        ("ada", {"recipient": "room:1"}, 422),
        ("ada", {"recipient": "chat:elsewhere"}, 422),
        ("ada", {"colour": "red"}, 422),
        ("ada", {"created_at": "2026-01-01T00:00:00"}, 422),
        ("scout", {"sender": "agent:scout"}, 200),
    ],
)
@story()
async def test_whose_envelope_it_is_and_where_it_goes_is_checked(
    house: Visit, who: str, changes: dict[str, Any], status: int
) -> None:
    await furnish(house)
    await house.person("eve")
    answer = await send(house, f"token-of-{who}", **changes)

    assert answer.status == status
    assert len(await messages(house, "token-of-ada")) == (1 if status == 200 else 0)


@story()
async def test_the_admin_key_sends_only_for_somebody(house: Visit) -> None:
    await furnish(house)
    assert (await send(house, ADMIN_KEY)).status == 403
    body, headers = envelope(), {"x-roomful-as": "ada"}
    assert (await house.ask("POST", "/send", body, token=ADMIN_KEY, headers=headers)).status == 200


@pytest.mark.parametrize("recipient", ["agent:scout", "agent:Scout", "chat:scout", "user:scout"])
@story()
async def test_a_recipient_who_is_a_member_is_mentioned(house: Visit, recipient: str) -> None:
    ada, _ = await furnish(house)
    await send(house, ada, recipient=recipient)
    await send(house, ada, id="e2", recipient="agent:nobody")
    await send(house, ada, id="e3", recipient="user:ada")

    assert [message["mentions"] for message in await messages(house, ada)] == [["scout"], [], []]


@requirement("B-10")
@story()
async def test_what_happens_is_told_in_four_words(house: Visit) -> None:
    ada, bob = await furnish(house)
    stream = await listen(house, bob)
    await send(house, ada)
    await send(house, "token-of-scout", id="e2", sender="agent:scout", content="I am here")
    house.announce("room", TextStarted(**about(entity_id="shop", seq=1, created_at=NOON)))
    house.announce("room", TextDelta(part_id="prt_1", delta="Hi ", offset=0))
    house.announce("room", TextDelta(part_id="prt_1", delta="there", offset=3))
    house.announce("room", TextEnded(**about()))
    call = about(tool_call_id="call_1", tool_name="find")
    house.announce("room", CallReady(**call, args={"q": "sun"}))
    house.announce("room", CallCompleted(**call, args={"q": "sun"}, output={"found": 2}))
    house.announce("room", CallReady(**call))
    house.announce("room", CallFailed(**call, error="no such thing"))
    house.announce("room", final())
    house.announce("room", final(woke=[]))
    await send(house, ada, id="e3", content="bye")
    await stream.until(lambda stream: len(stream.heard()) == 10)

    [one, two, _] = await messages(house, ada)
    conversation, shop = {"conversation_id": "room"}, {"message_id": "msg_1", "sender": "agent:shop"}
    step = {"event": "tool_step", **conversation, **shop, "tool_call_id": "call_1", "name": "find"}
    said = {"event": "user_message", **conversation}
    assert told(stream)[:-1] == [
        said
        | {"message_id": one["id"], "sender": "user:ada", "text": "hello", "created_at": one["createdAt"]},
        said
        | {"message_id": two["id"], "sender": "agent:scout"}
        | {"text": "I am here", "created_at": two["createdAt"]},
        {"event": "token", **conversation, **shop, "text": "Hi ", "index": 0},
        {"event": "token", **conversation, **shop, "text": "there", "index": 3},
        {**step, "args": {"q": "sun"}},
        {**step, "args": {"q": "sun"}, "result_summary": '{"found":2}'},
        {**step, "args": {}},
        {**step, "args": {}, "result_summary": "error: no such thing"},
        {"event": "output", **conversation, **shop, "text": "Hi there", "created_at": NOON},
    ]
    assert [event.name for event in stream.heard()] == [event["event"] for event in told(stream)]


@story()
async def test_what_is_private_hidden_or_changed_is_not_told(house: Visit) -> None:
    ada, bob = await furnish(house)
    said = (await send(house, ada)).json["message_id"]
    stream = await listen(house, bob)
    started = about(entity_id="shop", seq=1, created_at=NOON)
    call: dict[str, Any] = {"tool_call_id": "call_1", "tool_name": "pin"}
    house.announce("room", CallStarted(**started, **call, target_entity_id="bob"), audience="bob")
    house.announce("room", CallReady(**about(**call), args={"secret": 1}), audience="bob")
    house.announce("room", TextStarted(**started, reasoning=True))
    house.announce("room", TextDelta(part_id="prt_1", delta="hm", offset=0))
    path = f"/api/spaces/room/messages/{said}"
    assert (await house.ask("PATCH", path, {"text": "changed"}, token=ada)).status == 200
    assert (await house.ask("DELETE", path, token=ada)).status == 204
    await send(house, ada, id="e2", content="last")
    await stream.until(lambda stream: stream.heard())

    assert [event["text"] for event in told(stream)] == ["last"]


@story()
async def test_who_comes_back_goes_on_where_they_were_also_inside_a_text(house: Visit) -> None:
    _, bob = await furnish(house)
    stream = await listen(house, bob)
    opened = final(status="open", parts=[])
    await house.house.store.commit([AddMessage(opened.message)])
    house.announce("room", opened, opens=True)
    house.announce("room", TextStarted(**about(entity_id="shop", seq=1, created_at=NOON)))
    house.announce("room", TextDelta(part_id="prt_1", delta="Hi ", offset=0))
    await stream.until(lambda stream: stream.heard())
    stream.hang_up()
    await stream.over()
    house.announce("room", TextDelta(part_id="prt_1", delta="there", offset=3))
    again = await listen(house, bob, last_event_id=stream.heard()[-1].id)
    first = again.text.splitlines()[0]

    assert [(event["text"], event["index"]) for event in told(again)] == [("there", 3)]
    assert first == f"id: {stream.heard()[-1].id}"


@pytest.mark.parametrize("last", ["ep0ch.99", "other.0", "nonsense", "1700000000000-0"])
@story()
async def test_a_cursor_that_is_not_known_is_refused(house: Visit, last: str) -> None:
    ada, _ = await furnish(house)
    answer = await house.ask("GET", "/stream/room", token=ada, headers={"last-event-id": last})

    assert (answer.status, answer.json["code"]) == (409, "conflict")
    assert "does not go back there" in answer.json["detail"]
    assert (await house.ask("GET", f"/stream/room?lastEventId={last}", token=ada)).status == 409


@story()
async def test_only_members_follow_and_one_who_is_put_out_hears_no_more(house: Visit) -> None:
    _, bob = await furnish(house)
    eve = await house.person("eve")
    refused = await house.ask("GET", "/stream/room", token=eve)
    unknown = await house.ask("GET", "/stream/nowhere", token=eve)
    stream = await listen(house, bob)
    member = Member(entity_id="bob", name="Bob", kind="human", role="reader")
    await house.house.store.commit([RemoveMember("room", "bob")])
    house.announce("room", MemberLeft(space_id="room", member=member))
    await stream.over()

    assert (refused.status, unknown.status) == (404, 404)
    assert refused.body == unknown.body.replace(b"nowhere", b"room")
    assert (await house.ask("GET", "/stream/room", token=bob)).status == 404


@story()
async def test_an_event_that_is_too_large_says_where_to_read(house: Visit) -> None:
    ada, _ = await furnish(house)
    stream = await listen(house, ada)
    house.announce("room", final(parts=[TextPart(id="prt_1", text="x" * LARGEST)]))
    await stream.until(lambda stream: stream.heard())

    assert told(stream) == [
        {"event": "output", "conversation_id": "room", "message_id": "msg_1", "truncated": True}
    ]
