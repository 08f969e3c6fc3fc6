"""A run that waits for a person costs a row and no memory, however many there are; each goes on once."""

import re
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.requirements import requirement
from tests.servers.cluster import Cluster, eventually
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, call
from tests.servers.inhouse import InHouse
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer
from tests.servers.roomful import Caller, Roomful, openai
from tests.servers.world import World

THREADS = 8
SPACES = 1
"""Few enough for the logs of what was announced to be full after the first runs."""


def payer(asked: Asked) -> Answer:
    """Pays what the person named, and then has nothing more to do."""
    if asked.messages[-1]["role"] == "tool":
        return Answer([])
    [*_, key] = re.findall(r"key-\d+", asked.messages[-1]["content"])
    return Answer(call("pay", {"key": key}, size=40))


class Parking:
    """People who ask for payments in many spaces, and those who have to approve them."""

    def __init__(self, gateways: Sequence[Roomful], model: FakeOpenAI, world: World, database: str) -> None:
        self.gateways = gateways
        self.world = world
        self.keys = 0
        self.put_off: list[str] = []
        """What those were told who had to come again."""
        self._database, _, self._schema = database.partition("&schema=")
        house = gateways[0]
        self.ada = house.person("ada")
        house.agent("payer", openai(model.base_url), world.tool("pay", approval=True))
        self.spaces = [house.space(f"room-{number}", "ada", "payer") for number in range(SPACES)]

    def park(self, count: int) -> None:
        """So many more runs, each of which waits for its approval when this returns."""

        def ask(number: int) -> None:
            who = self.ada.at(self.gateways[number % len(self.gateways)])
            assert len(who.say(self.spaces[number % SPACES], f"Pay key-{number}")["runs"]) == 1

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(ask, range(self.keys, self.keys + count)))
        self.keys += count
        eventually(lambda: self.statuses() == {"waiting_tool": self.keys}, "all runs wait", 300)

    def statuses(self) -> Counter[str]:
        return Counter(dict(self._rows("SELECT status, count(*) FROM runs GROUP BY status")))

    def answer_all(self) -> list[tuple[int, ...]]:
        """Every card is answered at every gateway at once; gives the statuses of the answers to each."""
        cards = self._rows("SELECT run_id, id FROM calls WHERE status = 'waiting'")

        def answer(who: Caller, run_id: str, card_id: str) -> int:
            """Comes again when it is told to, as a client does."""
            body = {"toolCallId": card_id, "result": {"approved": True}}
            while (told := who.request("POST", f"/api/runs/{run_id}/tool-results", body)).status_code == 503:
                self.put_off.append(told.json()["detail"])
                time.sleep(float(told.headers["retry-after"]))
            return told.status_code

        people = [self.ada.at(gateway) for gateway in self.gateways]
        with ThreadPoolExecutor(THREADS) as pool:
            answers = [[pool.submit(answer, who, *card) for who in people] for card in cards]
            return [tuple(sorted(one.result() for one in each)) for each in answers]

    def check(self) -> None:
        eventually(lambda: self.statuses() == {"completed": self.keys}, "all runs end", 300)
        assert self.world.effects == {f"key-{number}": 1 for number in range(self.keys)}

    def _rows(self, sql: str) -> list[Any]:
        with psycopg.connect(self._database) as connection:
            connection.execute(f"SET search_path TO {self._schema}".encode())
            return connection.execute(sql.encode()).fetchall()


def kilobytes(gateway: Roomful) -> int:
    """What the process holds in memory."""
    [line] = [x for x in Path(f"/proc/{gateway.pid}/status").read_text().splitlines() if "VmRSS" in x]
    return int(line.split()[1])


def fill(
    folder: Path, postgres: PostgresServer, redis: RedisServer, warm: int, rest: int
) -> tuple[list[int], list[int]]:
    """Parks, measures, parks more, measures, and lets all of them go on. Gives both measures."""
    url = postgres.new_url()
    with (
        World() as world,
        FakeOpenAI(payer) as model,
        Cluster(
            folder, database=url, bus=redis.url, environment={"ROOMFUL_ALLOW_HOSTS": world.host}
        ) as cluster,
    ):
        parking = Parking(cluster.gateways, model, world, url)
        parking.park(warm)
        before = [kilobytes(gateway) for gateway in cluster.gateways]
        parking.park(rest)
        after = [kilobytes(gateway) for gateway in cluster.gateways]
        print(f"{warm} parked runs: {before} kB; {warm + rest}: {after} kB")
        assert set(parking.answer_all()) == {(200, 409)}
        print(f"{len(parking.put_off)} answers had to come again: {set(parking.put_off)}")
        parking.check()
        print(f"when all have ended: {[kilobytes(gateway) for gateway in cluster.gateways]} kB")
        return before, after


@requirement("X-08")
def test_two_hundred_parked_runs_go_on_once_each(
    tmp_path: Path, postgres: PostgresServer, redis: RedisServer
) -> None:
    before, after = fill(tmp_path, postgres, redis, 100, 100)
    assert all(late - early < 10_000 for early, late in zip(before, after, strict=True)), (before, after)


@requirement("X-08")
@pytest.mark.long
def test_five_thousand_parked_runs_need_no_more_memory_than_a_thousand(
    tmp_path: Path, postgres: PostgresServer, redis: RedisServer
) -> None:
    before, after = fill(tmp_path, postgres, redis, 1000, 4000)
    assert all(late - early < 10_000 for early, late in zip(before, after, strict=True)), (before, after)


def kept(house: InHouse) -> tuple[int, int, int]:
    """How many runs are driven, how many have a voice, and how many messages are held for their readers."""
    worker: Any = house.inside.worker
    announcer: Any = house.inside.announcer
    growing = sum(len(list(view.messages())) for view in announcer._views.values())
    return worker.driving, len(worker._voices), growing


def test_nothing_of_a_parked_run_is_kept(tmp_path: Path, postgres: PostgresServer) -> None:
    url = postgres.new_url()
    with (
        World() as world,
        FakeOpenAI(payer) as model,
        InHouse(tmp_path, database=url, allow_hosts=world.host) as house,
    ):
        parking = Parking([house], model, world, url)
        parking.park(50)
        house.look()
        assert kept(house) == (0, 0, 0)
        assert threading.active_count() < 50
        assert set(parking.answer_all()) == {(200,)}
        parking.check()
        house.look()
        assert kept(house) == (0, 0, 0)
