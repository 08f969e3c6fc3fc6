"""What only Postgres promises: several processes on one database, and a server that comes and goes."""

import asyncio
import contextlib
import logging
import signal
import socket
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, quote, urlsplit

import psycopg
import pytest

from roomful.domain.changes import AddEntity, AddMessage, AddSpace
from roomful.domain.errors import Conflict, Unavailable
from roomful.domain.ports import Store
from roomful.domain.run_changes import (
    AddRun,
    ClaimRun,
    ExpectCall,
    Guard,
    KeepAlive,
    SaveCalls,
    SaveRun,
    Unblock,
)
from roomful.domain.runs import Lease
from roomful.store import migrate, open_store
from roomful.store.postgres import PostgresEngine
from tests.requirements import requirement
from tests.servers.postgres import PostgresServer, postgres_server
from tests.store.test_opening import VERSIONS
from tests.store.things import HandClock, call, entity, ids, message, run, say, seqs, settle_in, space


@contextlib.asynccontextmanager
async def opened(url: str, clock: HandClock | None = None) -> AsyncIterator[Store]:
    store = await open_store(url, clock or HandClock())
    try:
        yield store
    finally:
        await store.close()


def end_connections(url: str) -> None:
    """As a firewall or an operator would, while they are idle."""
    with psycopg.connect(url.partition("&schema=")[0], autocommit=True) as operator:
        operator.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """One that may be stopped."""
    with postgres_server() as server:
        yield server


def test_every_commit_is_synced(postgres_url: str) -> None:
    engine = PostgresEngine(postgres_url, patience=1.0)

    assert engine.writing.rows("SHOW synchronous_commit") == [("on",)]
    engine.close()


async def test_deployments_share_a_server_and_nothing_else(postgres_url: str) -> None:
    async with opened(postgres_url) as one, opened(postgres_url + "_twin") as other:
        await settle_in(one)
        await settle_in(other, "t")
        await say(one, "hello")

        assert [found.id for found in await one.all_spaces()] == ["s"]
        assert [found.id for found in await other.all_spaces()] == ["t"]
        assert await other.message("s", "m1") is None


async def test_processes_that_start_together_migrate_once(postgres_url: str) -> None:
    applied = await asyncio.gather(*(asyncio.to_thread(migrate, postgres_url) for _ in range(6)))

    everything = sorted(version for versions in applied for version in versions)
    assert everything == sorted(VERSIONS)
    assert everything


async def test_several_writers_leave_no_gap_and_wait_in_no_circle(
    postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "roomful.store")
    spaces = "abcdefgh"
    async with opened(postgres_url) as one, opened(postgres_url) as two, opened(postgres_url) as three:
        await settle_in(one, *spaces)
        heard: dict[str, list[int]] = {space_id: [] for space_id in spaces}

        async def produce(number: int, store: Store, order: str) -> None:
            for turn in range(6):
                new = [message(f"m-{number}-{turn}-{id}", space_id=id) for id in order]
                await asyncio.gather(
                    *(
                        store.commit([AddMessage(one)], lambda r, id=one.space_id: heard[id].append(r[0]))
                        for one in new
                    )
                )

        stores = [one, two, three]
        orders = [spaces, spaces[::-1], spaces[3:] + spaces[:3]]
        await asyncio.gather(
            *(produce(number, stores[number % 3], orders[number % 3]) for number in range(12))
        )

        assert caplog.messages == []
        for space_id in spaces:
            assert sorted(heard[space_id]) == await seqs(two, space_id) == list(range(1, 73))


async def test_answers_and_drivers_of_the_same_runs_wait_in_no_circle(
    postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """One who settles a call begins with the call, one who drives the run with the run."""
    caplog.set_level(logging.INFO, "roomful.store")
    names = [f"r{number}" for number in range(8)]
    async with opened(postgres_url) as one, opened(postgres_url) as two:
        for name in names:
            lease = Lease(run_id=name, owner="w", fence=1)
            calls = SaveCalls((call(f"c-{name}", run_id=name),))
            await one.commit([AddRun(run(name, "running"), lease), calls])

        async def drive(name: str) -> None:
            for _ in range(10):
                saved = SaveCalls((call(f"c-{name}", run_id=name),))
                await one.commit([Guard(Lease(run_id=name, owner="w", fence=1)), saved])

        async def settle(name: str) -> None:
            for _ in range(10):
                saved = SaveCalls((call(f"c-{name}", run_id=name),))
                await two.commit([ExpectCall(f"c-{name}"), saved, Unblock(name)])

        await asyncio.gather(*map(drive, names), *map(settle, reversed(names)))
        assert caplog.messages == []


async def test_a_circle_that_closes_all_the_same_is_opened_and_the_commit_repeated(postgres_url: str) -> None:
    async with (
        opened(postgres_url) as store,
        await psycopg.AsyncConnection.connect(postgres_url.partition("&schema=")[0]) as other,
    ):
        await store.commit([AddRun(run("r1")), AddRun(run("r2"))])
        schema = postgres_url.partition("&schema=")[2]
        await other.execute(f"SET search_path TO {schema}; SET deadlock_timeout TO '1min'".encode())
        await other.execute("UPDATE runs SET fence = 7 WHERE id = 'r2'")
        saved = [SaveRun(run("r1", "running")), SaveRun(run("r2", "running"))]
        heard: list[Any] = []
        commit = asyncio.ensure_future(store.commit(saved, heard.append))
        await has_to_wait(other)
        await other.execute("UPDATE runs SET fence = 7 WHERE id = 'r1'")
        await other.commit()

        assert await commit == [None, None]
        assert heard == [[None, None]]
        assert await store.runs() == [run("r2", "running"), run("r1", "running")]


async def has_to_wait(other: "psycopg.AsyncConnection[Any]") -> None:
    """Returns when somebody waits for a lock that this connection holds."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))"
    async with asyncio.timeout(10):
        while True:
            if await (await other.execute(waiting)).fetchone() != (0,):
                return


async def test_of_several_processes_one_claims_a_run(postgres_url: str) -> None:
    async with opened(postgres_url) as one, opened(postgres_url) as two:
        await one.commit([KeepAlive("one", 60.0), KeepAlive("two", 60.0)])
        await one.commit([AddRun(run(f"r{number}")) for number in range(40)])

        async def claim_all(store: Store, owner: str) -> list[Any]:
            claims = [store.commit([ClaimRun(f"r{number}", owner)]) for number in range(40)]
            return [claimed and claimed.lease for [claimed] in await asyncio.gather(*claims)]

        ones, twos = await asyncio.gather(claim_all(one, "one"), claim_all(two, "two"))

        assert [(a is None) != (b is None) for a, b in zip(ones, twos, strict=True)] == [True] * 40
        assert {lease.fence for lease in [*ones, *twos] if lease is not None} == {1}


@pytest.mark.parametrize("hours", [-1, 1])
async def test_a_wrong_clock_neither_steals_nor_loses_runs(postgres_url: str, hours: int) -> None:
    right, wrong = HandClock(), HandClock()
    right.seconds = time.time()
    wrong.seconds = right.seconds + 3600 * hours
    async with opened(postgres_url, right) as one, opened(postgres_url, wrong) as other:
        await one.commit([AddRun(run("r1")), AddRun(run("r2"))])
        await one.commit([KeepAlive("right", 60.0), ClaimRun("r1", "right")])
        await other.commit([KeepAlive("wrong", 60.0), ClaimRun("r2", "wrong")])

        for store, owner in ((one, "right"), (other, "wrong")):
            assert await store.unowned_runs() == []
            assert await store.commit([ClaimRun("r1", owner), ClaimRun("r2", owner)]) == [None, None]
        assert abs(await one.moment() - await other.moment()) < 60


async def test_a_writer_whose_clock_is_years_behind_is_not_forgotten(postgres_url: str) -> None:
    behind = HandClock()
    behind.seconds = 0.0
    async with opened(postgres_url, behind) as store, opened(postgres_url):
        await settle_in(store)
        async with opened(postgres_url):
            assert (await store.history("s", at=lambda: "now"))[3] == "now"
        engine = PostgresEngine(postgres_url, patience=1.0)
        assert engine.writing.rows("SELECT count(*) FROM writers WHERE number > 1") == [(1,)]
        engine.close()


async def test_an_idle_connection_that_was_ended_is_not_noticed(postgres_url: str) -> None:
    async with opened(postgres_url) as store:
        await settle_in(store)
        await asyncio.gather(*(store.all_spaces() for _ in range(20)))
        await asyncio.to_thread(end_connections, postgres_url)
        assert await store.commit([AddMessage(message("m1"))]) == [1]
        await asyncio.to_thread(end_connections, postgres_url)
        assert await asyncio.gather(*(ids(store) for _ in range(8))) == [["m1"]] * 8


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
async def test_a_server_that_is_gone_refuses_and_heals(
    own_server: PostgresServer, how: signal.Signals
) -> None:
    async with opened(own_server.url) as store:
        await settle_in(store)
        heard: list[str] = []
        await asyncio.to_thread(own_server.stop, how)
        for number in range(3):
            with pytest.raises(Unavailable):
                await store.commit([AddMessage(message(f"lost{number}"))], lambda _: heard.append("lost"))
            with pytest.raises(Unavailable):
                await ids(store)
        await asyncio.to_thread(own_server.start)

        async with asyncio.timeout(15):
            while True:
                with contextlib.suppress(Unavailable):
                    await store.commit([AddMessage(message("m1"))], lambda _: heard.append("m1"))
                    break
            while (
                True
            ):  # Each connection that failed waits a moment before it asks again, those that read too.
                with contextlib.suppress(Unavailable):
                    found = await ids(store)
                    break
        assert (found, heard) == (["m1"], ["m1"])


Cut = Literal["before the commit", "after the commit"]


class CuttingWire:
    """Stands between a store and its server and cuts the connection around the next COMMIT, once."""

    def __init__(self, folder: Path, server: Path) -> None:
        self._server = str(server / ".s.PGSQL.5432")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / ".s.PGSQL.5432"))
        self._listener.listen()
        self.cut: Cut | None = None
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server, contextlib.suppress(OSError):
            server.connect(self._server)
            is_cut = threading.Event()
            back = threading.Thread(target=self._carry_back, args=(server, client, is_cut), daemon=True)
            back.start()
            while data := client.recv(65536):
                if b"COMMIT" in data and self.cut is not None:
                    cut, self.cut = self.cut, None
                    is_cut.set()
                    if cut == "after the commit":
                        server.sendall(data)
                    break
                server.sendall(data)
            client.shutdown(socket.SHUT_RDWR)
            server.shutdown(socket.SHUT_WR)
            back.join()

    def _carry_back(self, server: socket.socket, client: socket.socket, is_cut: threading.Event) -> None:
        """To the end, even if nobody listens: then the server has done what it was told."""
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                if not is_cut.is_set():
                    client.sendall(data)
            client.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@contextlib.contextmanager
def cutting_wire(url: str) -> Generator[tuple[CuttingWire, str]]:
    parts = urlsplit(url)
    options = parse_qs(parts.query)
    with tempfile.TemporaryDirectory(prefix="roomful-wire-") as folder:
        wire = CuttingWire(Path(folder), Path(options["host"][0]))
        query = f"host={quote(folder, safe='')}&schema={options['schema'][0]}"
        yield wire, parts._replace(query=query).geturl()
        wire.close()


SLOW = """
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_sleep(0.5); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON messages
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()"""


@pytest.mark.parametrize("is_slow", [False, True])
async def test_a_commit_whose_confirmation_was_lost_stands(postgres_url: str, is_slow: bool) -> None:
    with cutting_wire(postgres_url) as (wire, url):
        async with opened(url) as store:
            await settle_in(store)
            heard: list[int] = []
            if is_slow:
                engine = PostgresEngine(postgres_url, patience=1.0)
                engine.writing.rows(SLOW)
                engine.close()
            wire.cut = "after the commit"

            assert await store.commit([AddMessage(message("m1"))], lambda r: heard.append(r[0])) == [1]
            assert wire.cut is None
            assert (await ids(store), heard) == (["m1"], [1])


async def test_a_commit_that_was_lost_on_its_way_is_refused(postgres_url: str) -> None:
    with cutting_wire(postgres_url) as (wire, url):
        async with opened(url) as store:
            await settle_in(store)
            heard: list[int] = []
            wire.cut = "before the commit"

            with pytest.raises(Unavailable):
                await store.commit([AddMessage(message("m1"))], lambda r: heard.append(r[0]))
            assert (await ids(store), heard) == ([], [])
            assert await store.commit([AddSpace(space("t"))]) == [None]


@requirement("B-09")
async def test_processes_that_race_for_an_id_do_not_both_get_it(postgres_url: str) -> None:
    async with opened(postgres_url) as one, opened(postgres_url) as other:
        for number in range(50):
            first = one.commit([AddSpace(space(f"id{number}"))])
            second = other.commit([AddEntity(entity(f"id{number}", kind="agent"))])
            outcomes = await asyncio.gather(first, second, return_exceptions=True)
            assert [type(outcome) for outcome in outcomes if outcome != [None]] == [Conflict]
