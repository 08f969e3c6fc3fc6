"""A disk that is full, locked or broken: refused in words, never acknowledged, and whole again when it is."""

import asyncio
import contextlib
import errno
import os
import random
import resource
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import httpx
import pytest

from roomful.store.doctor import examine
from tests.faults.disk import Disk
from tests.faults.posting import Posters, settle_in, stored
from tests.faults.test_power import look_at
from tests.servers.roomful import Caller, Roomful

Fault = Callable[[Roomful, Disk], contextlib.AbstractContextManager[None]]


@pytest.fixture(scope="module")
def at_work(tmp_path_factory: pytest.TempPathFactory, library: Path) -> Iterator[tuple[Roomful, Disk]]:
    """One gateway for all faults that heal: it is never restarted."""
    folder = tmp_path_factory.mktemp("failing")
    disk = Disk(folder, library, folder / "roomful.db")
    with Roomful(folder, **disk.environment) as house:
        yield house, disk


@pytest.fixture(scope="module")
def people(at_work: tuple[Roomful, Disk]) -> list[Caller]:
    return settle_in(at_work[0])


@contextlib.contextmanager
def full_disk(_: Roomful, disk: Disk) -> Generator[None]:
    disk.fail_writes(errno.ENOSPC)
    yield
    disk.heal()


@contextlib.contextmanager
def full_in_the_middle(_: Roomful, disk: Disk) -> Generator[None]:
    disk.fail_writes(errno.ENOSPC, after=3)
    yield
    disk.heal()


@contextlib.contextmanager
def broken_writes(_: Roomful, disk: Disk) -> Generator[None]:
    disk.fail_writes(errno.EIO, after=1)
    yield
    disk.heal()


@contextlib.contextmanager
def locked(house: Roomful, _: Disk) -> Generator[None]:
    """Another process holds the file longer than a write waits for it."""
    with contextlib.closing(sqlite3.connect(house.folder / "roomful.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@pytest.mark.parametrize("fault", [full_disk, full_in_the_middle, broken_writes, locked])
def test_a_failing_disk_refuses_and_heals(
    at_work: tuple[Roomful, Disk], people: list[Caller], fault: Fault, tmp_path: Path
) -> None:
    house, disk = at_work
    with Posters(house, people, fault.__name__) as posters:
        posters.wait_for(201, 8)
        with fault(house, disk):
            posters.wait_for(503, 6)
            assert house.client.get(f"{house.url}/healthz").status_code == 200
        healed = time.monotonic()
        posters.wait_for(201, 8)
        print(f"{fault.__name__}: heals after {time.monotonic() - healed:.2f} s, {dict(posters.answers)}")
        with disk.held(5):
            acknowledged = posters.noted()
            disk.picture(tmp_path / "roomful.db")
        look_at(tmp_path / "roomful.db", acknowledged)

    mine = {key: place for key, place in stored(people[0]).items() if key.startswith(fault.__name__)}
    assert mine == posters.acknowledged
    assert posters.bad == []
    assert asyncio.run(examine(house.database)) == []


def test_files_at_their_limit_refuse_and_heal(house: Roomful) -> None:
    """The limit is that of the process: a disk of ours inside of it would meet it too."""
    people = settle_in(house)
    before = resource.prlimit(house.pid, resource.RLIMIT_FSIZE)
    with Posters(house, people, "limit") as posters:
        posters.wait_for(201, 8)
        resource.prlimit(house.pid, resource.RLIMIT_FSIZE, (40_000, before[1]))
        posters.wait_for(503, 6)
        resource.prlimit(house.pid, resource.RLIMIT_FSIZE, before)
        posters.wait_for(201, 8)

    assert stored(people[0]) == posters.acknowledged
    assert posters.bad == []
    assert asyncio.run(examine(house.database)) == []


def test_short_writes_are_finished(
    at_work: tuple[Roomful, Disk], people: list[Caller], tmp_path: Path
) -> None:
    house, disk = at_work
    disk.shorten_writes()
    with Posters(house, people, "short") as posters:
        posters.wait_for(201, 30)
        with disk.held(5):
            acknowledged = posters.noted()
            disk.picture(tmp_path / "roomful.db", random.Random(3))
        look_at(tmp_path / "roomful.db", acknowledged)
    disk.heal()

    assert set(posters.answers) == {201}
    assert posters.acknowledged.items() <= stored(people[0]).items()


def test_a_checkpoint_that_is_not_synced_costs_nothing(
    at_work: tuple[Roomful, Disk], people: list[Caller], tmp_path: Path
) -> None:
    house, disk = at_work
    disk.fail_sync("main")
    with Posters(house, people, "checkpoint", size=30_000) as posters:
        while not disk.has_failed:
            posters.wait_for(201, 8)
        posters.wait_for(201, 8)
        with disk.held(5):
            acknowledged = posters.noted()
            disk.picture(tmp_path / "roomful.db", random.Random(3))
        look_at(tmp_path / "roomful.db", acknowledged)

    assert set(posters.answers) == {201}


def test_a_failed_sync_ends_writing_until_a_restart(house_on_disk: Roomful, disk: Disk) -> None:
    house = house_on_disk
    people = settle_in(house)
    with Posters(house, people, "before") as posters:
        posters.wait_for(201, 8)
        disk.fail_sync("wal")
        posters.wait_for(503, 8)
        acknowledged = posters.noted()
        posters.wait_for(503, 20)
        assert posters.noted() == acknowledged
        assert posters.bad == []
    assert stored(people[0]) == acknowledged
    assert house.client.get(f"{house.url}/readyz").status_code == 503
    assert house.log.read_text().count("the database cannot be written") == 1

    house.kill()
    house.start()
    with Posters(house, people, "after") as later:
        later.wait_for(201, 20)
    house.kill()
    disk.lose_power()
    house.start()
    found = stored(people[0])
    expected = acknowledged | later.acknowledged
    assert {key: found.get(key) for key in expected} == expected
    assert asyncio.run(examine(house.database)) == []


def test_a_full_database_refuses_and_heals_when_something_is_removed(tmp_path: Path) -> None:
    with Roomful(tmp_path, database=f"sqlite:///{tmp_path / 'roomful.db'}?max_page_count=160") as house:
        people = settle_in(house)
        house.space("full", people[0].id)
        big = {"text": "x" * 20_000}
        answers: list[httpx.Response] = []
        while not answers or answers[-1].status_code == 201:
            answers.append(people[0].request("POST", "/api/spaces/full/messages", big))
        assert (answers[-1].status_code, answers[-1].headers["retry-after"]) == (503, "1")
        assert "full" in answers[-1].json()["detail"]
        assert len(answers) > 2
        kept = people[0].messages("full")
        assert len(kept) == len(answers) - 1
        house.admin.call("DELETE", "/api/spaces/full", expect=204)
        people[0].say("room", "There is room again.")
    assert asyncio.run(examine(f"sqlite:///{tmp_path / 'roomful.db'}")) == []


@pytest.mark.parametrize("damage", ["garbage", "cut short"])
def test_a_gateway_does_not_start_over_a_damaged_file(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "roomful.db"
    _serve_nothing(tmp_path)
    content = file.read_bytes()
    file.write_bytes(os.urandom(4096) + content[4096:] if damage == "garbage" else content[:6000])
    before = file.read_bytes()
    command = [sys.executable, "-m", "roomful.cli", "serve", "--port", "0"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    assert ended.returncode == 1
    assert "roomful.db is damaged" in ended.stderr
    assert "Restore a backup" in ended.stderr
    assert file.read_bytes() == before


def _serve_nothing(folder: Path) -> None:
    command = [sys.executable, "-m", "roomful.cli", "migrate"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)
