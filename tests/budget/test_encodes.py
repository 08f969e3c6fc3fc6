"""What an event costs: one encode in each form, and one write where many come together."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from roomful.domain import wire
from roomful.domain.events import Announcement, TextDelta
from roomful.spaces import history
from tests.budget.counted import CountedHouse, calling, counted_house
from tests.web.visiting import Stream

DELTAS = 50


class Encodes:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, where: ModuleType = wire) -> None:
        self.count = 0
        self._encode: Callable[[Any], bytes] = where.encode_json
        monkeypatch.setattr(where, "encode_json", self)

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


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("limit=20", range(41, 61)),
        ("limit=20&before=31", range(11, 31)),
        ("limit=20&after=5", range(6, 26)),
        ("limit=3&q=all", range(58, 61)),
        ("limit=200", range(1, 61)),
    ],
)
def test_of_what_grows_only_that_is_encoded_which_may_be_on_the_page(
    query: str, numbers: range, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with counted_house(tmp_path, monkeypatch) as house:
            for _ in range(60):
                said = await house.say("all", "quiet")
                stored = await house.house.store.message("quiet", said["message"]["id"])
                assert stored is not None
                stored.status, stored.parts[0].status = "open", "streaming"
                house.house.announcer.adopt(stored)
                delta = TextDelta(part_id=stored.parts[0].id, delta=f" of {stored.seq}", offset=3)
                house.house.announcer([Announcement(event=delta, space_id="quiet")])
            encodes = Encodes(monkeypatch, history)
            page = await house.asked("GET", f"/api/spaces/quiet/messages?{query}")
            texts = [message["parts"][0]["text"] for message in page["messages"]]
            assert texts == [f"all of {number}" for number in numbers]
            if "q=" not in query:
                assert encodes.count <= 2 * len(numbers)

    asyncio.run(story())
