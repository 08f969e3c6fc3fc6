"""The database is the record: without the bus everything is seen a little later, and nothing is lost."""

import contextlib
import time
from collections.abc import Callable, Iterator

import pytest

from tests.http.pairing import WORDS, Room, grown, step_by_step
from tests.requirements import requirement
from tests.servers.cluster import Cluster, Reader, eventually
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, text
from tests.servers.redis import RedisServer


def killed(redis: RedisServer) -> Iterator[None]:
    redis.kill()
    try:
        yield
    finally:
        redis.start()


def killed_and_emptied(redis: RedisServer) -> Iterator[None]:
    redis.kill()
    redis.forget()
    try:
        yield
    finally:
        redis.start()


def paused(redis: RedisServer) -> Iterator[None]:
    redis.pause()
    try:
        yield
    finally:
        redis.resume()


def flushed(redis: RedisServer) -> Iterator[None]:
    import redis as client

    with client.Redis.from_url(redis.url) as connection:
        connection.flushall()
    yield


@requirement("S-03")
@pytest.mark.parametrize("fault", [killed, killed_and_emptied, paused, flushed])
def test_without_redis_everything_is_seen_a_little_later(
    cluster: Cluster, redis: RedisServer, fault: Callable[[RedisServer], Iterator[None]]
) -> None:
    pieces = text(WORDS, size=5)

    def answers(asked: Asked) -> Answer:
        is_slow = "slowly" in asked.messages[-1]["content"]
        return step_by_step(*pieces) if is_slow else Answer(text("Yes."))

    with FakeOpenAI(answers) as model:
        _without_redis(Room(cluster, model), redis, pieces, fault)


def _without_redis(
    room: Room, redis: RedisServer, pieces: list[bytes], fault: Callable[[RedisServer], Iterator[None]]
) -> None:
    model = room.model
    with room.reading() as (ada, bob):
        run_id = room.begin("slowly")
        model.release(times=3)
        bob.wait(lambda events: grown(events), "the first words")
        with contextlib.contextmanager(fault)(redis):
            said_at = time.monotonic()
            second = room.ada.say(room.id, "Is anybody here?")["runs"][0]["runId"]
            bob.wait(lambda _: "Is anybody here?" in str(bob.state()), "a message without Redis")
            print(f"{fault.__name__}: a message was seen after {time.monotonic() - said_at:.3f} s")
            room.bob.say(room.id, "I am.")
            ada.wait(lambda _: "I am." in str(ada.state()), "the answer without Redis")
            model.release(times=len(pieces))
            eventually(lambda: room.status(run_id) == room.status(second) == "completed", "the runs end")
            ended = time.monotonic()
            room.alike(ada, bob)
            print(f"{fault.__name__}: all was seen {time.monotonic() - ended:.3f} s after the end")
        _flows_again(room, bob, pieces)
        room.alike(ada, bob)


def _flows_again(room: Room, bob: Reader, pieces: list[bytes]) -> None:
    """Words come one by one again, soon after Redis is back."""
    run_id = room.begin("slowly again")
    before = grown(bob.events)
    for _ in pieces:
        room.model.release()
        with contextlib.suppress(AssertionError):
            bob.wait(lambda events: grown(events) >= before + 2, "words as they come", 1)
            break
    assert room.status(run_id) == "running", "no two deltas came before the end"
    room.model.release(times=len(pieces))
    bob.wait_for("run.completed", runId=run_id)
