"""What tests of several gateways share: starting it takes longer than most of them."""

from collections.abc import Iterator

import pytest

from tests.servers.cluster import SHORT_LEASE, Cluster
from tests.servers.postgres import PostgresServer, postgres_server
from tests.servers.redis import RedisServer, redis_server
from tests.servers.world import World


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    with World(seconds=0.03) as world:
        yield world


@pytest.fixture(scope="session")
def cluster(
    tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer, redis: RedisServer, world: World
) -> Iterator[Cluster]:
    """Two gateways whose leases are short."""
    environment = {"ROOMFUL_ALLOW_HOSTS": world.host, **SHORT_LEASE}
    folder = tmp_path_factory.mktemp("cluster")
    with Cluster(folder, database=postgres.new_url(), bus=redis.url, environment=environment) as cluster:
        yield cluster
