"""What a run writes: so many commits and rows, and no more of them for more deltas."""

import asyncio
from pathlib import Path

import pytest

from roomful.spaces import voice
from tests.budget.counted import NEVER, Done, calling, counted_house, listed

COMMITS = 7
"""The message that wakes it; its own message, its ready call, the step with the outcome; the text, that step,
and the end."""
ROWS = 16
"""Run and where it shows itself, place and message, twice each; call, message and step as each changes."""
READS = 11
"""What an agent is told before it is asked, and where it may speak before each of two steps."""


def _run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, deltas: int, readers: int = 0, spaces: int = 0
) -> Done:
    async def story() -> Done:
        async with counted_house(folder, monkeypatch, calling("card", deltas=deltas)) as house:
            for _ in range(readers):
                await house.reader()
            for number in range(spaces):
                await house.gateway.space(f"room-{number}", "ada", "helper")
            await house.asked("GET", "/api/spaces/room/messages")
            with house.counting() as done:
                await house.woken()
        return done

    folder.mkdir()
    return asyncio.run(story())


def test_the_commits_and_rows_of_a_run_do_not_grow_with_its_deltas_readers_or_spaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for what grows being saved from time to time, which a count cannot wait for."""
    monkeypatch.setattr(voice, "SAVE_SECONDS", NEVER)
    short = _run(tmp_path / "short", monkeypatch, 200)
    long = _run(tmp_path / "long", monkeypatch, 2000)
    read = _run(tmp_path / "read", monkeypatch, 200, readers=3)
    at_home = _run(tmp_path / "at_home", monkeypatch, 200, spaces=20)

    for done in (short, long, read, at_home):
        assert done.commits <= COMMITS, listed(done.statements)
        assert done.rows_written <= ROWS, listed(done.statements)
        assert len(done.reads) <= READS, listed(done.reads)
    assert (long.commits, long.rows_written) == (short.commits, short.rows_written)
