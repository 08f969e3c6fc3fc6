"""What is kept: for a delta until it leaves the window, for a reader while it reads, and nothing afterwards.

Counted in blocks of memory, which are about as many as there are objects.
"""

import asyncio
import gc
import sys
from pathlib import Path

import pytest

from roomful.bus.memory import WINDOW_EVENTS
from tests.budget.counted import CountedHouse, calling, counted_house
from tests.routing.counting import Counter
from tests.web.visiting import Stream

DELTAS = 1000
BLOCKS_PER_DELTA = 16
"""Event, operation, announcement, place in the log, and their texts: 14.3 blocks on average."""
BLOCKS_PER_READER = 110
"""Stream, feed, subscription, two tasks, and in a test the request and its client: 93 blocks on average."""
TASKS_PER_READER = 2
"""One writes, one listens for the client's hanging up."""
SLACK = 1000
"""Blocks that come and go: caches, free lists, and growing tables."""


def _blocks() -> int:
    gc.collect()
    return sys.getallocatedblocks()


async def _run(house: CountedHouse, reader: Stream) -> int:
    """How many blocks more there are after a run, when its reader has thrown away what it read."""
    before = _blocks()
    await house.woken()
    await reader.until(lambda stream: b"event: run.completed" in stream.sends[-1])
    reader.sends[:] = [b""]
    return _blocks() - before


def test_a_delta_keeps_little_and_nothing_once_the_window_has_moved_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with counted_house(tmp_path, monkeypatch, calling("card", deltas=DELTAS)) as house:
            reader = await house.reader(query="?args=ops")
            for _ in range(WINDOW_EVENTS // DELTAS):
                kept = await _run(house, reader)
                assert kept <= BLOCKS_PER_DELTA * DELTAS + SLACK, f"{kept / DELTAS} blocks a delta"
            await _run(house, reader)
            kept = sum([await _run(house, reader) for _ in range(3)])
            assert kept <= SLACK, f"{kept} blocks of 3 runs that nobody can read any more"

    asyncio.run(story())


def test_an_idle_reader_is_a_few_objects_and_two_tasks_until_it_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 100

    async def story() -> None:
        async with counted_house(tmp_path, monkeypatch) as house:
            await house.reader("quiet")
            await house.leave()
            before, tasks = _blocks(), len(asyncio.all_tasks())
            for _ in range(count):
                (await house.reader("quiet")).sends.clear()
            kept, working = _blocks() - before, len(asyncio.all_tasks()) - tasks
            assert kept <= BLOCKS_PER_READER * count + SLACK, f"{kept / count} blocks a reader"
            assert working <= TASKS_PER_READER * count + 1, f"{working} tasks; one looks after all readers"
            await house.leave()
            await asyncio.sleep(0)
            left = _blocks() - before
            assert left <= SLACK, f"{left} blocks are left of {count} readers"
            assert len(asyncio.all_tasks()) == tasks

    asyncio.run(story())


def test_a_run_looks_at_every_character_of_its_arguments_a_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deltas, size = 2000, 8
    counter = Counter(monkeypatch)

    async def story() -> None:
        async with counted_house(tmp_path, monkeypatch, calling("card", deltas=deltas, size=size)) as house:
            await house.reader(query="?args=ops")
            counter.begin()
            await house.woken()
            counter.check(deltas * size, deltas)

    asyncio.run(story())
