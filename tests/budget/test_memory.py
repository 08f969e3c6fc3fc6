"""What is kept: for a delta until it leaves the window, for a reader while it reads, and nothing afterwards.

Counted in blocks of memory, which are about as many as there are objects.
"""

import asyncio
import gc
import socket
import sys
from pathlib import Path

import pytest

from roomful.bus.channel import WINDOW_EVENTS
from roomful.web import readers
from tests.budget.counted import NEVER, CountedHouse, calling, counted_house
from tests.routing.counting import Counter
from tests.servers.inhouse import InHouse
from tests.servers.roomful import PATIENCE, Caller
from tests.servers.watched import wait_until
from tests.web.visiting import Stream

DELTAS = 1000
BLOCKS_PER_DELTA = 16
"""Event, operation, announcement, place in the log, and their texts: 14.3 blocks on average."""
BLOCKS_PER_READER = 130
"""Socket, connection, request, stream, feed and subscription, with a task; and the client: 124 on average."""
TASKS_PER_READER = 1
"""It writes. The server tells it when the client hangs up."""
CYCLES = 10
"""Objects that only the garbage collector finds, which stops everything while it looks; none is of a run."""
CYCLES_PER_READER = 8
"""Those of asyncio's own transport. That of uvloop, which `roomful serve` has, leaves none."""
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
                assert kept <= BLOCKS_PER_DELTA * DELTAS, f"{kept / DELTAS} blocks a delta"
            await _run(house, reader)
            kept = sum([await _run(house, reader) for _ in range(3)])
            assert kept <= SLACK, f"{kept} blocks of 3 runs that nobody can read any more"

    asyncio.run(story())


@pytest.mark.parametrize("tool", ["card", "form", "ask_scout"])
def test_what_a_run_leaves_behind_goes_without_the_garbage_collector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    runs = 10

    async def story() -> int:
        async with counted_house(tmp_path, monkeypatch, calling(tool, deltas=DELTAS)) as house:
            await house.reader(query="?args=ops")
            await house.woken()
            gc.collect()
            for _ in range(runs):
                await house.woken()
            return gc.collect()

    gc.disable()
    try:
        left = asyncio.run(story())
    finally:
        gc.enable()
    assert left <= CYCLES, f"{left / runs} objects a run"


def _open(ada: Caller, space_id: str) -> socket.socket:
    """A stream of which the snapshot was read."""
    line = socket.create_connection(("127.0.0.1", ada.house.port), PATIENCE)
    head = (
        f"GET /api/spaces/{space_id}/stream HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {ada.token}"
    )
    line.sendall(f"{head}\r\n\r\n".encode())
    read = b""
    while b"event: snapshot" not in read:
        piece = line.recv(65536)
        assert piece, read
        read += piece
    return line


def test_an_idle_reader_is_a_few_objects_and_a_task_until_it_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "CHECK_SECONDS", NEVER)
    count = 100
    with InHouse(tmp_path, lease_seconds=NEVER, heartbeat_seconds=NEVER, limit_streams=0) as house:
        ada, space_id = house.person("ada"), house.space("quiet", "ada")
        idle = house.tasks
        _open(ada, space_id).close()
        wait_until(lambda: house.tasks <= idle)
        before = _blocks()
        lines = [_open(ada, space_id) for _ in range(count)]
        kept, working = _blocks() - before, house.tasks - idle
        for line in lines:
            line.close()
        wait_until(lambda: house.tasks <= idle)
        cycles = gc.collect()
        left = _blocks() - before
    assert kept <= BLOCKS_PER_READER * count, f"{kept / count} blocks a reader"
    assert working <= TASKS_PER_READER * count + count // 10, f"{working} tasks for {count} readers"
    assert cycles <= CYCLES_PER_READER * count + CYCLES, f"{cycles / count} cyclic objects a reader"
    assert left <= SLACK, f"{left} blocks are left of {count} readers"


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
