"""Agents that always address each other stop inside the bounds, and everybody can see why."""

from pathlib import Path

import pytest

from tests.http.storming import Figures, Storm, Voices
from tests.requirements import requirement
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.inhouse import InHouse


def rage(folder: Path, *storms: Storm) -> list[Figures]:
    voices = Voices()
    with FakeOpenAI(voices) as model, InHouse(folder) as house:
        figures = [
            storm.rage(house, model, voices, listens=number % 5 == 0) for number, storm in enumerate(storms)
        ]
    for one in figures:
        print(one)
    return figures


@requirement("X-06")
@pytest.mark.parametrize("first", range(0, 25, 5))
def test_agents_that_always_mention_each_other_stop(tmp_path: Path, first: int) -> None:
    seeds = range(first, first + 5)
    rage(tmp_path, *(Storm(seed, steers=seed % 5 == 1, runsPerRoot=8, depth=5, maxSteps=6) for seed in seeds))


@requirement("X-06")
@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 1000, 100))
def test_agents_stop_inside_the_bounds_in_a_thousand_graphs(tmp_path: Path, first: int) -> None:
    figures = rage(tmp_path, *(Storm(seed, steers=seed % 25 == 1) for seed in range(first, first + 100)))
    runs = [one.runs for one in figures]
    print(f"{sum(runs)} runs, at most {max(runs)}, {max(one.depth for one in figures)} deep")
    print(f"the longest took {max(one.seconds for one in figures):.2f} s")
