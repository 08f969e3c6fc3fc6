"""A space, live: a snapshot or what was missed, then everything, to those who may hear it."""

import asyncio
from typing import Any

import msgspec
import pytest

from roomful.bus.channel import LAG_EVENTS
from roomful.domain.changes import RevokeTokens
from roomful.domain.events import (
    CallCompleted,
    CallInput,
    CallStarted,
    MessageChanged,
    TextDelta,
    TextStarted,
)
from roomful.domain.fold import SpaceView
from roomful.domain.messages import Message
from roomful.domain.wire import Form
from roomful.web import readers, sse
from roomful.web.sse import FrameShelf
from tests.web.test_mcp_waiting import change, run_of
from tests.web.visiting import ADMIN_KEY, Stream, Visit, story

STREAM = "/api/spaces/room/stream"


async def furnish(house: Visit) -> tuple[str, str]:
    ada, bob = await house.person("ada"), await house.person("bob")
    await house.space("room", ada="owner", bob="member")
    return ada, bob


async def listen(house: Visit, token: str, path: str = STREAM, **headers: str) -> Stream:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    stream = house.open("GET", path, token=token, headers=given)
    await stream.until(lambda stream: stream.sends or stream.is_over)
    return stream


async def say(house: Visit, token: str, text: str) -> Any:
    answer = await house.ask("POST", "/api/spaces/room/messages", {"text": text}, token=token)
    return answer.json["message"]


def part_events(**more: Any) -> dict[str, Any]:
    return {
        "space_id": "room",
        "message_id": "msg_1",
        "part_id": "prt_1",
        "run_id": "run_1",
        **more,
    }


@story()
async def test_a_joiner_gets_a_snapshot_then_what_happens(house: Visit) -> None:
    ada, _ = await furnish(house)
    said = await say(house, ada, "before")
    stream = await listen(house, ada)
    [snapshot] = stream.events
    later = await say(house, ada, "after")
    heard = await stream.event("smartSpace.message")

    assert stream.start["status"] == 200
    assert (b"content-type", b"text/event-stream") in stream.start["headers"]
    assert snapshot.data["messages"] == [said]
    assert [member["entityId"] for member in snapshot.data["members"]] == ["ada", "bob"]
    assert (snapshot.id, heard.id) == ("ep0ch.0", "ep0ch.1")
    assert stream.sends[1] == (
        b"id: ep0ch.1\nevent: smartSpace.message\ndata: " + stream.sends[1].partition(b"data: ")[2]
    )
    assert stream.sends[1].endswith(b"\n\n")
    assert heard.data == {"spaceId": "room", "message": later}


@pytest.mark.parametrize("way", ["header", "query", "both"])
@story()
async def test_who_comes_back_gets_exactly_what_was_missed(house: Visit, way: str) -> None:
    ada, bob = await furnish(house)
    stream = await listen(house, bob)
    await say(house, ada, "one")
    first = await stream.event("smartSpace.message")
    stream.hang_up()
    await stream.over()
    missed = [await say(house, ada, "two"), await say(house, ada, "three")]
    headers = {} if way == "query" else {"last_event_id": first.id}
    path = STREAM if way == "header" else f"{STREAM}?lastEventId={first.id if way == 'query' else 'ep0ch.0'}"
    again = await listen(house, bob, path, **headers)

    assert [event.data["message"] for event in again.events] == missed
    assert len(again.sends) == 1


@pytest.mark.parametrize("last", ["ep0ch.99", "other.0", "nonsense", "ep0ch.-1", "ep0ch.9999999999999999999"])
@story()
async def test_an_unknown_place_is_a_snapshot(house: Visit, last: str) -> None:
    ada, _ = await furnish(house)
    stream = await listen(house, ada, last_event_id=last)

    assert stream.names() == ["snapshot"]


@story()
async def test_everything_that_came_together_is_one_write(house: Visit) -> None:
    ada, _ = await furnish(house)
    stream = await listen(house, ada)
    for number in range(100):
        house.announce("room", TextDelta(part_id="prt_1", delta="x", offset=number))
    await stream.event("text-delta", 100)

    assert len(stream.sends) == 2


@story()
async def test_the_forms_of_an_event_are_the_reader_s_choice(house: Visit) -> None:
    ada, _ = await furnish(house)
    plain = await listen(house, ada)
    older = await listen(house, ada, f"{STREAM}?args=ops&events=v1")
    house.announce("room", CallInput(tool_call_id="call_1", ops=[("append", "/prompt", "a sun")]))
    done = part_events(tool_call_id="call_1", tool_name="draw", output={"url": "x"})
    house.announce("room", CallCompleted(**done))
    await plain.event("tool-call.complete")
    result = await older.event("tool-call.result")

    assert result.data["output"] == {"url": "x"}
    assert older.events[1].data == {"toolCallId": "call_1", "ops": [["append", "/prompt", "a sun"]]}
    assert (await house.ask("GET", f"{STREAM}?args=ops!", token=ada)).status == 422


@story()
async def test_what_is_for_one_member_reaches_that_one_alone(house: Visit) -> None:
    ada, bob = await furnish(house)
    streams = [await listen(house, token) for token in (ada, bob, ADMIN_KEY)]
    again = await listen(house, bob)
    started = part_events(entity_id="shop", seq=1, created_at="", tool_call_id="call_1", tool_name="pin")
    house.announce("room", CallStarted(**started, target_entity_id="bob"), audience="bob")
    await say(house, ada, "hello")
    for stream in (*streams, again):
        await stream.event("smartSpace.message")

    assert ["tool-call.start" in stream.names() for stream in (*streams, again)] == [False, True, False, True]
    late = await listen(house, ada, last_event_id="ep0ch.0")
    assert late.names() == ["smartSpace.message"]


@story(heartbeat_seconds=0.02)
async def test_silence_is_broken_by_a_comment(house: Visit) -> None:
    ada, _ = await furnish(house)
    stream = await listen(house, ada)
    await stream.until(lambda stream: stream.text.count(": still here\n\n") >= 2)

    assert stream.names() == ["snapshot"]


@story()
async def test_a_client_that_hangs_up_is_forgotten(house: Visit) -> None:
    ada, _ = await furnish(house)
    stream = await listen(house, ada)
    stream.hang_up()
    await stream.over()

    assert not house.app._desk.readers._open  # pyright: ignore[reportPrivateUsage]
    assert not house.app._desk.readers._counts  # pyright: ignore[reportPrivateUsage]


@story()
async def test_a_member_who_is_put_out_hears_that_and_no_more(house: Visit) -> None:
    ada, bob = await furnish(house)
    theirs, hers = await listen(house, bob), await listen(house, ada)
    await house.ask("DELETE", "/api/spaces/room/members/bob", token=ada)
    await theirs.over()
    await say(house, ada, "he is gone")
    await hers.event("smartSpace.message")

    assert theirs.names() == ["snapshot", "member.left"]
    assert hers.names() == ["snapshot", "member.left", "smartSpace.message"]
    assert (await house.ask("GET", STREAM, token=bob)).status == 404


@story()
async def test_who_is_put_out_while_the_stream_opens_gets_nothing(house: Visit) -> None:
    ada, bob = await furnish(house)
    history = house.house.history
    snapshot = history.snapshot

    async def slow(space_id: str, viewer: str | None) -> Any:
        await house.ask("DELETE", "/api/spaces/room/members/bob", token=ada)
        return await snapshot(space_id, viewer)

    history.snapshot = slow
    assert (await house.ask("GET", STREAM, token=bob)).status == 404
    assert not house.app._desk.readers._open  # pyright: ignore[reportPrivateUsage]


@story()
async def test_the_streams_of_a_revoked_token_end_and_no_others(house: Visit) -> None:
    ada, bob = await furnish(house)
    made = (await house.ask("POST", "/api/entities/bob/tokens", token=bob)).json
    one, other, hers = await listen(house, bob), await listen(house, made["token"]), await listen(house, ada)
    await house.ask("DELETE", f"/api/entities/bob/tokens/{made['id']}", token=bob)
    await other.over()
    await say(house, ada, "hello")
    for stream in (one, hers):
        await stream.event("smartSpace.message")

    assert other.is_over
    await house.ask("DELETE", "/api/entities/bob/tokens", token=bob)
    await one.over()


@story()
async def test_a_token_revoked_by_another_process_is_found_by_looking(
    house: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "CHECK_SECONDS", 0.01)
    _, bob = await furnish(house)
    stream = await listen(house, bob)
    await house.house.store.commit([RevokeTokens("bob")])
    await stream.over()


@story()
async def test_a_reader_who_does_not_read_is_cut_and_others_do_not_notice(house: Visit) -> None:
    ada, bob = await furnish(house)
    slow, quick = await listen(house, bob), await listen(house, ada)
    slow.hold.clear()
    for number in range(LAG_EVENTS + 100):
        house.announce("room", TextDelta(part_id="prt_1", delta="x", offset=number))
        await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await slow.aborted.wait()
        await slow.over()
    await quick.event("text-delta", LAG_EVENTS + 100)

    assert not slow.is_over
    assert len(house.app._desk.readers._open) == 1  # pyright: ignore[reportPrivateUsage]


@story()
async def test_a_farewell_that_nobody_reads_is_cut_short(
    house: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "FAREWELL_SECONDS", 0.01)
    ada, _ = await furnish(house)
    stream = await listen(house, ada)
    stream.hold.clear()
    house.app.drain()
    await asyncio.wait_for(stream.aborted.wait(), 5)


@story()
async def test_draining_tells_every_stream_and_lets_no_new_one_begin(house: Visit) -> None:
    ada, bob = await furnish(house)
    streams = [await listen(house, ada), await listen(house, bob), await listen(house, bob, "/api/stream")]
    house.app.drain()
    for stream in streams:
        await stream.over()
        assert stream.events[-1][1:] == ("draining", {"retryMs": 1000})
    refused = await house.ask("GET", STREAM, token=ada)

    assert (refused.status, refused.headers["retry-after"]) == (503, "1")


@story()
async def test_snapshot_and_tail_fold_to_what_a_page_shows(house: Visit) -> None:
    """At every cut: the events since then, folded into the snapshot taken then, are the messages now."""
    ada, _ = await furnish(house)
    streams: list[Stream] = []
    for number in range(5):
        said = await say(house, ada, f"text {number}")
        streams.append(await listen(house, ada))
        await house.ask("PATCH", f"/api/spaces/room/messages/{said['id']}", {"text": "new"}, token=ada)
        if number % 2:
            await house.ask("DELETE", f"/api/spaces/room/messages/{said['id']}", token=ada)
    page = (await house.ask("GET", "/api/spaces/room/messages", token=ada)).json
    for stream in streams:
        await stream.until(lambda stream: stream.events[-1].id == page["position"])
        assert _folded(stream) == page["messages"]


def _folded(stream: Stream) -> Any:
    view = SpaceView()
    snapshot, *rest = stream.events
    view.load(msgspec.convert(snapshot.data["messages"], list[Message]), [], [])
    for event in rest:
        view.apply(MessageChanged("room", msgspec.convert(event.data["message"], Message)))
    return msgspec.to_builtins(view.messages())


@pytest.mark.parametrize("path", [STREAM, "/api/stream"])
@story()
async def test_an_end_that_comes_while_a_reader_begins_anew_is_told(house: Visit, path: str) -> None:
    """Behind the snapshot that has the run no more, and once."""
    ada, _ = await furnish(house)
    run = await run_of(house)
    stream = await listen(house, ada, path)
    bus, follows = house.house.bus, house.house.bus.follows

    async def ends_first(channel: str) -> None:
        bus.follows = follows  # pyright: ignore[reportAttributeAccessIssue]
        run.status = "completed"
        await change(house, run)
        await follows(channel)

    bus.follows = ends_first  # pyright: ignore[reportAttributeAccessIssue]
    bus.renew(["space:room"])
    await stream.event("run.completed")
    later = await say(house, ada, "after")
    heard = await stream.event("smartSpace.message")

    assert heard.data["message"] == later
    assert [event.name for event in stream.events] == [
        "snapshot",
        "snapshot",
        "run.completed",
        "smartSpace.message",
    ]
    assert [len(event.data["runs"]) for event in stream.events[:2]] == [1, 0]


@story()
async def test_readers_side_by_side_send_the_same_bytes(house: Visit) -> None:
    ada, bob = await furnish(house)
    one, other = await listen(house, ada), await listen(house, bob)
    house.announce("room", TextStarted(**part_events(entity_id="shop", seq=1, created_at="")))
    await one.event("text-start")
    await other.event("text-start")

    assert one.sends[1] is other.sends[1]


def test_shared_frames_live_as_long_as_their_readers() -> None:
    shelf = FrameShelf()
    shared = shelf.of("space:room", "e", Form.OPS)
    assert shelf.of("space:room", "e", Form.OPS) is shared
    assert shelf.of("space:room", "e2", Form.OPS) is not shared
    del shared
    assert not shelf._shared  # pyright: ignore[reportPrivateUsage]
