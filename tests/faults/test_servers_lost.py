"""The database and the bus go away under load: nothing acknowledged is lost, and the record stays whole."""

import asyncio
import signal
from collections.abc import Callable, Iterator

import pytest

from roomful.store.doctor import examine
from tests.faults.posting import Posters, settle_in, stored
from tests.http.shopping import shop
from tests.servers.cluster import SHORT_LEASE, Cluster, eventually
from tests.servers.fake_openai import Answer, FakeOpenAI, text
from tests.servers.postgres import PostgresServer, postgres_server
from tests.servers.redis import RedisServer, redis_server

Trouble = Callable[[PostgresServer, RedisServer], None]


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server(durable=True) as server:
        yield server


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture(scope="module")
def cluster(
    tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer, redis: RedisServer
) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("lost")
    with Cluster(folder, database=postgres.new_url(), bus=redis.url, environment=SHORT_LEASE) as cluster:
        yield cluster


def restart_postgres(postgres: PostgresServer, _: RedisServer) -> None:
    postgres.stop(signal.SIGINT)
    postgres.start()


def crash_postgres(postgres: PostgresServer, _: RedisServer) -> None:
    postgres.stop(signal.SIGKILL)
    postgres.start()


def empty_redis(_: PostgresServer, redis: RedisServer) -> None:
    redis.kill()
    redis.forget()
    redis.start()


def lose_both(postgres: PostgresServer, redis: RedisServer) -> None:
    redis.kill()
    postgres.stop(signal.SIGKILL)
    postgres.start()
    redis.forget()
    redis.start()


def test_nothing_acknowledged_is_lost_with_a_server(
    cluster: Cluster, postgres: PostgresServer, redis: RedisServer
) -> None:
    with FakeOpenAI(lambda _: Answer(text("Yes, of course."))) as model:
        ada = shop(cluster.one, model)
        people = settle_in(cluster.one)
        with Posters(cluster.one, people[:2], "one") as one, Posters(cluster.two, people[2:], "two") as two:
            for trouble in (restart_postgres, empty_redis, crash_postgres, lose_both):
                runs = [ada.say("shop-space", "Are you there?")["runs"][0]["runId"] for _ in range(3)]
                trouble(postgres, redis)
                one.wait_for(201, 10)
                two.wait_for(201, 10)
                for run_id in runs:
                    eventually(lambda run_id=run_id: _has_ended(cluster, run_id), f"run {run_id} ends")
                print(f"{trouble.__name__}: {dict(one.answers)} {dict(two.answers)}")
    acknowledged = one.acknowledged | two.acknowledged
    assert len(acknowledged) > 80
    for gateway in cluster.gateways:
        found = stored(people[0].at(gateway))
        assert {key: found.get(key) for key in acknowledged} == acknowledged
        assert found.keys() == acknowledged.keys()
    assert one.bad == two.bad == []
    assert asyncio.run(examine(cluster.one.database)) == []


def _has_ended(cluster: Cluster, run_id: str) -> bool:
    return cluster.two.admin.get(f"/api/runs/{run_id}")["status"] in ("completed", "failed")
