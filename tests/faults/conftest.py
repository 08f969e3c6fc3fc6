"""What is slow to make is made once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.disk import Disk, built_disk
from tests.faults.zygote import Zygote
from tests.servers.mcp_server import McpHttpServer
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
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    with Zygote(tmp_path_factory.mktemp("zygote")) as zygote:
        yield zygote


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World() as world:
        yield world


@pytest.fixture(scope="module")
def mcp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpHttpServer]:
    with McpHttpServer(tmp_path_factory.mktemp("mcp")) as server:
        yield server
