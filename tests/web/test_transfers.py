"""Files on their way: bounded for all and for one, and nobody holds their room for ever."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from roomful.domain.errors import Unavailable
from roomful.web.routes import blobs
from roomful.web.transfers import Transfers
from tests.web.visiting import Visit, story


async def fits(transfers: Transfers, caller: str, size: int) -> bool:
    try:
        async with transfers.room_for(caller, size):
            return True
    except Unavailable:
        return False


def test_one_caller_cannot_take_everybodys_room() -> None:
    async def tell() -> None:
        transfers = Transfers(for_all=10, for_one=4, wait_seconds=0.01)
        async with transfers.room_for("ada", 4):
            assert not await fits(transfers, "ada", 1)
            assert await fits(transfers, "bob", 4)
            async with AsyncExitStack() as held:
                for caller in ("bob", "cy"):
                    await held.enter_async_context(transfers.room_for(caller, 3))
                assert not await fits(transfers, "dan", 1)
            assert await fits(transfers, "dan", 4)
        assert await fits(transfers, "ada", 4)

    asyncio.run(tell())


def test_who_waits_goes_on_when_there_is_room() -> None:
    async def tell() -> None:
        transfers = Transfers(for_all=4, for_one=4, wait_seconds=10)
        async with transfers.room_for("ada", 4):
            waiting = [asyncio.create_task(fits(transfers, "bob", 3)) for _ in range(3)]
            await asyncio.sleep(0)
            assert not any(task.done() for task in waiting)
        assert await asyncio.gather(*waiting) == [True] * 3

    asyncio.run(tell())


def test_a_reader_who_is_stuck_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blobs, "STALL_SECONDS", 0.05)

    @story()
    async def tell(house: Visit) -> None:
        ada = await house.person("ada")
        made = await house.ask("POST", "/api/blobs", b"x" * 200_000, token=ada)
        stream = house.open("GET", made.json["url"], token=ada)
        stream.hold.clear()
        async with asyncio.timeout(5):
            await stream.aborted.wait()
        await stream.over()
        assert await fits(house.app._desk.transfers, "ada", 64 * 1024 * 1024)  # pyright: ignore[reportPrivateUsage]

    tell()
