"""Two gateways for many at once."""

from collections.abc import Iterator

import pytest

from tests.http.conftest import postgres, redis
from tests.servers.cluster import Cluster
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer

__all__ = ["cluster", "postgres", "redis"]


@pytest.fixture(scope="session")
def cluster(
    tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer, redis: RedisServer
) -> Iterator[Cluster]:
    """Their leases outlast what a busy machine makes them wait; deadlines are looked for every second."""
    environment = {"ROOMFUL_LEASE_SECONDS": "4"}
    folder = tmp_path_factory.mktemp("cluster")
    with Cluster(folder, database=postgres.new_url(), bus=redis.url, environment=environment) as cluster:
        yield cluster
