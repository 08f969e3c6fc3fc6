"""What is done a moment later."""

import asyncio
import random
from collections import Counter

from roomful.spaces.later import SHARES, STEP, Later
from tests.simulation.loop import SimLoop


def test_all_that_grows_is_saved_in_few_moments_and_none_too_late() -> None:
    loop = SimLoop(random.Random(0))
    came: dict[int, float] = {}
    saved: dict[int, float] = {}

    async def story() -> None:
        for number in range(200):
            Later(0.25).come(lambda number=number: saved.update({number: loop.time()}))
            came[number] = loop.time()
            await asyncio.sleep(0.001)
        await asyncio.sleep(1)

    loop.run(story(), until=2)
    assert len(saved) == 200
    assert all(0.25 - STEP <= saved[number] - came[number] <= 0.25 for number in came)
    assert len(set(saved.values())) <= 0.2 / STEP + 1


def test_those_who_begin_together_are_not_all_saved_in_one_moment() -> None:
    loop = SimLoop(random.Random(0))
    saved: list[float] = []

    async def story() -> None:
        for number in range(100):
            Later(0.25, share=number).come(lambda: saved.append(loop.time()))
        await asyncio.sleep(1)

    loop.run(story(), until=2)
    together = Counter(saved)
    assert list(together.values()) == [100 // SHARES] * SHARES
    assert all(0.25 - STEP <= moment <= 0.25 for moment in together)
