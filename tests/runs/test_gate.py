"""However many come at once, one passes, and what else the event loop has to do is done before the next."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

from roomful.runs.gate import PATIENCE_SECONDS, Gate


class Turns:
    """Counts the turns of the event loop, each of which takes so long by the clock that is shown."""

    def __init__(self, seconds: float) -> None:
        self.count = 0
        self._seconds = seconds
        self._next = asyncio.get_running_loop().call_soon(self._turn)

    def steady(self) -> float:
        return self.count * self._seconds

    def _turn(self) -> None:
        self.count += 1
        self._next = asyncio.get_running_loop().call_soon(self._turn)

    def stop(self) -> None:
        self._next.cancel()


def passing(seconds: float, story: Callable[[Gate, Turns], Awaitable[None]]) -> None:
    async def main() -> None:
        turns = Turns(seconds)
        try:
            async with asyncio.timeout(10):
                await story(Gate(turns.steady), turns)
        finally:
            turns.stop()

    asyncio.run(main())


async def passed_in(gate: Gate, turns: Turns, who: int) -> tuple[int, int]:
    await gate.passed()
    return who, turns.count


def test_one_passes_in_a_turn_in_the_order_in_which_they_came() -> None:
    async def story(gate: Gate, turns: Turns) -> None:
        passed = await asyncio.gather(*(passed_in(gate, turns, who) for who in range(20)))
        in_order = sorted(passed, key=lambda each: each[1])
        assert [who for who, _ in in_order] == list(range(20))
        assert len({turn for _, turn in passed}) == 20

    passing(0.0, story)


def test_while_the_loop_has_much_to_do_the_next_one_waits_but_not_for_ever() -> None:
    slow = PATIENCE_SECONDS / 4

    async def story(gate: Gate, turns: Turns) -> None:
        passed = await asyncio.gather(*(passed_in(gate, turns, who) for who in range(5)))
        moments = [turn for _, turn in passed]
        waited = [later - sooner for sooner, later in pairwise(moments)]
        assert all(4 <= turns <= 5 for turns in waited), waited

    passing(slow, story)


def test_who_is_canceled_while_waiting_holds_nobody_up() -> None:
    async def story(gate: Gate, turns: Turns) -> None:
        first, *rest = [asyncio.create_task(passed_in(gate, turns, who)) for who in range(4)]
        await first
        rest[0].cancel()
        assert [who for who, _ in await asyncio.gather(*rest[1:])] == [2, 3]
        assert rest[0].cancelled()

    passing(0.0, story)


def test_who_comes_alone_does_not_wait() -> None:
    async def story(gate: Gate, turns: Turns) -> None:
        for _ in range(3):
            came = turns.count
            await gate.passed()
            assert turns.count == came
            for _ in range(5):
                await asyncio.sleep(0)

    passing(0.0, story)
