"""Every test of the contract runs on both engines: a SQLite file and a real Postgres."""

import asyncio
import inspect
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from roomful.domain.ports import Store
from roomful.store import open_store
from tests.servers.postgres import PostgresServer, postgres_server
from tests.store.things import HandClock

_schemas = itertools.count(1)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """An `async def` test runs on the loop of the fixture `runner`, if it has one."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    test = pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
    runner = pyfuncitem.funcargs.get("runner")
    if isinstance(runner, asyncio.Runner):
        runner.run(test)
    else:
        asyncio.run(test)
    return True


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> str:
    """An empty schema."""
    return f"{postgres.url}&schema=test_{next(_schemas)}"


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'roomful.db'}"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """An empty database."""
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def store(url: str, runner: asyncio.Runner, clock: HandClock) -> Iterator[Store]:
    store = runner.run(open_store(url, clock))
    yield store
    runner.run(store.close())
