"""A run's own stream, and the stream of a message and what came of it."""

import asyncio
from typing import Any

import msgspec
import pytest

from roomful.domain.agents import Agent
from roomful.domain.changes import AddEntity, AddMessage, PutAgent, PutMember, SaveMessage
from roomful.domain.entities import Entity
from roomful.domain.events import (
    Announcement,
    CallReady,
    MessageChanged,
    RunChanged,
    TextDelta,
    TextEnded,
    TextStarted,
)
from roomful.domain.messages import Message, TextPart
from roomful.domain.run_changes import SaveRun
from roomful.domain.runs import RunStatus
from roomful.domain.shape import UNSET
from tests.web.visiting import ADMIN_KEY, Stream, Visit, story

MESSAGES = "/api/spaces/room/messages"
WATCH = {"accept": "text/event-stream"}


async def furnish(house: Visit) -> tuple[str, str]:
    """A room with ada, bob and the agent shop, which ada owns."""
    ada, bob = await house.person("ada"), await house.person("bob")
    await house.space("room", ada="owner", bob="member")
    now = house.house.clock.iso()
    agent = Agent(id="shop", name="Shop", owner_id="ada", config={}, created_at=now, updated_at=now)
    entity = Entity(id="shop", name="Shop", kind="agent", created_at=now)
    await house.house.store.commit([AddEntity(entity), PutAgent(agent), PutMember("room", "shop", "member")])
    return ada, bob


async def begin(house: Visit, token: str) -> str:
    posted = await house.ask("POST", MESSAGES, {"text": "laptops?"}, token=token)
    [run] = posted.json["runs"]
    return run["runId"]


def told(house: Visit, run_id: str, *events: Any, space_id: str = "room") -> None:
    house.house.announcer([Announcement(event=event, space_id=space_id, run_id=run_id) for event in events])


def changed(run_id: str, status: RunStatus, space_id: str = "room") -> RunChanged:
    return RunChanged(space_id=space_id, run_id=run_id, entity_id="shop", status=status)


async def end(house: Visit, run_id: str, status: RunStatus = "completed") -> None:
    run = await house.house.store.run(run_id)
    assert run is not None
    await house.house.store.commit(
        [SaveRun(msgspec.structs.replace(run, status=status))],
        lambda _: told(house, run_id, changed(run_id, status)),
    )


def text_of(run_id: str, text: str) -> list[Any]:
    part: dict[str, Any] = {"space_id": "room", "message_id": "msg_a", "part_id": "prt_a", "run_id": run_id}
    return [
        TextStarted(**part, entity_id="shop", seq=2, created_at=""),
        TextDelta(part_id="prt_a", delta=text, offset=0),
        TextEnded(**part),
    ]


async def opened(house: Visit, path: str, token: str, **more: Any) -> Stream:
    stream = house.open("GET", path, token=token, **more)
    await stream.until(lambda stream: stream.sends or stream.is_over)
    return stream


@story()
async def test_a_run_is_told_whole_to_its_owner_until_it_ends(house: Visit) -> None:
    ada, bob = await furnish(house)
    run_id = await begin(house, bob)
    path = f"/api/runs/{run_id}/stream"
    streams = [await opened(house, path, token) for token in (ada, ADMIN_KEY)]
    told(house, run_id, *text_of(run_id, "Here"))
    hidden = CallReady(
        space_id="",
        message_id="",
        part_id="",
        run_id=run_id,
        tool_call_id="call_1",
        tool_name="think",
        args={"note": ""},
    )
    told(house, run_id, hidden, space_id="")
    await end(house, run_id)
    for stream in streams:
        await stream.over()
        snapshot, *rest = stream.events
        assert snapshot.data["run"]["id"] == run_id
        assert (snapshot.data["calls"], snapshot.data["messages"]) == ([], [])
        names = ["text-start", "text-delta", "text-end", "tool-call", "run.completed"]
        assert [event.name for event in rest] == names
        assert rest[1].data["spaceId"] == "room"
        assert rest[3].data == {
            "runId": run_id,
            "toolCallId": "call_1",
            "toolName": "think",
            "args": {"note": ""},
        }
    assert (await house.ask("GET", path, token=bob)).status == 404
    after = await house.ask("GET", path, token=ada)
    assert after.body.count(b"event: ") == 1
    assert b"event: snapshot" in after.body


@story()
async def test_a_run_s_stream_is_resumed(house: Visit) -> None:
    ada, bob = await furnish(house)
    run_id = await begin(house, bob)
    path = f"/api/runs/{run_id}/stream"
    first = await opened(house, path, ada)
    told(house, run_id, *text_of(run_id, "Here"))
    place = (await first.event("text-start")).id
    first.hang_up()
    await first.over()
    await end(house, run_id)
    again = house.open("GET", path, token=ada, headers={"last-event-id": place})
    await again.over()

    assert again.names() == ["text-delta", "text-end", "run.completed"]


@story()
async def test_a_run_s_snapshot_has_what_it_said(house: Visit) -> None:
    ada, bob = await furnish(house)
    run_id = await begin(house, bob)
    told(house, run_id, *text_of(run_id, "Here")[:2])
    stream = await opened(house, f"/api/runs/{run_id}/stream", ada)

    [message] = stream.events[0].data["messages"]
    assert message["parts"][0]["text"] == "Here"


@story()
async def test_a_post_can_be_watched_until_its_runs_rest(house: Visit) -> None:
    ada, bob = await furnish(house)
    stream = house.open("POST", MESSAGES, {"text": "laptops?"}, token=bob, headers=WATCH)
    run_id = (await stream.event("run.started")).data["runId"]
    told(house, "run_other", changed("run_other", "running"))
    await house.ask("POST", MESSAGES, {"text": "@bob aside"}, token=ada)
    told(house, run_id, *text_of(run_id, "Here"))
    await end(house, run_id)
    await stream.over()

    assert stream.start["status"] == 200
    assert [name for name in stream.names() if name != "agent.active"] == [
        "smartSpace.message",
        "run.started",
        "text-start",
        "text-delta",
        "text-end",
        "run.completed",
    ]
    assert stream.events[0].data["message"]["parts"][0]["text"] == "laptops?"
    assert {event.data.get("runId", run_id) for event in stream.events} == {run_id}


@pytest.mark.parametrize("status", ["waiting_tool", "waiting_reply", "failed", "canceled"])
@story()
async def test_a_watch_ends_when_the_run_waits_or_ends(house: Visit, status: RunStatus) -> None:
    _, bob = await furnish(house)
    stream = house.open("POST", MESSAGES, {"text": "laptops?"}, token=bob, headers=WATCH)
    run_id = (await stream.event("run.started")).data["runId"]
    await end(house, run_id, status)
    await stream.over()

    assert stream.names()[-1] == f"run.{status}"


@story()
async def test_a_watched_message_that_wakes_nobody_is_told_and_that_is_all(house: Visit) -> None:
    ada = await house.person("ada")
    await house.space("quiet", ada="owner")
    path = "/api/spaces/quiet/messages"
    answer = await house.ask("POST", path, {"text": "hello?"}, token=ada, headers=WATCH)

    assert answer.status == 200
    assert answer.body.count(b"event: ") == 1
    assert b"event: smartSpace.message" in answer.body


@story()
async def test_what_cannot_be_posted_is_a_problem_and_no_stream(house: Visit) -> None:
    ada, _ = await furnish(house)
    eve = await house.person("eve")
    for token, body, status in [
        (eve, {"text": "x"}, 404),
        (ada, {"text": " "}, 422),
        (ADMIN_KEY, {"text": "x"}, 403),
    ]:
        answer = await house.ask("POST", MESSAGES, body, token=token, headers=WATCH)
        assert answer.status == status
        assert answer.headers["content-type"] == "application/problem+json"
    assert not house.app._desk.readers._open  # pyright: ignore[reportPrivateUsage]


@story()
async def test_who_stops_watching_stops_nothing(house: Visit) -> None:
    _, bob = await furnish(house)
    stream = house.open("POST", MESSAGES, {"text": "laptops?"}, token=bob, headers=WATCH)
    run_id = (await stream.event("run.started")).data["runId"]
    stream.hang_up()
    await stream.over()
    run = await house.house.store.run(run_id)

    assert run is not None
    assert run.status == "queued"


async def speak(house: Visit, run_id: str, text: str, *, final: bool) -> None:
    """The run's message, stored and told."""
    now = house.house.clock.iso()
    message = Message(
        id="msg_a",
        space_id="room",
        entity_id="shop",
        run_id=run_id,
        seq=2,
        status="final" if final else "open",
        role="assistant",
        parts=[TextPart(id="prt_a", text=text, status="complete" if final else "streaming")],
        created_at=now,
        updated_at=now,
    )
    known = await house.house.store.message("room", "msg_a")
    change = AddMessage(message) if known is None else SaveMessage(message)
    event = MessageChanged("room", message, UNSET)
    await house.house.store.commit([change], lambda _: told(house, run_id, event))


@pytest.mark.parametrize("body", [{"text": "laptops?", "clientMessageId": "c1"}])
@story()
async def test_a_replayed_watch_shows_the_same_from_what_is_stored(house: Visit, body: Any) -> None:
    ada, bob = await furnish(house)
    first = house.open("POST", MESSAGES, body, token=bob, headers=WATCH)
    run_id = (await first.event("run.started")).data["runId"]
    await speak(house, run_id, "Here", final=True)
    await house.ask("POST", MESSAGES, {"text": "@bob aside"}, token=ada)
    await end(house, run_id)
    await first.over()
    again = await house.ask("POST", MESSAGES, body, token=bob, headers=WATCH)
    text = again.body.decode()

    assert again.status == 200
    assert text.count("event: smartSpace.message") == 2
    assert text.index("laptops?") < text.index("Here") < text.index("event: run.completed")
    assert "aside" not in text
    assert len((await house.ask("GET", MESSAGES, token=bob)).json["messages"]) == 3


@story()
async def test_a_replayed_watch_of_a_run_that_goes_on_goes_on(house: Visit) -> None:
    _, bob = await furnish(house)
    body = {"text": "laptops?", "clientMessageId": "c1"}
    first = house.open("POST", MESSAGES, body, token=bob, headers=WATCH)
    run_id = (await first.event("run.started")).data["runId"]
    await speak(house, run_id, "He", final=False)
    again = house.open("POST", MESSAGES, body, token=bob, headers=WATCH)
    await again.event("smartSpace.message", 2)
    told(house, run_id, TextDelta(part_id="prt_a", delta="re", offset=2))
    await end(house, run_id)
    for stream in (first, again):
        await asyncio.wait_for(stream.over(), 5)

    assert again.names()[-2:] == ["text-delta", "run.completed"]
