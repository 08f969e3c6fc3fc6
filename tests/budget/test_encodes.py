"""What an event costs: one encode in each form, and one write where many come together."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from roomful.domain import wire
from roomful.domain.events import Announcement, TextDelta
from tests.budget.counted import CountedHouse, calling, counted_house
from tests.web.visiting import Stream

DELTAS = 50


class Encodes:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self._encode = wire.encode_json
        monkeypatch.setattr(wire, "encode_json", self)

    def __call__(self, value: Any) -> bytes:
        self.count += 1
        return self._encode(value)


async def _told(house: CountedHouse, readers: list[Stream]) -> int:
    """Plays a run and gives how many events a reader was told of it."""
    await house.woken()
    for reader in readers:
        await reader.until(lambda stream: b"event: run.completed" in stream.sends[-1])
    return len(readers[0].heard()) - 1


@pytest.mark.parametrize("query", ["", "?args=ops"])
def test_an_event_is_encoded_once_however_many_read_it(
    query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encodes = Encodes(monkeypatch)

    async def story(count: int) -> tuple[int, int]:
        folder = tmp_path / str(count)
        folder.mkdir()
        async with counted_house(folder, monkeypatch, calling("card", deltas=DELTAS)) as house:
            readers = [await house.reader(query=query) for _ in range(count)]
            before = encodes.count
            told = await _told(house, readers)
            return encodes.count - before, told

    for count in (1, 10, 100):
        encoded, told = asyncio.run(story(count))
        assert told > DELTAS
        assert encoded <= told, f"{encoded} encodes of {told} events for {count} readers"


def test_what_comes_together_is_one_write_for_each_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with counted_house(tmp_path, monkeypatch) as house:
            readers = [await house.reader() for _ in range(10)]
            for turn in range(1, 4):
                _announce(house, 20)
                for reader in readers:
                    await reader.until(lambda stream: stream.text.count("text-delta") == 20 * turn)  # noqa: B023
                    assert len(reader.sends) == 1 + turn

    asyncio.run(story())


def _announce(house: CountedHouse, count: int) -> None:
    deltas = [TextDelta(part_id="prt_1", delta="x", offset=at) for at in range(count)]
    house.house.announcer([Announcement(event=delta, space_id="room") for delta in deltas])
