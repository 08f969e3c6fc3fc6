"""What a gateway was not told: whoever reads there is neither left behind nor told what is not for them."""

import contextlib
import os
import signal

import pytest
import redis as redis_client

from tests.http.pairing import WORDS, Room, step_by_step
from tests.http.test_bus_lost import killed
from tests.http.test_gateways import comes_in, said
from tests.requirements import requirement
from tests.servers.cluster import Cluster, eventually
from tests.servers.fake_openai import FakeOpenAI, text
from tests.servers.redis import RedisServer
from tests.servers.roomful import Event, Listener

without = contextlib.contextmanager(killed)


def put_out(room: Room) -> None:
    room.cluster.admin.call("DELETE", f"/api/spaces/{room.id}/members/{room.bob.id}", expect=204)


def spoken(events: list[Event]) -> bool:
    """Whether the first piece is known, told as it came or in a snapshot."""
    return any(WORDS[:5] in str(event.data) for event in events)


@requirement("S-03", "X-01")
def test_who_is_put_out_while_the_bus_is_away_hears_nothing_more_when_it_is_back(
    cluster: Cluster, redis: RedisServer, model: FakeOpenAI
) -> None:
    """Of all their spaces at once, too; and they hear of those they came into."""
    secret, kept, new = (Room(cluster, model) for _ in range(3))
    for room in (kept, new, secret):
        cluster.admin.call("DELETE", f"/api/spaces/{room.id}/members/{room.agent}", expect=204)
    cluster.admin.post(f"/api/spaces/{kept.id}/members", {"entityId": secret.bob.id}, expect=201)
    with Listener(secret.bob, "/api/stream") as bob, secret.bob.listen(secret.id) as ears:
        bob.wait_for("snapshot")
        with without(redis):
            put_out(secret)
            ears.wait_end()
            cluster.admin.post(f"/api/spaces/{new.id}/members", {"entityId": secret.bob.id}, expect=201)
            bob.wait(lambda events: any(comes_in(event, new.id) for event in events))
        secret.ada.say(secret.id, "a secret")
        for room in (kept, new):
            room.ada.say(room.id, f"for {room.id}")
            bob.wait(lambda events, room=room: any(f"for {room.id}" in str(one.data) for one in events))
        assert not any("a secret" in str(event.data) for event in bob.events)


@requirement("S-03", "X-05")
def test_a_run_s_own_stream_ends_with_the_run_while_the_bus_is_away(
    cluster: Cluster, redis: RedisServer, model: FakeOpenAI
) -> None:
    room = Room(cluster, model)
    pieces = text(WORDS, size=5)
    model.answer(step_by_step(*pieces))
    run_id = room.begin()
    with Listener(cluster.two.admin, f"/api/runs/{run_id}/stream") as ears:
        ears.wait_for("snapshot")
        model.release()
        ears.wait(spoken)
        with without(redis):
            model.release(times=len(pieces))
            ears.wait_end()
        assert ears.names()[-1] == "run.completed"


@requirement("X-08", "X-05")
def test_a_gateway_that_was_stopped_for_a_while_tells_its_readers_what_they_missed(
    cluster: Cluster, model: FakeOpenAI
) -> None:
    room = Room(cluster, model)
    pieces = text(WORDS, size=5)
    model.answer(step_by_step(*pieces))
    with room.reading() as (ada, bob):
        run_id = room.begin()
        with Listener(cluster.two.admin, f"/api/runs/{run_id}/stream") as ears:
            model.release()
            ears.wait(spoken)
            os.kill(cluster.two.pid, signal.SIGSTOP)
            try:
                model.release(times=len(pieces))
                status = f"/api/runs/{run_id}"
                eventually(lambda: cluster.admin.get(status)["status"] == "completed", "the run's end")
                ada.wait_for("run.completed")
            finally:
                os.kill(cluster.two.pid, signal.SIGCONT)
            ears.wait_end()
            assert ears.names()[-1] == "run.completed"
        bob.wait_for("run.completed", runId=run_id)
        room.alike(ada, bob)


GARBAGE = {
    "no JSON": b"garbage",
    "another shape": b'{"a": 1}',
    "unheard of": b'["x",[["nonsense",1]]]',
    "no such event": b'["x",[["told",9999,{},"s",null,null,false,1]]]',
    "a broken event": b'["x",[["told",0,{"a":1},"s",null,null,false,1]]]',
    "a broken message": b'["x",[["took_up",{"id":1}]]]',
    "deep": b"[" * 100_000,
}


@requirement("X-08")
@pytest.mark.parametrize("what", GARBAGE)
def test_garbage_among_the_gateways_news_stops_nothing(
    cluster: Cluster, redis: RedisServer, model: FakeOpenAI, what: str
) -> None:
    room = Room(cluster, model)
    pieces = text(WORDS, size=5)
    model.answer(step_by_step(*pieces))
    with room.reading() as (ada, bob), redis_client.Redis.from_url(redis.url) as client:
        channels = client.pubsub_channels("roomful:*")
        assert channels
        for channel in channels:
            client.publish(channel, GARBAGE[what])
        run_id = room.begin()
        for count in range(1, 4):
            model.release()
            words = WORDS[: 5 * count]
            bob.wait(lambda _, words=words: words in said(bob.state()), "words as they come")
        model.release(times=len(pieces))
        bob.wait_for("run.completed", runId=run_id)
        room.alike(ada, bob)
