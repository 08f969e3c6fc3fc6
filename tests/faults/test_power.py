"""What was acknowledged is on the disk: it is there when the power comes back."""

import asyncio
import contextlib
import json
import random
import sqlite3
from pathlib import Path

import pytest

from roomful.store.doctor import examine
from tests.faults.disk import Disk
from tests.faults.posting import Place, Posters, settle_in, stored
from tests.servers.cluster import eventually
from tests.servers.roomful import Roomful

AT_REST = frozenset({"no_owner"})
"""What the doctor says of a house whose power failed, and no more."""


def found_in(file: Path) -> dict[str, Place]:
    with contextlib.closing(sqlite3.connect(file)) as connection:
        bodies = connection.execute("SELECT body FROM messages WHERE space_id = 'room'")
        messages = [json.loads(body) for (body,) in bodies]
    return {message["clientMessageId"]: (message["id"], message["seq"]) for message in messages}


def look_at(file: Path, acknowledged: dict[str, Place]) -> None:
    """The file as the power cut left it holds what was acknowledged before, and is whole."""
    found = found_in(file)
    lost = {key: place for key, place in acknowledged.items() if found.get(key) != place}
    assert lost == {}, f"{len(lost)} of {len(acknowledged)} were acknowledged and are gone"
    wrong = asyncio.run(examine(f"sqlite:///{file}"))
    assert [str(one) for one in wrong if one.check not in AT_REST] == []


def cut_again_and_again(
    house: Roomful, disk: Disk, folder: Path, luck: random.Random, cuts: int
) -> tuple[int, int]:
    """Looks at so many power cuts under load. Answers what was acknowledged, and by how many operations."""
    people = settle_in(house)
    before = disk.operations
    with Posters(house, people, "posted") as posters:
        for number in range(cuts):
            place = folder / f"cut-{number}"
            place.mkdir()
            with disk.held(luck.randint(1, 40)):
                acknowledged = posters.noted()
                disk.picture(place / "roomful.db", luck if number % 2 else None)
            look_at(place / "roomful.db", acknowledged)
        disk.die_in(luck.randint(1, 40))
        posters.join()
    eventually(lambda: not house.is_running, "the gateway is dead")
    disk.lose_power(luck)
    house.start()
    found = stored(people[0])
    assert {key: found.get(key) for key in posters.acknowledged} == posters.acknowledged
    assert posters.bad == []
    return len(posters.acknowledged), disk.operations - before


def test_what_was_acknowledged_outlives_a_power_cut(
    house_on_disk: Roomful, disk: Disk, tmp_path: Path
) -> None:
    count, operations = cut_again_and_again(house_on_disk, disk, tmp_path, random.Random(7), 20)
    print(f"21 cuts within {operations} writes and syncs, {count} messages acknowledged, none lost")
    assert count > 20


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_it_outlives_many_power_cuts(house_on_disk: Roomful, disk: Disk, tmp_path: Path, seed: int) -> None:
    count, operations = cut_again_and_again(house_on_disk, disk, tmp_path, random.Random(seed), 100)
    print(f"101 cuts within {operations} writes and syncs, {count} messages acknowledged, none lost")


def test_the_cut_finds_a_disk_that_lies(house_on_disk: Roomful, disk: Disk) -> None:
    """The tests above can fail: syncs that do nothing lose what was acknowledged."""
    people = settle_in(house_on_disk)
    disk.lie()
    with Posters(house_on_disk, people, "lied") as posters:
        posters.wait_for(201, 20)
    house_on_disk.kill()
    disk.lose_power()
    house_on_disk.start()

    assert not posters.acknowledged.keys() & stored(people[0]).keys()
