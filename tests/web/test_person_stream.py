"""All my spaces in one stream: what I may see, from the moment I may see it until I may not."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from roomful.app.others import Alone
from roomful.domain.changes import AddMessage
from roomful.domain.events import CallInput, CallStarted, RunChanged, TextDelta, TextStarted
from roomful.domain.messages import Message
from roomful.domain.news import Moved, News
from roomful.domain.run_changes import AddRun
from roomful.domain.runs import Run, Trigger
from roomful.web.feeds import people
from tests.web.visiting import ADMIN_KEY, Stream, Visit, story


async def furnish(house: Visit) -> tuple[str, str]:
    ada, bob = await house.person("ada"), await house.person("bob")
    await house.space("one", ada="owner", bob="member")
    await house.space("two", ada="owner", bob="member")
    await house.space("three", ada="owner")
    return ada, bob


async def listen(house: Visit, token: str, last: str | None = None) -> Stream:
    headers = {} if last is None else {"last-event-id": last}
    stream = house.open("GET", "/api/stream?args=ops", token=token, headers=headers)
    await stream.until(lambda stream: stream.sends or stream.is_over)
    return stream


async def say(house: Visit, token: str, space_id: str, text: str) -> Any:
    answer = await house.ask("POST", f"/api/spaces/{space_id}/messages", {"text": text}, token=token)
    assert answer.status == 201
    return answer.json["message"]


@story()
async def test_the_snapshot_holds_all_my_spaces_and_no_other(house: Visit) -> None:
    ada, bob = await furnish(house)
    said = [await say(house, ada, space_id, f"in {space_id}") for space_id in ("one", "two", "three")]
    stream = await listen(house, bob)
    [snapshot] = stream.events
    mine = await house.ask("GET", "/api/spaces", token=bob)

    assert snapshot.data["messages"] == said[:2]
    assert snapshot.data["spaces"] == mine.json["spaces"]
    assert snapshot.data["runs"] == []
    members = [(member["spaceId"], member["entityId"]) for member in snapshot.data["members"]]
    assert members == [("one", "ada"), ("one", "bob"), ("two", "ada"), ("two", "bob")]
    assert (await house.ask("GET", "/api/stream", token=ADMIN_KEY)).status == 403


@story()
async def test_what_happens_in_my_spaces_is_told_with_its_space(house: Visit) -> None:
    ada, bob = await furnish(house)
    stream = await listen(house, bob)
    await say(house, ada, "three", "not for him")
    house.announce("two", TextDelta(part_id="prt_1", delta="x", offset=0))
    said = await say(house, ada, "one", "for him")
    await stream.event("smartSpace.message")

    assert [event[1:] for event in stream.events[1:]] == [
        ("text-delta", {"spaceId": "two", "partId": "prt_1", "delta": "x", "offset": 0}),
        ("smartSpace.message", {"spaceId": "one", "message": said}),
    ]


@story()
async def test_a_space_i_come_into_is_told_from_then_on(house: Visit) -> None:
    ada, bob = await furnish(house)
    stream = await listen(house, bob)
    await say(house, ada, "three", "too early")
    await house.ask("POST", "/api/spaces/three/members", {"entityId": "bob"}, token=ada)
    said = await say(house, ada, "three", "welcome")
    made = await house.ask("POST", "/api/spaces", {"id": "four", "name": "Four"}, token=bob)
    await stream.event("member.joined", 2)

    assert [event.name for event in stream.events[1:]] == [
        "member.joined",
        "smartSpace.message",
        "member.joined",
    ]
    assert stream.events[2].data["message"] == said
    assert stream.events[3].data["spaceId"] == made.json["id"]


@story()
async def test_of_a_space_i_left_i_hear_no_more_even_of_what_i_missed(house: Visit) -> None:
    ada, bob = await furnish(house)
    stream = await listen(house, bob)
    await say(house, ada, "one", "first")
    heard = await stream.event("smartSpace.message")
    stream.hang_up()
    await stream.over()
    await say(house, ada, "one", "missed")
    await house.ask("DELETE", "/api/spaces/one/members/bob", token=ada)
    await say(house, ada, "one", "private")
    said = await say(house, ada, "two", "still here")
    again = await listen(house, bob, heard.id)

    assert again.names() == ["member.left", "smartSpace.message"]
    assert again.events[1].data["message"] == said


class Neighbour(Alone):
    """Another process, whose part the test plays: `say` is what it tells."""

    def listen(self, listener: Callable[[News], None]) -> None:
        self.say = listener


@story(others=Neighbour())
async def test_who_is_back_when_it_is_heard_that_they_left_goes_on_hearing(house: Visit) -> None:
    ada, bob = await furnish(house)
    stream = await listen(house, bob)
    cast(Neighbour, house.house.others).say(Moved("bob", "one", False))
    again = await stream.event("snapshot", 2)
    said = await say(house, ada, "one", "you are back")

    assert {member["spaceId"] for member in again.data["members"]} == {"one", "two"}
    assert (await stream.event("smartSpace.message")).data["message"] == said


@story()
async def test_what_is_on_its_way_when_i_leave_is_not_delivered(house: Visit) -> None:
    ada, bob = await furnish(house)
    stream = await listen(house, bob)
    stream.hold.clear()
    await say(house, ada, "two", "being written")
    await asyncio.sleep(0)
    await say(house, ada, "one", "too late")
    await house.ask("DELETE", "/api/spaces/one/members/bob", token=ada)
    stream.hold.set()
    await stream.event("member.left")

    assert "too late" not in stream.text


@story()
async def test_who_comes_back_soon_gets_what_was_missed(house: Visit) -> None:
    ada, bob = await furnish(house)
    stream = await listen(house, bob)
    await say(house, ada, "one", "first")
    heard = await stream.event("smartSpace.message")
    stream.hang_up()
    await stream.over()
    missed = [await say(house, ada, space_id, "missed") for space_id in ("one", "two")]
    again = await listen(house, bob, heard.id)

    assert [event.data["message"] for event in again.events] == missed


@story()
async def test_who_comes_back_late_gets_a_snapshot(house: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "GRACE_SECONDS", 0.0)
    ada, bob = await furnish(house)
    stream = await listen(house, bob)
    stream.hang_up()
    await stream.over()
    await asyncio.sleep(0.01)
    said = await say(house, ada, "one", "while away")
    again = await listen(house, bob, stream.events[0].id)

    assert again.names() == ["snapshot"]
    assert again.events[0].data["messages"] == [said]


@story()
async def test_two_streams_of_one_person_end_one_by_one(house: Visit) -> None:
    ada, bob = await furnish(house)
    one, other = await listen(house, bob), await listen(house, bob)
    one.hang_up()
    await one.over()
    await say(house, ada, "one", "hello")
    await other.event("smartSpace.message")


def started(space_id: str) -> dict[str, Any]:
    return {
        "space_id": space_id,
        "message_id": f"msg_{space_id}",
        "part_id": f"prt_{space_id}",
        "run_id": "run_1",
        "entity_id": "shop",
        "seq": 1,
        "created_at": "",
    }


@story()
async def test_the_snapshot_is_of_one_moment_although_the_spaces_are_read_one_by_one(house: Visit) -> None:
    """While the second space is read the first goes on: nothing of it is lost, and nothing comes twice."""
    ada, bob = await furnish(house)
    await say(house, ada, "one", "question")
    run = Run(
        id="run_1",
        agent_id="shop",
        status="running",
        trigger=Trigger(type="message", space_id="one"),
        root_run_id="run_1",
        created_at="",
        shown_in=["one"],
    )
    grows = Message(
        id="msg_one",
        space_id="one",
        entity_id="shop",
        run_id="run_1",
        seq=2,
        status="open",
        role="assistant",
        parts=[],
        created_at="",
        updated_at="",
    )
    await house.house.store.commit([AddRun(run), AddMessage(grows)])
    house.announce("one", CallStarted(**started("one"), tool_call_id="call_1", tool_name="draw"))
    house.announce("one", CallInput(tool_call_id="call_1", ops=[("append", "/prompt", "a ")]))
    snapshot = house.house.history.snapshot
    told: list[str] = []

    async def busy(space_id: str, viewer: str | None) -> Any:
        taken = await snapshot(space_id, viewer)
        if space_id not in told:
            told.append(space_id)
            house.announce(
                "one", CallInput(tool_call_id="call_1", ops=[("append", "/prompt", f"{space_id} ")])
            )
            house.announce("two", TextStarted(**started("two")))
            house.announce(
                "one", RunChanged(space_id="one", run_id="run_1", entity_id="shop", status="waiting_tool")
            )
        return taken

    house.house.history.snapshot = busy
    stream = await listen(house, bob)
    house.announce("one", CallInput(tool_call_id="call_1", ops=[("append", "/prompt", "sun")]))
    await stream.event("tool-input-delta")
    snapshot_event, *rest = stream.events
    messages = {message["id"]: message for message in snapshot_event.data["messages"]}

    assert messages["msg_one"]["parts"][0]["args"] == {"prompt": "a one two "}
    assert "msg_two" in messages
    assert [run["status"] for run in snapshot_event.data["runs"]] == ["waiting_tool"]
    assert snapshot_event.data["runs"][0]["spaceId"] == "one"
    assert [event.data for event in rest] == [
        {"spaceId": "one", "toolCallId": "call_1", "ops": [["append", "/prompt", "sun"]]}
    ]


@story()
async def test_a_run_that_begins_while_the_spaces_are_read_is_read_again(house: Visit) -> None:
    _, bob = await furnish(house)
    snapshot = house.house.history.snapshot
    run = Run(
        id="run_1",
        agent_id="shop",
        status="running",
        trigger=Trigger(type="message", space_id="one"),
        root_run_id="run_1",
        created_at="",
        shown_in=["one"],
    )
    begun: list[str] = []

    async def busy(space_id: str, viewer: str | None) -> Any:
        taken = await snapshot(space_id, viewer)
        if not begun:
            begun.append(run.id)
            event = RunChanged(space_id="one", run_id="run_1", entity_id="shop", status="running")
            await house.house.store.commit([AddRun(run)], lambda _: house.announce("one", event))
        return taken

    house.house.history.snapshot = busy
    stream = await listen(house, bob)

    assert [run["id"] for run in stream.events[0].data["runs"]] == ["run_1"]


@story()
async def test_a_space_left_while_the_spaces_are_read_is_not_in_the_snapshot(house: Visit) -> None:
    ada, bob = await furnish(house)
    await say(house, ada, "one", "private")
    snapshot = house.house.history.snapshot
    left: list[str] = []

    async def busy(space_id: str, viewer: str | None) -> Any:
        taken = await snapshot(space_id, viewer)
        if not left:
            left.append(space_id)
            await house.ask("DELETE", "/api/spaces/one/members/bob", token=ada)
        return taken

    house.house.history.snapshot = busy
    stream = await listen(house, bob)

    assert "private" not in stream.text
    assert [space["id"] for space in stream.events[0].data["spaces"]] == ["two"]


@story()
async def test_what_was_said_while_i_was_out_is_not_told_when_i_am_back(house: Visit) -> None:
    ada, bob = await furnish(house)
    stream = await listen(house, bob)
    stream.hang_up()
    await stream.over()
    await house.ask("DELETE", "/api/spaces/one/members/bob", token=ada)
    await say(house, ada, "one", "private")
    await house.ask("POST", "/api/spaces/one/members", {"entityId": "bob"}, token=ada)
    again = await listen(house, bob, stream.events[0].id)

    assert again.names() == ["member.left", "member.joined"]


@story()
async def test_a_space_left_while_the_list_of_spaces_is_read_is_not_followed(house: Visit) -> None:
    ada, bob = await furnish(house)
    my_spaces = house.house.store.my_spaces
    left: list[str] = []

    async def slow(entity_id: str) -> Any:
        mine = await my_spaces(entity_id)
        if entity_id == "bob" and not left:
            left.append("one")
            await house.ask("DELETE", "/api/spaces/one/members/bob", token=ada)
        return mine

    house.house.store.my_spaces = slow
    stream = await listen(house, bob)
    await say(house, ada, "one", "private")
    await say(house, ada, "two", "hello")
    await stream.event("smartSpace.message")

    assert "private" not in stream.text
