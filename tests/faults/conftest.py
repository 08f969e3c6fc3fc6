from collections.abc import Iterator

import pytest

from tests.faults.killing import Stage
from tests.faults.zygote import Zygote
from tests.servers.mcp_server import McpHttpServer
from tests.servers.postgres import PostgresServer, postgres_server
from tests.servers.redis import RedisServer, redis_server
from tests.servers.world import World


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The MCP server is started by the first story that needs it."""
    folder = tmp_path_factory.mktemp("stage")
    mcp = McpHttpServer(folder)
    with Zygote(folder) as zygote, World() as world:
        try:
            yield Stage(zygote, world, mcp, folder)
        finally:
            mcp.stop()


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server
