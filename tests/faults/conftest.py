"""What is slow to make is made once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.disk import Disk, built_disk
from tests.faults.killing import Stage
from tests.faults.zygote import Zygote
from tests.servers.mcp_server import McpHttpServer
from tests.servers.postgres import PostgresServer, postgres_server
from tests.servers.redis import RedisServer, redis_server
from tests.servers.roomful import Roomful
from tests.servers.world import World


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_disk(tmp_path_factory.mktemp("disk"))


@pytest.fixture
def disk(tmp_path: Path, library: Path) -> Disk:
    """Under the database of `house_on_disk`."""
    return Disk(tmp_path, library, tmp_path / "roomful.db")


@pytest.fixture
def house_on_disk(tmp_path: Path, disk: Disk) -> Iterator[Roomful]:
    with Roomful(tmp_path, **disk.environment) as house:
        yield house


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
