"""What only SQLite promises: one process per file, a damaged file left alone, a full disk survived."""

import asyncio
import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from roomful.domain.changes import AddMessage, AddSpace, RemoveSpace
from roomful.domain.errors import Unavailable
from roomful.domain.ports import Store
from roomful.store import CannotOpen, open_store
from roomful.store.sqlite import SqliteEngine
from tests.store.things import HandClock, ids, message, say, seqs, settle_in, space

ROOT = Path(__file__).parents[2]


@contextlib.asynccontextmanager
async def opened(url: str, patience: float = 2.0) -> AsyncIterator[Store]:
    store = await open_store(url, HandClock(), patience=patience)
    try:
        yield store
    finally:
        await store.close()


def child(program: str, *arguments: str) -> "subprocess.Popen[str]":
    """Another process with the same code."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


HOLD = """
import asyncio, sys
from roomful.store import open_store
from tests.store.things import HandClock

async def main():
    store = await open_store(sys.argv[1], HandClock())
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await store.close()

asyncio.run(main())
"""

POST = """
import asyncio, itertools, sys
from roomful.domain.changes import AddMessage
from roomful.store import open_store
from tests.store.things import HandClock, message, settle_in

async def produce(store, producer):
    for number in itertools.count():
        [seq] = await store.commit([AddMessage(message(f"m-{producer}-{number}"))])
        print(seq, f"m-{producer}-{number}", flush=True)

async def main():
    store = await open_store(sys.argv[1], HandClock())
    await settle_in(store)
    await asyncio.gather(*(produce(store, producer) for producer in range(8)))

asyncio.run(main())
"""

DIE_MIGRATING = """
import os, sys
from roomful.store import migrate
from roomful.store.sqlite import SqliteDatabase

SqliteDatabase.commit = lambda self: os._exit(9)
migrate(sys.argv[1])
"""

FILL = """
import asyncio, resource, signal, sys
from roomful.domain.changes import AddMessage
from roomful.domain.errors import Unavailable
from roomful.store import open_store
from tests.store.things import HandClock, ids, message, settle_in

async def main():
    store = await open_store(sys.argv[1], HandClock())
    await settle_in(store)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
    heard = []
    refused = 0
    for number in range(400):
        try:
            await store.commit([AddMessage(message(f"m{number}", "x" * 5000))], lambda r: heard.append(r[0]))
        except Unavailable:
            refused += 1
    assert refused, "the disk was never full"
    assert heard == list(range(1, len(heard) + 1)), heard
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert await store.commit([AddMessage(message("healed"))]) == [len(heard) + 1]
    assert len(await ids(store)) == len(heard) + 1
    await store.close()
    print("healed", refused)

asyncio.run(main())
"""


async def test_every_commit_is_synced(sqlite_url: str) -> None:
    engine = SqliteEngine(sqlite_url, patience=1.0)

    assert engine.writing.rows("PRAGMA synchronous") == [(2,)]
    assert engine.writing.rows("PRAGMA journal_mode") == [("wal",)]
    assert engine.writing.rows("PRAGMA foreign_keys") == [(1,)]
    engine.close()


async def test_a_second_process_is_refused_until_the_first_is_gone(sqlite_url: str, tmp_path: Path) -> None:
    with child(HOLD, sqlite_url) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "open\n"
        with pytest.raises(CannotOpen, match=r"roomful\.db is in use by another .* postgresql://"):
            await open_store(sqlite_url, HandClock())
        first.send_signal(signal.SIGKILL)

    async with opened(sqlite_url) as store:
        await settle_in(store)
        with pytest.raises(CannotOpen, match="in use"):
            await open_store(sqlite_url, HandClock())


async def test_what_was_answered_outlives_a_kill(sqlite_url: str) -> None:
    with child(POST, sqlite_url) as posting:
        assert posting.stdout is not None
        answered = [posting.stdout.readline().split() for _ in range(300)]
        posting.send_signal(signal.SIGKILL)
        answered += [
            line.split() for line in posting.stdout.read().splitlines(keepends=True) if line.endswith("\n")
        ]

    async with opened(sqlite_url) as store:
        stored: dict[str, str] = {}
        after = 0
        while rows := (await store.history("s", after=after, limit=1000, at=lambda: None))[0]:
            stored |= {str(row.seq): row.id for row in rows}
            after = rows[-1].seq

    assert list(stored) == [str(seq) for seq in range(1, len(stored) + 1)]
    assert {seq: stored.get(seq) for seq, _ in answered} == dict(answered)


async def test_a_kill_while_migrating_leaves_the_old_schema(sqlite_url: str) -> None:
    with child(DIE_MIGRATING, sqlite_url) as dying:
        assert dying.wait(30) == 9

    async with opened(sqlite_url) as store:
        await settle_in(store)


@pytest.mark.parametrize("damage", ["garbage", "torn schema"])
async def test_a_damaged_file_is_refused_and_left_as_it_is(
    sqlite_url: str, tmp_path: Path, damage: str
) -> None:
    file = tmp_path / "roomful.db"
    async with opened(sqlite_url) as store:
        await settle_in(store)
        await say(store, "hello")
    content = bytearray(file.read_bytes())
    content[0 if damage == "garbage" else 100 : 4096] = os.urandom(4096 - (0 if damage == "garbage" else 100))
    file.write_bytes(content)

    with pytest.raises(CannotOpen, match=r"roomful\.db is damaged .* Restore a backup"):
        await open_store(sqlite_url, HandClock())
    assert file.read_bytes() == bytes(content)


async def test_a_file_cut_short_is_refused(sqlite_url: str, tmp_path: Path) -> None:
    async with opened(sqlite_url) as store:
        await settle_in(store)
    file = tmp_path / "roomful.db"
    os.truncate(file, 6000)

    with pytest.raises(CannotOpen, match="damaged"):
        await open_store(sqlite_url, HandClock())


async def test_the_database_of_another_program_is_refused(sqlite_url: str, tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "roomful.db")) as other:
        other.execute("CREATE TABLE recipes (id INTEGER)")

    with pytest.raises(CannotOpen, match="not one of Roomful's"):
        await open_store(sqlite_url, HandClock())


async def test_a_journal_without_its_file_is_refused(sqlite_url: str, tmp_path: Path) -> None:
    async with opened(sqlite_url) as store:
        await settle_in(store)
        shutil.copy(tmp_path / "roomful.db-wal", tmp_path / "kept")
    (tmp_path / "roomful.db").unlink()
    (tmp_path / "kept").rename(tmp_path / "roomful.db-wal")

    with pytest.raises(CannotOpen, match="is gone but its journal"):
        await open_store(sqlite_url, HandClock())
    assert not (tmp_path / "roomful.db").exists()


async def test_a_full_database_refuses_and_heals(sqlite_url: str) -> None:
    async with opened(sqlite_url + "?max_page_count=120") as store:
        await settle_in(store)
        await store.commit([AddSpace(space("t"))])
        heard: list[int] = []
        commits = [
            store.commit(
                [AddMessage(message(f"m{n}", "x" * 5000, space_id="s"))], lambda r: heard.append(r[0])
            )
            for n in range(600)
        ]
        outcomes = await asyncio.gather(*commits, return_exceptions=True)

        refused = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        assert {type(outcome) for outcome in refused} == {Unavailable}
        assert "full" in str(refused[0])
        assert await seqs(store) == heard == list(range(1, 600 - len(refused) + 1))
        assert await store.commit([RemoveSpace("s")]) == [None]
        assert await store.commit([AddMessage(message("fits", space_id="t"))]) == [1]


def test_a_full_disk_refuses_and_heals(sqlite_url: str) -> None:
    with child(FILL, sqlite_url) as filling:
        said, _ = filling.communicate(timeout=60)

    assert said.startswith("healed")


async def test_a_locked_database_refuses_and_heals(sqlite_url: str, tmp_path: Path) -> None:
    async with opened(sqlite_url, patience=0.05) as store:
        await settle_in(store)
        heard: list[str] = []
        with contextlib.closing(sqlite3.connect(tmp_path / "roomful.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(Unavailable, match="locked"):
                await store.commit([AddMessage(message("m1"))], lambda _: heard.append("m1"))
            assert await ids(store) == []
            other.execute("ROLLBACK")
        await store.commit([AddMessage(message("m2"))], lambda _: heard.append("m2"))

        assert (await ids(store), heard) == (["m2"], ["m2"])


async def test_memory_forgets(tmp_path: Path) -> None:
    async with opened("sqlite://:memory:") as store, opened("sqlite://:memory:") as other:
        await settle_in(store)
        assert await other.all_spaces() == []
    async with opened("sqlite://:memory:") as store:
        assert await store.all_spaces() == []


async def test_a_relative_file_is_where_we_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with opened("sqlite:///a%20name.db"):
        assert (tmp_path / "a name.db").stat().st_mode & 0o777 == 0o600
