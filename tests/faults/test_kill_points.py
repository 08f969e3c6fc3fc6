"""A gateway dies by SIGKILL at any point of a story, and another one goes on.

A failure names its story, database, seed and point; `ROOMFUL_TEST_POINT` plays that one again.
"""

import os
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from tests.faults.databases import Databases, PostgresDatabases, SqliteFiles
from tests.faults.killing import Death, Stage, Story, Theatre
from tests.faults.stories import STORIES
from tests.faults.zygote import Doomed
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer

POINTS = {"plain": 22, "three-spaces": 25, "http-tool": 26, "form": 25, "mentions": 26, "sub-agent": 26}
"""How many of each story's are played in a short test: 150."""
LEAST = {"plain": 29, "three-spaces": 73, "http-tool": 70, "form": 41, "mentions": 100, "sub-agent": 119}
"""How many each story has, on either database; the long test plays them all."""
LEAST_OF_MAKING = 26
"""Points at which a database is made."""
LEASED = 14
"""Of each story, with the lease that is usual."""
HALVES = 2
"""The points of a story are shared by so many tests; the second one's models take their time."""
DEFAULT_LEASE: dict[str, str] = {}
a_story = pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)


def spread(points: Sequence[str]) -> list[int]:
    """All numbers of points, such that the first few are of as many kinds as there can be: one of each kind,
    then another one of each."""
    kinds: dict[str, list[int]] = {}
    for number, what in enumerate(points, 1):
        kinds.setdefault(what, []).append(number)
    rounds = max(len(numbers) for numbers in kinds.values())
    return [numbers[turn] for turn in range(rounds) for numbers in kinds.values() if turn < len(numbers)]


def kill_at(theatre: Theatre, numbers: Iterable[int], most: int, seed: int = 0) -> int:
    """How many of them were come to; one that was not is no death."""
    killed = 0
    for fatal in numbers:
        killed += theatre.play(Death(fatal, seed=seed)).was_killed
        if killed == most:
            break
    return killed


@pytest.mark.parametrize("half", range(HALVES))
@a_story
def test_killed_at_a_point_of_any_kind_a_story_comes_to_its_end(
    tmp_path: Path, stage: Stage, story: Story, half: int
) -> None:
    with Theatre(story, SqliteFiles(tmp_path), stage) as theatre:
        numbers = spread(theatre.play(Death(seed=half)).points)[half::HALVES]
        wanted = len(range(half, POINTS[story.name], HALVES))
        assert kill_at(theatre, numbers, wanted, seed=half) == wanted


@pytest.fixture(params=["sqlite", "postgres"])
def databases(request: pytest.FixtureRequest, tmp_path: Path) -> Databases:
    if request.param == "sqlite":
        return SqliteFiles(tmp_path)
    return PostgresDatabases(request.getfixturevalue("postgres"))


SEEDS = {"sqlite": 1, "postgres": 2}


@pytest.mark.long
@a_story
def test_killed_at_every_point_a_story_comes_to_its_end(
    databases: Databases, stage: Stage, story: Story
) -> None:
    """Until it survives."""
    with Theatre(story, databases, stage) as theatre:
        fatal = 1
        while theatre.play(Death(fatal, seed=SEEDS[databases.name])).was_killed:
            fatal += 1
        print(f"{story.name} on {databases.name}: {fatal - 1} points")
        assert fatal > LEAST[story.name]


@pytest.mark.long
@a_story
def test_killed_at_a_point_another_gateway_goes_on_within_its_lease(
    postgres: PostgresServer, redis: RedisServer, stage: Stage, story: Story
) -> None:
    databases = PostgresDatabases(postgres)
    with Theatre(story, databases, stage, bus=redis.url, lease=DEFAULT_LEASE) as theatre:
        assert kill_at(theatre, spread(theatre.play().points), LEASED, seed=3) == LEASED


@pytest.mark.long
@a_story
def test_killed_at_any_moment_a_story_comes_to_its_end(tmp_path: Path, stage: Stage, story: Story) -> None:
    dice = random.Random(f"moments of {story.name}")
    with Theatre(story, SqliteFiles(tmp_path), stage) as theatre:
        longest = theatre.play().seconds
        killed = [
            theatre.play(Death(seconds=dice.uniform(0.001, longest), seed=seed)).was_killed
            for seed in range(1, 31)
        ]
        print(f"{story.name}: {sum(killed)} moments")


def test_killed_while_it_makes_a_database_a_gateway_makes_the_rest(tmp_path: Path, stage: Stage) -> None:
    files = SqliteFiles(tmp_path)
    fatal = 1
    while _is_killed_opening(files, stage, fatal):
        fatal += 3
    assert fatal > 16


@pytest.mark.long
def test_killed_at_every_point_of_making_a_database_a_gateway_makes_the_rest(
    databases: Databases, stage: Stage
) -> None:
    fatal = 1
    while _is_killed_opening(databases, stage, fatal):
        fatal += 1
    print(f"{fatal - 1} points")
    assert fatal > LEAST_OF_MAKING


def test_the_long_test_has_a_thousand_points() -> None:
    on_both = sum(LEAST[story.name] for story in STORIES) + LEAST_OF_MAKING
    assert 2 * on_both + LEASED * len(STORIES) >= 1000


def _is_killed_opening(databases: Databases, stage: Stage, fatal: int) -> bool:
    url = databases.new()
    gateway = Doomed(stage.zygote, stage.new_folder("opening"), database=url, fatal=fatal)
    with gateway:
        if gateway.was_killed:
            ada = gateway.person("ada")
            gateway.space("room", "ada")
            assert ada.say("room", "hello")["message"]["seq"] == 1
        gateway.kill()
    databases.drop(url)
    return gateway.was_killed


@pytest.mark.long
def test_one_point_again(tmp_path: Path, stage: Stage, request: pytest.FixtureRequest) -> None:
    which = os.environ.get("ROOMFUL_TEST_POINT")
    if which is None:
        pytest.skip("ROOMFUL_TEST_POINT names no story:database:seed:point")
    name, engine, seed, fatal = which.split(":")
    story = next(one for one in STORIES if one.name == name)
    databases = (
        PostgresDatabases(request.getfixturevalue("postgres"))
        if engine == "postgres"
        else SqliteFiles(tmp_path)
    )
    with Theatre(story, databases, stage) as theatre:
        played = theatre.play(Death(int(fatal), seed=int(seed)))
        print(*(f"{number} {what}" for number, what in enumerate(played.points, 1)), sep="\n")
