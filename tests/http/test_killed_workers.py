"""A worker dies, stops for a while or is told to stop, or the bus does: nothing acknowledged is lost, nothing
is done twice, and everybody sees the same in the end, at every gateway.

ROOMFUL_TEST_SEED sets the moments at which it happens; they are printed.
"""

import contextlib
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.http.campaign import Campaign, director
from tests.http.pairing import grown
from tests.requirements import requirement
from tests.servers.cluster import SHORT_LEASE, Cluster, Reader, alike, eventually
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, call, hold, text
from tests.servers.figures import read_figures
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer
from tests.servers.roomful import PATIENCE, Roomful, openai
from tests.servers.world import World

SEED = int(os.environ.get("ROOMFUL_TEST_SEED") or random.SystemRandom().randrange(10**6))
SETTLED_SECONDS = 15.0
"""After which nothing of a killed worker is left half done."""


class Stage:
    """A cluster on which campaigns are played, one after the other."""

    def __init__(self, cluster: Cluster, model: FakeOpenAI, world: World, redis: RedisServer) -> None:
        self.cluster = cluster
        self.model = model
        self.world = world
        self.redis = redis
        self.dice = random.Random(SEED)
        self.events, self.seconds = self._rehearse()

    def _rehearse(self) -> tuple[int, float]:
        """How much is told of a story that nobody disturbs, and how long it takes."""
        play = Campaign(self.cluster, self.model, self.world)
        with play.reading() as readers:
            began = time.monotonic()
            play.begin(self.cluster.one)
            play.insist()
            play.approve(self.cluster.two)
            play.ended()
            seconds = time.monotonic() - began
            play.check(readers)
            return _heard(readers), seconds

    def play(self, strike: Callable[[Campaign, Roomful], None], within: float = PATIENCE) -> float:
        """A story that is struck at a random moment: when so much of it was told, and a little later. Gives
        the seconds from then to its end."""
        dice = self.dice
        moment, later = dice.randint(0, self.events), dice.random() * 0.05
        first, second = dice.sample(self.cluster.gateways, 2)
        play = Campaign(self.cluster, self.model, self.world)
        struck: list[float] = []

        with play.reading() as readers:

            def wait_and_strike() -> None:
                deadline = time.monotonic() + PATIENCE
                while _heard(readers) < moment and time.monotonic() < deadline:
                    time.sleep(0.001)
                time.sleep(later)
                struck.append(time.monotonic())
                strike(play, second if play.answered else first)

            striker = threading.Thread(target=wait_and_strike)
            striker.start()
            with play.chatting():
                play.begin(first)
                play.insist()
                play.approve(second, within)
                run = play.ended(within)
                seconds = time.monotonic() - (struck[0] if struck else time.monotonic())
            striker.join(PATIENCE)
            for gateway in self.cluster.gateways:
                if not gateway.is_running:
                    gateway.start()
            print(f"seed {SEED}, event {moment} of {self.events}: {run['status']} after {seconds:.2f} s")
            said, sure = (
                len(play.ledger.asked),
                sum(one.acknowledged is not None for one in play.ledger.asked),
            )
            print(f"{sure} of {said} messages were acknowledged")
            play.check(readers)
        return seconds


def _heard(readers: list[Reader]) -> int:
    """How much was told of the run so far, in all spaces, to those who were told most."""
    told = [reader for reader in readers if not reader.space_id.startswith("lobby")]
    half = len(told) // 2
    return max(sum(len(reader.events) for reader in some) for some in (told[:half], told[half:]))


@contextlib.contextmanager
def stage(folder: Path, postgres: PostgresServer, redis: RedisServer, **environment: str) -> Iterator[Stage]:
    with World(seconds=0.03) as world, FakeOpenAI(director) as model:
        environment["ROOMFUL_ALLOW_HOSTS"] = world.host
        with Cluster(folder, database=postgres.new_url(), bus=redis.url, environment=environment) as cluster:
            yield Stage(cluster, model, world, redis)


def kill_the_worker(_: Campaign, driving: Roomful) -> None:
    driving.kill()


@requirement("X-08")
def test_nothing_is_lost_or_doubled_when_a_worker_is_killed(
    tmp_path: Path, postgres: PostgresServer, redis: RedisServer
) -> None:
    with stage(tmp_path, postgres, redis, **SHORT_LEASE) as scene:
        for _ in range(3):
            scene.play(kill_the_worker)


@requirement("X-08")
@pytest.mark.long
def test_nothing_is_lost_or_doubled_when_a_worker_is_killed_fifty_times(
    tmp_path: Path, postgres: PostgresServer, redis: RedisServer
) -> None:
    with stage(tmp_path, postgres, redis) as scene:
        seconds = [scene.play(kill_the_worker, 2 * PATIENCE) for _ in range(50)]
        print(f"the longest took {max(seconds):.2f} s, a story without a kill {scene.seconds:.2f} s")
        assert max(seconds) < SETTLED_SECONDS + scene.seconds


@requirement("X-08")
def test_what_was_sent_when_the_worker_died_is_not_sent_again(cluster: Cluster, world: World) -> None:
    with FakeOpenAI(director) as model:
        play = Campaign(cluster, model, world)
        with play.reading() as readers:
            world.answers.clear()
            try:
                play.begin(cluster.one)
                play.insist()
                eventually(lambda: world.effects[f"key-{play.number}"], "the payment")
                cluster.one.kill()
            finally:
                world.answers.set()
            play.approve(cluster.two)
            play.ended()
            cluster.one.start()
            play.check(readers)
        [message] = play.dora.messages(play.design)
        assert [part["status"] for part in message["parts"]] == ["unknown"]
        assert world.effects[f"key-{play.number}"] == 1


def kill_redis(scene: Stage) -> Callable[[Campaign, Roomful], None]:
    def strike(_: Campaign, __: Roomful) -> None:
        scene.redis.kill()
        time.sleep(scene.dice.random())
        if scene.dice.random() < 0.5:
            scene.redis.forget()
        scene.redis.start()

    return strike


@requirement("S-03")
def test_nothing_is_lost_or_doubled_when_redis_is_killed(
    tmp_path: Path, postgres: PostgresServer, redis: RedisServer
) -> None:
    with stage(tmp_path, postgres, redis, **SHORT_LEASE) as scene:
        for _ in range(2):
            scene.play(kill_redis(scene))


@requirement("S-03")
@pytest.mark.long
def test_nothing_is_lost_or_doubled_when_redis_is_killed_twenty_times(
    tmp_path: Path, postgres: PostgresServer, redis: RedisServer
) -> None:
    with stage(tmp_path, postgres, redis) as scene:
        for _ in range(20):
            scene.play(kill_redis(scene))


@requirement("X-08")
def test_a_gateway_that_is_told_to_stop_hands_its_runs_over(cluster: Cluster, world: World) -> None:
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


EARLY, LATE, OTHER = "These words were heard before. ", "These came too late. ", "Somebody else went on. "


def rows_of(postgres: PostgresServer, url: str, run_id: str) -> dict[str, list[Any]]:
    """All that is stored of a run."""
    tables = {"runs": "id", "messages": "run_id", "calls": "run_id", "steps": "run_id"}
    with psycopg.connect(postgres.url) as connection:
        connection.execute(f"SET search_path TO {url.rpartition('schema=')[2]}".encode())
        return {
            table: connection.execute(
                f"SELECT * FROM {table} WHERE {column} = %s ORDER BY 1, 2".encode(), (run_id,)
            ).fetchall()
            for table, column in tables.items()
        }


@requirement("X-08")
@pytest.mark.parametrize(
    ("way", "when"), [("words", "asleep"), ("a call", "asleep"), ("words", "awake"), ("a call", "awake")]
)
def test_a_worker_that_wakes_up_too_late_says_and_writes_nothing(
    tmp_path: Path, postgres: PostgresServer, redis: RedisServer, way: str, when: str
) -> None:
    """The model goes on while the worker does not, or when it is awake and counted among the living again."""
    late = {
        "words": [*text(LATE, size=3), *call("pay", {"key": "late"}, id="c1")],
        "a call": call("pay", {"key": "late", "note": LATE}, id="c1"),
    }

    def answers(asked: Asked) -> Answer:
        if asked.number == 0:
            return Answer([*text(EARLY, size=3), hold(), *late[way]])
        turns = [message for message in asked.messages if message["role"] == "assistant"]
        return Answer([] if turns else [*text(OTHER, size=3), *call("pay", {"key": "other"}, id="c2")])

    url = postgres.new_url()
    with World() as world, FakeOpenAI(answers) as model:
        environment = {"ROOMFUL_ALLOW_HOSTS": world.host, **SHORT_LEASE}
        with Cluster(tmp_path, database=url, bus=redis.url, environment=environment) as cluster:
            ada = cluster.person("ada")
            cluster.agent("teller", openai(model.base_url), world.tool("pay"), speaks="both")
            cluster.space("room", "ada", "teller")
            with (
                Reader(ada, "room", [cluster.one]) as first,
                Reader(ada, "room", [cluster.two]) as second,
            ):
                run_id = ada.say("room", "go")["runs"][0]["runId"]
                for reader in (first, second):
                    reader.wait(lambda _, one=reader: EARLY in str(one.state()), "the first words")
                cluster.one.pause()
                if when == "asleep":
                    model.release()
                    assert model.requests[0].answered.wait(PATIENCE)
                eventually(
                    lambda: cluster.two.admin.get(f"/api/runs/{run_id}")["status"] == "completed",
                    "the other worker ends the run",
                )
                page = ada.at(cluster.two).messages("room")
                before = rows_of(postgres, url, run_id)
                assert world.effects == {"other": 1}

                cluster.one.resume()

                if when == "awake":
                    eventually(lambda: living(postgres, url) == 2, "it lives again")
                    model.release()
                eventually(
                    lambda: (
                        "by another worker now" in cluster.one.log.read_text()
                        or rows_of(postgres, url, run_id) != before
                    ),
                    "it finds out",
                )
                lost = [read_figures(one.admin)("roomful_leases_lost_total") for one in cluster.gateways]
                assert lost == [1, 0]
                for gateway in cluster.gateways:
                    gateway.admin.post("/api/spaces/room/members", {"entityId": "ada"})
                assert alike(ada, "room", cluster.gateways, first, second) == page
                assert rows_of(postgres, url, run_id) == before
                for reader in (first, second):
                    heard = [(event.name, event.data) for event in reader.events]
                    assert not [one for one in heard if "late" in str(one)], heard
                assert world.effects == {"other": 1}


def living(postgres: PostgresServer, url: str) -> int:
    """How many workers said that they live."""
    with psycopg.connect(postgres.url) as connection:
        connection.execute(f"SET search_path TO {url.rpartition('schema=')[2]}".encode())
        return len(connection.execute("SELECT 1 FROM workers WHERE until > %s", (time.time(),)).fetchall())
