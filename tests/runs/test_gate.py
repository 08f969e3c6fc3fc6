"""However many come at once, they pass some time apart, and longer apart the more are under way."""

import asyncio
import random
from collections.abc import Coroutine
from itertools import pairwise
from typing import Any, Self

import pytest

from roomful.runs.gate import APART_AT_MOST_SECONDS, APART_SECONDS, FEW, FOR_EACH_SECONDS, Gate
from tests.simulation.loop import SimLoop


def play(story: Coroutine[Any, Any, None]) -> None:
    SimLoop(random.Random(1)).run(story, until=1000)


def now() -> float:
    return asyncio.get_running_loop().time()


class Runs:
    """Each waits at the gate, then is under way until it is told to leave."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.passed: dict[int, float] = {}
        self.tasks: list[asyncio.Task[None]] = []
        self._ends: list[asyncio.Event] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.wait(self.tasks)

    def come(self, count: int) -> None:
        for _ in range(count):
            self._ends.append(asyncio.Event())
            self.tasks.append(asyncio.create_task(self._run(len(self.tasks))))

    def leave(self, *numbers: int) -> None:
        for number in numbers:
            self._ends[number].set()

    async def _run(self, number: int) -> None:
        async with self.gate:
            self.passed[number] = now()
            await self._ends[number].wait()


def apart(under_way: int) -> float:
    return min(APART_SECONDS + FOR_EACH_SECONDS * under_way, APART_AT_MOST_SECONDS)


def test_they_pass_in_the_order_in_which_they_came_and_longer_apart_the_more_they_are() -> None:
    async def story() -> None:
        async with Runs() as runs:
            runs.come(100)
            await asyncio.sleep(2)
            assert list(runs.passed) == list(range(100))
            waited = [later - sooner for sooner, later in pairwise(runs.passed.values())]
            assert waited == pytest.approx([0.0] * (FEW - 1) + [apart(number) for number in range(FEW, 100)])
            assert waited[-1] == pytest.approx(APART_AT_MOST_SECONDS)

    play(story())


def test_while_few_are_under_way_nobody_waits() -> None:
    async def story() -> None:
        async with Runs() as runs:
            for number in range(50):
                runs.come(1)
                came = now()
                await asyncio.sleep(0)
                assert runs.passed[number] == came
                if number >= FEW - 1:
                    runs.leave(number - FEW + 1)
                    await asyncio.sleep(0)

    play(story())


def test_who_comes_alone_does_not_wait_however_many_are_under_way() -> None:
    async def story() -> None:
        async with Runs() as runs:
            for number in range(50):
                runs.come(1)
                came = now()
                await asyncio.sleep(1)
                assert runs.passed[number] == came

    play(story())


def test_who_leaves_lets_the_next_one_in_once_there_are_few() -> None:
    async def story() -> None:
        async with Runs() as runs:
            runs.come(FEW + 2)
            await asyncio.sleep(APART_SECONDS / 2)
            assert len(runs.passed) == FEW
            runs.leave(0)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert runs.passed[FEW] == now()
            assert len(runs.passed) == FEW + 1

    play(story())


@pytest.mark.parametrize("at_the_same_moment", [False, True])
def test_who_is_canceled_while_waiting_holds_nobody_up(at_the_same_moment: bool) -> None:
    async def story() -> None:
        async with Runs() as runs:
            runs.come(FEW + 3)
            await asyncio.sleep(apart(FEW) if at_the_same_moment else 0)
            runs.tasks[FEW].cancel()
            await asyncio.sleep(1)
            assert sorted(runs.passed) == [number for number in range(FEW + 3) if number != FEW]
            runs.leave(*range(FEW + 3))
            await asyncio.wait(runs.tasks)
            runs.come(FEW)
            came = now()
            await asyncio.sleep(0)
            assert [runs.passed[number] for number in range(FEW + 3, 2 * FEW + 3)] == [came] * FEW

    play(story())
