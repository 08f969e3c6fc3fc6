"""Two gateways on one database and one bus: wherever people are, they see the same, and nothing happens twice."""

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.http.campaign import Campaign, director
from tests.http.casting import check_alike
from tests.http.test_stories import _at_once
from tests.http.test_together import CARD
from tests.http.test_visibility import calling
from tests.http.test_waiting import FORM
from tests.requirements import requirement
from tests.servers.cluster import SHORT_LEASE, Cluster, Reader, World, alike, eventually
from tests.servers.fake_openai import HANG, Answer, Asked, FakeOpenAI, Piece, call, hold, text
from tests.servers.postgres import postgres_server
from tests.servers.redis import RedisServer, redis_server
from tests.servers.roomful import PATIENCE, Event, Listener, fold, openai, read_events

WORDS = "One two three four five six seven eight nine ten."
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World(seconds=0.03) as world:
        yield world


@pytest.fixture(scope="module")
def cluster(
    tmp_path_factory: pytest.TempPathFactory, redis: RedisServer, world: World
) -> Iterator[Cluster]:
    with postgres_server() as postgres:
        environment = {"ROOMFUL_ALLOW_HOSTS": world.host, **SHORT_LEASE}
        folder = tmp_path_factory.mktemp("cluster")
        with Cluster(folder, database=postgres.url, bus=redis.url, **environment) as cluster:
            yield cluster


class Room:
    """Ada and Bob in a space with an agent. Ada is at the first gateway, Bob at the second."""

    def __init__(self, cluster: Cluster, model: FakeOpenAI, *tools: Any, **more: Any) -> None:
        number = next(_numbers)
        self.cluster = cluster
        self.model = model
        self.ada = cluster.person(f"ada-{number}")
        self.bob = cluster.person(f"bob-{number}").at(cluster.two)
        self.agent = cluster.agent(f"bot-{number}", openai(model.base_url), *tools, **{"speaks": "both"} | more)
        self.id = cluster.space(f"room-{number}", self.ada.id, self.bob.id, self.agent)

    def begin(self, words: str = "go") -> str:
        """A run that the first gateway drives."""
        return self.ada.say(self.id, words)["runs"][0]["runId"]

    @contextlib.contextmanager
    def reading(self) -> Iterator[tuple[Reader, Reader]]:
        """Both read, each at a gateway of their own."""
        with (
            Reader(self.ada, self.id, [self.cluster.one]) as ada,
            Reader(self.bob, self.id, [self.cluster.two]) as bob,
        ):
            yield ada, bob

    def alike(self, *readers: Reader) -> list[dict[str, Any]]:
        return alike(self.ada, self.id, self.cluster.gateways, *readers)

    def status(self, run_id: str) -> str:
        return self.cluster.two.admin.get(f"/api/runs/{run_id}")["status"]


def step_by_step(*pieces: bytes) -> Answer:
    """Each piece waits to be let go."""
    held: list[Piece] = []
    for piece in pieces:
        held += [hold(), piece]
    return Answer(held)


def grown(events: list[Event], name: str = "text-delta") -> int:
    return len([event for event in events if event.name == name])


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
def test_votes_at_both_gateways_are_all_counted(cluster: Cluster, model: FakeOpenAI) -> None:
    poll = {**FORM, "execution": {"mode": "no-execution", "answers": "each"}}
    room = Room(cluster, model, poll)
    voters = [cluster.person(f"{room.id}-voter-{number}") for number in range(10)]
    for voter in voters:
        cluster.admin.post(f"/api/spaces/{room.id}/members", {"entityId": voter.id}, expect=201)
    model.answer(Answer(call("form", {"q": "Pizza?"})), Answer([]))
    with room.reading() as (ada, bob):
        run_id = room.begin()
        [pending] = ada.wait_for("run.waiting_tool").data["pendingToolCalls"]
        people = [voter.at(cluster.gateways[at % 2]) for at, voter in enumerate(voters)]
        answers = _at_once(run_id, pending["toolCallId"], *people)
        assert {answer.status_code for answer in answers.values()} == {200}
        for reader in (ada, bob):
            reader.wait(lambda _, one=reader: one.state()[1]["parts"][0].get("answers", [])[9:], "all votes")
        [_, message] = room.alike(ada, bob)
        assert {vote["entityId"] for vote in message["parts"][0]["answers"]} == {one.id for one in voters}
        closing = {"toolCallId": pending["toolCallId"], "close": True}
        room.bob.post(f"/api/runs/{run_id}/tool-results", closing)
        for reader in (ada, bob):
            reader.wait_for("run.completed")
        [_, message] = room.alike(ada, bob)
        assert len(message["parts"][0]["result"]["answers"]) == len(voters)


@requirement("X-08", "X-03")
def test_a_run_is_stopped_for_good_at_the_other_gateway(cluster: Cluster, model: FakeOpenAI) -> None:
    room = Room(cluster, model)
    model.answer(Answer([*text("These words stand."), hold(), *text(" These come too late."), HANG]))
    with room.reading() as (ada, bob):
        run_id = room.begin()
        for reader in (ada, bob):
            reader.wait(lambda _, one=reader: "stand." in str(one.state()), "the words")
        canceled = room.bob.post(f"/api/runs/{run_id}/cancel")
        model.release()
        assert canceled["status"] == "canceled"
        for reader in (ada, bob):
            reader.wait_for("run.canceled", runId=run_id)
        [_, message] = room.alike(ada, bob)
        assert [part["status"] for part in message["parts"]] == ["canceled"]
        for reader in (ada, bob):
            names = [event.name for event in reader.events]
            assert "text-delta" not in names[names.index("run.canceled") :]
        assert room.status(run_id) == "canceled"
        assert model.requests[0].gone.wait(PATIENCE / 2), "the model is still being listened to"


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


@requirement("X-08", "C-14")
def test_of_answers_at_both_gateways_one_wins(cluster: Cluster, model: FakeOpenAI) -> None:
    room = Room(cluster, model, FORM)
    for _ in range(5):
        model.answer(Answer(call("form", {"q": "Which?"})), Answer([]))
        with room.reading() as (ada, bob):
            run_id = room.begin()
            [pending] = bob.wait_for("run.waiting_tool").data["pendingToolCalls"]
            answers = _at_once(run_id, pending["toolCallId"], room.ada, room.bob)
            statuses = {who: answer.status_code for who, answer in answers.items()}
            assert sorted(statuses.values()) == [200, 409]
            [winner] = [who for who, status in statuses.items() if status == 200]
            [loser] = [who for who, status in statuses.items() if status == 409]
            assert answers[loser].json()["outcome"]["answeredBy"] == winner
            for reader in (ada, bob):
                reader.wait_for("run.completed", runId=run_id)
            [part] = room.alike(ada, bob)[-1]["parts"]
            assert part["answeredBy"] == winner
            assert [e.name for e in bob.events].count("tool-call.complete") == 1


@requirement("X-08")
def test_an_answer_at_the_other_gateway_counts_while_the_run_is_still_at_work(
    cluster: Cluster, model: FakeOpenAI, world: World
) -> None:
    room = Room(cluster, model, FORM, world.tool("pay"))
    pieces = [*call("form", {"q": "Fine?"}, id="a"), *call("pay", {"key": room.id}, index=1, id="b")]
    model.answer(Answer(pieces), Answer(text("Done.")))
    world.answers.clear()
    with room.reading() as (ada, bob):
        try:
            run_id = room.begin()
            eventually(lambda: world.effects[room.id], "the payment")
            form_id = bob.wait_for("tool-call", toolName="form").data["toolCallId"]
            body = {"toolCallId": form_id, "result": {"fine": True}}
            room.bob.post(f"/api/runs/{run_id}/tool-results", body)
        finally:
            world.answers.set()
        for reader in (ada, bob):
            reader.wait_for("run.completed", runId=run_id)
        [_, message] = room.alike(ada, bob)
        form, pay, done = message["parts"]
        assert (form["status"], form["result"]) == ("complete", {"fine": True})
        assert (pay["status"], done["text"]) == ("complete", "Done.")
        assert world.effects[room.id] == 1


@requirement("X-08")
def test_the_same_message_sent_to_both_gateways_at_once_is_one(cluster: Cluster, model: FakeOpenAI) -> None:
    room = Room(cluster, model)
    model.answer(*[Answer(text("Yes."))] * 5)
    with room.reading() as (ada, bob):
        for number in range(5):
            ready = threading.Barrier(6)

            def send(at: int, number: int = number, ready: threading.Barrier = ready) -> Any:
                who = room.ada.at(cluster.gateways[at % 2])
                ready.wait(PATIENCE)
                return who.say(room.id, f"message {number}", clientMessageId=f"key-{number}")

            with ThreadPoolExecutor(6) as pool:
                answers = list(pool.map(send, range(6)))
            assert len({answer["message"]["id"] for answer in answers}) == 1
            [[run]] = {tuple(run["runId"] for run in answer["runs"]) for answer in answers}
            ada.wait_for("run.completed", runId=run)
        assert [message["seq"] for message in room.alike(ada, bob)] == list(range(1, 11))
    assert len(model.requests) == 5


@requirement("X-08", "X-02")
def test_a_plan_is_carried_out_by_one_gateway(cluster: Cluster, model: FakeOpenAI) -> None:
    """The second plan comes long enough after the first for everybody to have looked for what is due."""
    room = Room(cluster, model, dialect="active")
    plans = [
        {"name": name, "instruction": f"Do {name}.", "runAfter": f"in {seconds} seconds"}
        for name, seconds in (("first", 1), ("second", 3))
    ]
    model.answer(calling(("set_plans", {"plans": plans})), *[Answer(text("ok"))] * 5)
    with room.ada.listen(room.id) as ears:
        room.begin()
        ears.wait_for("run.completed")

    def planned() -> list[dict[str, Any]]:
        runs = cluster.two.admin.get("/api/runs", params={"agentId": room.agent})["runs"]
        return [run for run in runs if run["trigger"]["type"] == "plan" and "endedAt" in run]

    eventually(lambda: len(planned()) >= 2, "both plans are carried out")
    assert len(planned()) == 2
    assert [run["status"] for run in planned()] == ["completed", "completed"]


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


@requirement("X-08")
def test_a_gateway_that_is_told_to_stop_hands_its_runs_over(
    cluster: Cluster, world: World, redis: RedisServer
) -> None:
    """It is started again at the end: the other tests need it."""
    with FakeOpenAI(director) as model, contextlib.ExitStack() as stack:
        plays = [Campaign(cluster, model, world) for _ in range(4)]
        readers = [stack.enter_context(play.reading()) for play in plays]
        for play in plays:
            play.begin(cluster.one)
            play.insist()
        for ears in readers:
            ears[0].wait(lambda events: grown(events) >= 2, "the campaign's first words")
        began = time.monotonic()
        assert cluster.one.terminate() == 0
        print(f"it stopped within {time.monotonic() - began:.2f} s")
        for play in plays:
            play.approve(cluster.two)
            play.ended()
        at_one = [ears[0] for ears in readers]
        assert all("draining" in [event.name for event in reader.events] for reader in at_one)
        cluster.one.start()
        for play, ears in zip(plays, readers, strict=True):
            play.check(ears)


