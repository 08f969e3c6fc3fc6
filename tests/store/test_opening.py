"""Opening: the schema comes up to date, and what cannot be used is refused in words."""

import asyncio
from importlib import resources

import pytest

from roomful.domain.changes import AddMessage
from roomful.domain.ports import Store
from roomful.domain.run_changes import KeepAlive
from roomful.store import CannotOpen, migrate, migrating, open_store
from roomful.store.sqlite import SqliteEngine
from tests.store.things import HandClock, ids, message, say, settle_in

VERSIONS = [
    int(file.name[:4])
    for file in resources.files("roomful.store").joinpath("migrations").iterdir()
    if file.name.endswith(".sql")
]


def test_an_empty_database_is_brought_up_to_date_once(url: str) -> None:
    assert migrate(url) == sorted(VERSIONS)
    assert migrate(url) == []


async def test_opening_brings_it_up_to_date_too(url: str, clock: HandClock) -> None:
    store = await open_store(url, clock)
    await store.close()

    assert await asyncio.to_thread(migrate, url) == []


async def test_what_is_stored_outlives_a_restart(url: str, clock: HandClock) -> None:
    store = await open_store(url, clock)
    await settle_in(store)
    await say(store, "one", "two")
    await store.close()
    store = await open_store(url, clock)

    assert await store.commit([AddMessage(message("m3"))]) == [3]
    assert await ids(store) == ["m1", "m2", "m3"]
    await store.close()


async def test_a_database_of_a_newer_roomful_is_refused(
    url: str, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = migrating.Migration(999, "future", ["CREATE TABLE future (id TEXT)"])
    with monkeypatch.context() as patch:
        patch.setattr(migrating, "_migrations", lambda: [newest])
        await asyncio.to_thread(migrate, url)

    for attempt in (asyncio.to_thread(migrate, url), open_store(url, clock)):
        with pytest.raises(CannotOpen, match=r"version 999 .* newer Roomful"):
            await attempt


def test_a_migration_that_fails_leaves_the_old_schema(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    migrate(url)
    first = migrating.Migration(1000, "half", ["CREATE TABLE half (id TEXT)", "CREATE GARBAGE"])
    mended = migrating.Migration(1000, "half", ["CREATE TABLE half (id TEXT)"])
    monkeypatch.setattr(migrating, "_migrations", lambda: [first])
    with pytest.raises(Exception, match="GARBAGE"):
        migrate(url)
    monkeypatch.setattr(migrating, "_migrations", lambda: [mended])

    assert migrate(url) == [1000]


async def test_workers_and_writers_long_gone_are_forgotten(sqlite_url: str, clock: HandClock) -> None:
    for number in range(4):
        store = await open_store(sqlite_url, clock)
        await store.commit([KeepAlive(f"w{number}", 10.0)])
        assert (await store.history("s", at=lambda: "now"))[3] == "now"
        await store.close()
        clock.seconds += 8 * 86_400
    engine = SqliteEngine(sqlite_url, patience=1.0)

    assert engine.writing.rows("SELECT id FROM workers") == [("w3",)]
    assert engine.writing.rows("SELECT count(*) FROM writers") == [(1,)]
    engine.close()


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        ("mysql://localhost/x", "begins with sqlite:// or postgresql://"),
        ("roomful.db", "begins with sqlite:// or postgresql://"),
        ("sqlite://roomful.db", "names no file"),
        ("sqlite:///", "names no file"),
        ("sqlite:///x.db?mode=ro", "no option but max_page_count"),
        ("sqlite:////nowhere/at/all/x.db", "No such file or directory"),
        ("postgresql://localhost/x?schema=Robert'); DROP", "cannot be a schema"),
    ],
)
async def test_a_url_that_names_no_database_is_refused(odd: str, words: str, clock: HandClock) -> None:
    with pytest.raises(CannotOpen, match=words):
        await open_store(odd, clock)


async def test_both_engines_are_a_store(store: Store) -> None:
    """The type checker has the last word; this says that it looks at the right thing."""
    wanted = {name for name in dir(Store) if not name.startswith("_")}

    assert wanted <= set(dir(store))
