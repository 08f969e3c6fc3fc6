"""Whole gateways in one process, with everything around them from a seed: time, ids, models, tools, disks,
networks, people and what goes wrong. After each history the promises hold, whatever happened in it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.history import Told, tell

AT_ONCE = 5
MANY = 100


def _told(seed: int, tmp_path: Path) -> Told:
    (folder := tmp_path / str(seed)).mkdir(parents=True)
    told = tell(seed, folder)
    again = f"python -m tests.simulation {seed}"
    assert not told.problems, f"{again} repeats it:\n" + "\n".join(told.problems)
    return told


@pytest.mark.parametrize("first", range(0, 60, AT_ONCE))
def test_the_promises_hold_in_every_history(first: int, tmp_path: Path) -> None:
    told = [_told(seed, tmp_path) for seed in range(first, first + AT_ONCE)]
    assert sum(one.events for one in told)
    assert sum(one.runs for one in told)


@pytest.mark.parametrize("seed", [10_646, 11_800, 11_928, 11_941])
def test_what_failed_once_holds(seed: int, tmp_path: Path) -> None:
    _told(seed, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("first", range(10_000, 13_000, MANY))
def test_the_promises_hold_in_many_histories(first: int, tmp_path: Path) -> None:
    told = [_told(seed, tmp_path) for seed in range(first, first + MANY)]
    print(
        f"{MANY} histories from {first}: {sum(one.events for one in told)} events,"
        f" {sum(one.runs for one in told)} runs, {sum(one.crashes for one in told)} crashes"
    )


def test_one_seed_is_one_history(tmp_path: Path) -> None:
    first, second = _told(3, tmp_path / "a"), _told(3, tmp_path / "b")
    assert first.lines == second.lines
    assert _told(4, tmp_path / "a").digest != first.digest


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_one_seed_is_one_history_in_every_process(hash_seed: str, tmp_path: Path) -> None:
    here = _told(5, tmp_path)
    there = subprocess.run(
        [sys.executable, "-m", "tests.simulation", "5"],
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert there.stdout.split()[1] == here.digest, there.stdout
