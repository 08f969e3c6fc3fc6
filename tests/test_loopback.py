"""Doubles leave no connection open, so that no later test is blamed for it."""

import asyncio
import gc
import socket
import warnings

import pytest

from tests.servers.loopback import listening_at


@pytest.mark.parametrize("turns", range(6))
@pytest.mark.parametrize("is_gone", [False, True], ids=["stays", "goes"])
def test_who_came_just_before_the_end_is_not_left_open(turns: int, is_gone: bool) -> None:
    async def handle(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)

    async def story() -> None:
        with socket.socket() as client:
            async with listening_at(handle) as port:
                client.connect(("127.0.0.1", port))
                if is_gone:
                    client.close()
                for _ in range(turns):
                    await asyncio.sleep(0)

    gc.collect()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ResourceWarning)
        asyncio.run(story())
        gc.collect()
    assert [str(one.message) for one in warned] == []
