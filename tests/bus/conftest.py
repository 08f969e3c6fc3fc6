"""Every test of the contract runs on both buses: one in memory and one on a real Redis-protocol server."""

from collections.abc import Callable, Iterator

import pytest
from redis import Redis

from roomful.bus import Bus, InMemoryBus, RedisBus
from tests.servers.redis import RedisServer, redis_server


@pytest.fixture(scope="session")
def shared_redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture
def redis(shared_redis: RedisServer) -> RedisServer:
    """A server without data, shared with the tests before and after."""
    with Redis.from_url(shared_redis.url) as client:
        client.flushall()
    return shared_redis


@pytest.fixture(params=["memory", "redis"])
def make_bus(request: pytest.FixtureRequest) -> Iterator[Callable[[int], Bus]]:
    """Makes an empty bus that keeps so many messages of a topic."""
    if request.param == "memory":
        yield lambda max_length: InMemoryBus(max_length=max_length)
        return
    server: RedisServer = request.getfixturevalue("redis")
    made: list[RedisBus] = []

    def make(max_length: int) -> Bus:
        made.append(RedisBus(server.url, max_length=max_length))
        return made[-1]

    yield make
    for bus in made:
        bus.close()


@pytest.fixture
def bus(make_bus: Callable[[int], Bus]) -> Bus:
    return make_bus(1000)
