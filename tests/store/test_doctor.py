"""The doctor finds nothing in a database that the house wrote, and each wrong row that somebody planted."""

import asyncio
import random
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from roomful.domain.changes import EraseEntity, RemoveMember, RemoveSpace
from roomful.domain.errors import Unavailable
from roomful.store import CannotOpen, migrate, migrating, open_store
from roomful.store.doctor import CHECKS, Examined, Finding, check_up, examine
from tests.store.planted import PLANTED, shown_at
from tests.store.things import LATER, HandClock
from tests.store.whole_house import Spoiler, furnish


async def test_nothing_is_wrong_with_what_the_house_writes(url: str) -> None:
    await furnish(url)

    counts = {"spaces": 2, "messages": 7, "runs": 4, "calls": 5, "blobs": 2}
    assert await check_up(url) == Examined(counts, [])


@pytest.mark.parametrize("planted", PLANTED)
async def test_a_planted_row_is_found(url: str, planted: str) -> None:
    plant, expected = PLANTED[planted]
    await furnish(url)
    spoiler = Spoiler(url)
    plant(spoiler)
    spoiler.close()
    found = await examine(url)

    assert [(one.check, one.table, one.row) for one in found] == [row[:3] for row in expected]
    for one, (*_, words) in zip(found, expected, strict=True):
        assert words in one.problem
    assert str(found[0]).startswith(f"{expected[0][0]}: {expected[0][1]} {expected[0][2]}: ")


async def test_what_was_erased_is_not_missed(url: str) -> None:
    await furnish(url)
    store = await open_store(url, HandClock())
    await store.commit([RemoveMember("s", "ann"), EraseEntity("ann", LATER), RemoveSpace("t")])
    await store.close()

    assert await examine(url) == []


async def test_a_canceled_part_of_an_earlier_try_is_no_second_outcome(url: str) -> None:
    await furnish(url)
    spoiler = Spoiler(url)
    shown_at(spoiler, "answered", "p2")
    again = {"id": "p0", "status": "canceled", "answeredBy": None, "answeredAt": None}
    spoiler.body("messages", "m3", lambda m3: m3["parts"].append(_changed(m3["parts"][1], again)))
    found = await examine(url)
    assert found == []

    spoiler.part("m3", -1, status="error")
    spoiler.close()
    [wrong] = await examine(url)
    assert (wrong.check, wrong.row) == ("two_winners", "s/3")
    assert wrong.problem.startswith("part p0 is error and not complete")


def _changed(part: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """What is None goes."""
    return {key: value for key, value in {**part, **changes}.items() if value is not None}


async def test_one_state_is_examined_while_others_write(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await furnish(url)
    spoiler = Spoiler(url)
    [(before,)] = spoiler("SELECT last_seq FROM spaces WHERE id = 's'")

    def spoil_meanwhile(_: object) -> Any:
        spoiler("UPDATE spaces SET last_seq = ? WHERE id = 's'", before + 5)
        yield from ()

    with monkeypatch.context() as patch:
        patch.setattr("roomful.store.doctor.CHECKS", (spoil_meanwhile, *CHECKS))
        assert await examine(url) == []
    assert [one.check for one in await examine(url)] == ["seq_gap"]
    spoiler.close()


async def test_a_database_without_a_schema_is_not_given_one(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        first = migrating.Migration(1, "first", ["CREATE TABLE spaces (id TEXT)"])
        patch.setattr(migrating, "_migrations", lambda: [first])
        await asyncio.to_thread(migrate, url)
    with pytest.raises(
        CannotOpen, match=r"has schema version 1 and this Roomful needs \d+: run roomful migrate"
    ):
        await examine(url)

    newer = migrating.Migration(999, "future", ["CREATE TABLE future (id TEXT)"])
    monkeypatch.setattr(migrating, "_migrations", lambda: [newer])
    await asyncio.to_thread(migrate, url)
    monkeypatch.undo()
    with pytest.raises(CannotOpen, match="has schema version 999"):
        await examine(url)


async def test_an_empty_schema_of_postgres_is_left_empty(postgres_url: str) -> None:
    with pytest.raises(CannotOpen, match="has schema version 0"):
        await examine(postgres_url)


async def test_a_database_that_does_not_answer_is_told(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="cannot be reached"):
        await examine(f"postgresql://nobody@/none?host={tmp_path}")


@pytest.mark.parametrize("seed", [0, 18])
async def test_a_damaged_page_is_found_and_ends_the_search(
    sqlite_url: str, tmp_path: Path, seed: int
) -> None:
    """Also such damage that SQLite cannot go on looking for more."""
    await furnish(sqlite_url)
    file = tmp_path / "roomful.db"
    spoiler = Spoiler(sqlite_url)
    [(page,)] = spoiler("SELECT rootpage FROM sqlite_master WHERE name = 'messages_by_entity'")
    spoiler("PRAGMA wal_checkpoint(TRUNCATE)")
    spoiler.close()
    with file.open("r+b") as damaged:
        damaged.seek((page - 1) * 4096 + 8)
        damaged.write(random.Random(seed).randbytes(64))
    found = await examine(sqlite_url)

    assert {(one.check, one.table) for one in found} == {("damaged", "file")}
    assert "restore a backup" in found[0].problem.lower()


async def test_a_guest_of_a_dead_process_changes_nothing(sqlite_url: str, tmp_path: Path) -> None:
    """The journal of a process that was killed is read and stays where it is."""
    await furnish(sqlite_url)
    spoiler = Spoiler(sqlite_url)
    spoiler("UPDATE spaces SET last_seq = 8 WHERE id = 's'")
    left = tmp_path / "left"
    left.mkdir()
    for name in ("roomful.db", "roomful.db-wal"):
        shutil.copy(tmp_path / name, left / name)
    spoiler.close()
    before = {path.name: path.read_bytes() for path in left.iterdir()}
    found = await examine(f"sqlite:///{left / 'roomful.db'}")

    assert [one.check for one in found] == ["seq_gap"]
    assert {name: (left / name).read_bytes() for name in before} == before


def doctor(folder: Path, *arguments: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "roomful.cli", "doctor", *arguments]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    return ran.returncode, ran.stdout, ran.stderr


async def test_the_command_says_what_is_wrong_and_how_much_it_saw(sqlite_url: str, tmp_path: Path) -> None:
    await furnish(sqlite_url)
    seen = "checked 2 spaces, 7 messages, 4 runs, 5 calls, 2 blobs"
    assert doctor(tmp_path) == (0, f"{seen}: nothing wrong\n", "")

    spoiler = Spoiler(sqlite_url)
    spoiler("DELETE FROM workers")
    spoiler("UPDATE spaces SET last_seq = 8 WHERE id = 's'")
    spoiler.close()
    found = await examine(sqlite_url)
    assert found[0] == Finding("seq_gap", "messages", "s/8", "message 8 is missing: restore a backup")
    printed = "".join(f"{one}\n" for one in found)
    assert doctor(tmp_path, "--database", sqlite_url) == (1, f"{printed}{seen}: 2 wrong\n", "")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "There is no database"),
        (b"", "has schema version 0 and this Roomful needs"),
        (b"no database at all" * 500, "is damaged"),
    ],
)
def test_the_command_makes_no_database(tmp_path: Path, content: bytes | None, words: str) -> None:
    file = tmp_path / "other.db"
    if content is not None:
        file.write_bytes(content)
    code, printed, complaint = doctor(tmp_path, "--database", "sqlite:///other.db")

    assert (code, printed) == (1, "")
    assert complaint.startswith("roomful: ")
    assert words in complaint
    assert complaint.count("\n") == 1
    assert (file.read_bytes() if file.exists() else None) == content


def test_another_programs_database_is_told(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "recipes.db")
    connection.execute("CREATE TABLE recipes (id INTEGER)")
    connection.close()
    code, _, complaint = doctor(tmp_path, "--database", "sqlite:///recipes.db")

    assert (code, "has schema version 0" in complaint) == (1, True)
