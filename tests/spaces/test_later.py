"""What is done a moment later."""

import asyncio
import random

from roomful.spaces.later import STEP, Later
from tests.simulation.loop import SimLoop


def test_all_that_grows_is_saved_in_few_moments_and_none_too_late() -> None:
    loop = SimLoop(random.Random(0))
    came: dict[int, float] = {}
    saved: dict[int, float] = {}

    async def story() -> None:
        for number in range(200):
            later = Later(0.25, lambda number=number: saved.update({number: loop.time()}))
            later.come()
            came[number] = loop.time()
            await asyncio.sleep(0.001)
        await asyncio.sleep(1)

    loop.run(story(), until=2)
    assert len(saved) == 200
    assert all(0.25 - STEP <= saved[number] - came[number] <= 0.25 for number in came)
    assert len(set(saved.values())) <= 0.2 / STEP + 1
