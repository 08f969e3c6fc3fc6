"""Two gateways on one database and one bus: wherever people are, they see the same."""

import contextlib
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.http.campaign import Campaign, director
from tests.http.casting import check_alike
from tests.http.pairing import WORDS, Room, grown, step_by_step
from tests.http.test_together import CARD
from tests.requirements import requirement
from tests.servers.cluster import Cluster
from tests.servers.fake_openai import Answer, FakeOpenAI, call, text
from tests.servers.roomful import PATIENCE, Event, Listener, fold, read_events
from tests.servers.world import World


@requirement("X-08", "C-14")
def test_a_run_in_three_spaces_is_seen_and_answered_at_both_gateways(cluster: Cluster, world: World) -> None:
    with FakeOpenAI(director) as model:
        play = Campaign(cluster, model, world)
        with play.reading() as readers:
            play.begin(cluster.one)
            play.insist()
            play.approve(cluster.two)
            play.ended()
            play.check(readers)
        assert play.answered == 1
        assert world.effects[f"key-{play.number}"] == 1


WAYS: dict[str, tuple[list[bytes], str]] = {
    "text": (text(WORDS, size=5), "text-delta"),
    "args": (call("card", {"text": WORDS}, size=6), "tool-input-delta"),
}


@requirement("X-08", "X-05")
@pytest.mark.parametrize("args", ["ops", "partial"])
@pytest.mark.parametrize("way", WAYS)
def test_what_grows_at_one_gateway_grows_at_the_other(
    cluster: Cluster, model: FakeOpenAI, way: str, args: str
) -> None:
    pieces, delta = WAYS[way]
    room = Room(cluster, model, CARD)
    model.answer(step_by_step(*pieces), Answer([]))
    with room.bob.listen(room.id, **({"args": "ops"} if args == "ops" else {})) as bob:
        run_id = room.begin()
        model.release(times=3)
        for count in range(1, 5):
            model.release()
            bob.wait(lambda events, least=count: grown(events, delta) >= least)
            check_alike(bob, room.bob, room.id)
        assert "run.completed" not in bob.names()
        told = [event.data for event in bob.events if event.name == "tool-input-delta"]
        assert all(("ops" in data) == (args == "ops") for data in told)
        model.release(times=len(pieces))
        bob.wait_for("run.completed", runId=run_id)
        assert fold(bob.events) == room.alike()


@requirement("X-08", "X-05")
def test_a_late_joiner_at_the_other_gateway_reads_what_was_said_and_goes_on(
    cluster: Cluster, model: FakeOpenAI
) -> None:
    room = Room(cluster, model)
    pieces = text(WORDS, size=5)
    model.answer(step_by_step(*pieces))
    with room.ada.listen(room.id) as ada:
        run_id = room.begin()
        model.release(times=4)
        ada.wait(lambda events: said(fold(events)) == WORDS[:20])
        with room.bob.listen(room.id) as bob:
            snapshot = bob.wait_for("snapshot").data
            assert said(snapshot["messages"]) == WORDS[: len(said(snapshot["messages"]))]
            bob.wait(lambda events: said(fold(events)) == WORDS[:20])
            check_alike(bob, room.bob, room.id)
            assert [run["id"] for run in snapshot["runs"]] == [run_id]
            model.release()
            bob.wait(lambda events: said(fold(events)) == WORDS[:25])
            model.release(times=len(pieces))
            for ears in (ada, bob):
                ears.wait_for("run.completed")
            assert fold(bob.events) == fold(ada.events) == room.alike()
            assert said(fold(bob.events)) == WORDS


def said(messages: list[dict[str, Any]]) -> str:
    """What the agent said so far."""
    return "".join(part["text"] for message in messages[1:] for part in message["parts"])


@requirement("X-08", "X-05")
def test_a_run_s_own_stream_can_be_read_at_the_other_gateway(cluster: Cluster, model: FakeOpenAI) -> None:
    room = Room(cluster, model)
    pieces = text(WORDS, size=5)
    model.answer(step_by_step(*pieces))
    run_id = room.begin()
    path = f"/api/runs/{run_id}/stream"
    with Listener(cluster.two.admin, path) as ears:
        ears.wait_for("snapshot")
        for count in range(1, 4):
            model.release()
            ears.wait(lambda events, least=count: grown(events) >= least)
        model.release(times=len(pieces))
        ears.wait_end()
        assert ears.names()[-1] == "run.completed"
        whole = "".join(event.data["delta"] for event in ears.events if event.name == "text-delta")
        assert WORDS.endswith(whole)
    with Listener(cluster.two.admin, path) as after:
        after.wait_end()
        assert after.names() == ["snapshot"]


@requirement("X-08", "X-05")
def test_a_person_s_stream_at_the_other_gateway_tells_of_all_their_spaces(
    cluster: Cluster, model: FakeOpenAI
) -> None:
    room, next_door = Room(cluster, model), Room(cluster, model)
    model.answer(Answer(text(WORDS)), Answer(text(WORDS)))
    with Listener(room.bob, "/api/stream") as bob:
        bob.wait_for("snapshot")
        here = room.begin()
        bob.wait_for("run.completed", runId=here)
        cluster.admin.post(f"/api/spaces/{next_door.id}/members", {"entityId": room.bob.id}, expect=201)
        bob.wait(lambda events: any(comes_in(event, next_door.id) for event in events))
        there = next_door.begin("welcome")
        bob.wait_for("run.completed", runId=there)
        told = [event.data for event in bob.events if event.name == "smartSpace.message"]
        assert {data["message"]["runId"] for data in told if "runId" in data["message"]} == {here, there}
        assert grown(bob.events) >= 2


def comes_in(event: Event, space_id: str) -> bool:
    """Whether this is how somebody learns that they are in a space now."""
    if event.name == "snapshot":
        return space_id in [space["id"] for space in event.data["spaces"]]
    return event.name == "member.joined" and event.data["spaceId"] == space_id


@requirement("X-08")
def test_what_people_write_and_change_at_one_gateway_is_read_at_the_other(
    cluster: Cluster, model: FakeOpenAI
) -> None:
    room = Room(cluster, model)
    cluster.admin.call("DELETE", f"/api/spaces/{room.id}/members/{room.agent}", expect=204)
    with room.reading() as (ada, bob):
        first = room.ada.say(room.id, "hello", mentions=[])["message"]
        bob.wait(lambda _: "hello" in str(bob.state()), "Ada's message")
        second = room.bob.say(room.id, "hi", mentions=[])["message"]
        ada.wait(lambda _: "'hi'" in str(ada.state()), "Bob's message")
        assert [first["seq"], second["seq"]] == [1, 2]
        room.ada.call("PATCH", f"/api/spaces/{room.id}/messages/{first['id']}", {"text": "hello there"})
        bob.wait(lambda _: "hello there" in str(bob.state()), "the change")
        room.bob.call("DELETE", f"/api/spaces/{room.id}/messages/{second['id']}", expect=204)
        ada.wait(lambda _: "'hi'" not in str(ada.state()), "the deletion")
        room.alike(ada, bob)


@requirement("X-08")
def test_who_posts_at_the_other_gateway_can_watch_what_comes_of_it(
    cluster: Cluster, model: FakeOpenAI
) -> None:
    room = Room(cluster, model)
    model.answer(Answer(text(WORDS)))
    with room.reading() as (ada, bob):
        headers = {"authorization": f"Bearer {room.bob.token}", "accept": "text/event-stream"}
        url = f"{cluster.two.url}/api/spaces/{room.id}/messages"
        with httpx.stream("POST", url, json={"text": "go"}, headers=headers, timeout=PATIENCE) as response:
            names = [event.name for event in read_events(response.iter_lines())]
        assert names[0] == "smartSpace.message"
        assert names[-1] == "run.completed"
        ada.wait_for("run.completed")
        room.alike(ada, bob)


def ways_out(room: Room) -> dict[str, Callable[[], Any]]:
    admin = room.cluster.admin
    return {
        "removed": lambda: admin.call("DELETE", f"/api/spaces/{room.id}/members/{room.bob.id}", expect=204),
        "revoked": lambda: admin.call("DELETE", f"/api/entities/{room.bob.id}/tokens", expect=204),
        "deleted": lambda: admin.call("DELETE", f"/api/spaces/{room.id}", expect=204),
    }


@requirement("X-08", "X-01")
@pytest.mark.parametrize("way", ["removed", "revoked", "deleted"])
def test_a_stream_at_the_other_gateway_ends_with_the_right_to_read_it(
    cluster: Cluster, model: FakeOpenAI, way: str
) -> None:
    room = Room(cluster, model)
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(room.bob.listen(room.id)) for _ in range(3)]
        began = time.monotonic()
        ways_out(room)[way]()
        for stream in streams:
            stream.wait_end()
        print(f"{way}: the streams at the other gateway ended after {time.monotonic() - began:.3f} s")
        if way == "removed":
            room.ada.say(room.id, "a secret", mentions=[])
        assert not any("secret" in str(event.data) for stream in streams for event in stream.events)
    refused = room.bob.request("GET", f"/api/spaces/{room.id}/messages")
    assert refused.status_code == (401 if way == "revoked" else 404)
