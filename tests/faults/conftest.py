from collections.abc import Iterator

import pytest

from tests.faults.zygote import Zygote
from tests.servers.mcp_server import McpHttpServer
from tests.servers.world import World


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
