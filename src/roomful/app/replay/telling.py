"""The order of the story: one thing at a time. Whoever can go on does so, those of whom it is known when they
did at that time, and nobody before the house has come to rest."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

import msgspec

from roomful.app.exporting import read_messages
from roomful.app.replay.gates import Gate
from roomful.app.replay.stage import Stage, set_stage
from roomful.domain.errors import RoomfulError, Unavailable
from roomful.domain.messages import Message
from roomful.domain.runs import Run
from roomful.domain.shape import UNSET
from roomful.recall.story.acts import Act, Cancel
from roomful.recall.story.comparing import Difference, first_difference
from roomful.recall.story.plot import Plot, plot_of
from roomful.recall.story.records import Story

LOOK_SECONDS = 0.001
CALM = 5
"""How many turns of the loop nothing moves when the house is at rest."""
PATIENCE_SECONDS = 30.0


class Told(msgspec.Struct, frozen=True):
    messages: int
    runs: int
    """How many were told again."""
    given_messages: int
    given_runs: int
    given: list[str]
    """What was put in its place as it was recorded, or is not compared, each with the reason."""
    difference: Difference | None


async def replay(story: Story, show: Callable[[Message], None]) -> Told:
    """Tells a story again and compares. `show` is given every message, in order, as it is complete."""
    plot = plot_of(story)
    stage = await set_stage(plot)
    try:
        teller = Teller(plot, stage, show)
        await teller.tell()
        return await teller.result()
    finally:
        await stage.close()


class Teller:
    def __init__(self, plot: Plot, stage: Stage, show: Callable[[Message], None]) -> None:
        self._plot = plot
        self._stage = stage
        self._show = show
        self._left = list(plot.acts)
        self._unshown: deque[str] = deque()
        self._said = 0
        self._strays = stage.models.strays

    async def tell(self) -> None:
        while True:
            await self._rest()
            await self._look()
            gate, act = await self._next()
            if gate is not None:
                self._stage.clock.move(gate.at)
                self._stage.gates.let(gate)
            elif act is not None:
                self._left.remove(act)
                await self._do(act)
            else:
                break
        for act in self._left:
            if not isinstance(act, Cancel):
                self._strays.append(f"what happened at {act.at or 'some time'} cannot happen: {_name(act)}")
        await self._look(at_the_end=True)

    async def result(self) -> Told:
        messages = await read_messages(self._stage.store, self._plot.story.space_id)
        names = self._stage.cast.names
        recorded = map(self._plot.comparable, self._plot.story.messages)
        difference = first_difference([*recorded], [*map(self._plot.comparable, messages)], names)
        told = [one.run for one in self._plot.story.runs if one.run.id not in self._plot.given_runs]
        for run in told:
            difference = difference or await self._run_difference(run)
        if difference is None and self._strays:
            difference = Difference(self._strays[0], UNSET, UNSET)
        plot = self._plot
        return Told(
            messages=len(plot.story.messages) - len(plot.given_messages),
            runs=len(told),
            given_messages=len(plot.given_messages),
            given_runs=len(plot.given_runs),
            given=_given(plot),
            difference=difference,
        )

    async def _run_difference(self, recorded: Run) -> Difference | None:
        run = await self._stage.cast.find(recorded)
        place = f"run {recorded.id} of {recorded.agent_id}"
        if run is None:
            return Difference(place, recorded.status, "did not begin")
        if run.status != recorded.status:
            return Difference(f"{place}, status", recorded.status, run.status)
        return None

    async def _do(self, act: Act) -> None:
        try:
            await self._stage.actors.do(act)
        except RoomfulError as error:
            self._strays.append(f"{_name(act)} was refused: {error.detail}")

    async def _rest(self) -> None:
        """Until every run stands, waits or has ended, and nothing is left to be stored."""
        calm = 0
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while calm < CALM:
                    await asyncio.sleep(0 if calm else LOOK_SECONDS)
                    calm = calm + 1 if self._is_calm() and not await self._take_up() else 0
        except TimeoutError:
            raise Unavailable("the house did not come to rest while it told the story") from None

    def _is_calm(self) -> bool:
        worker = self._stage.worker
        if worker.claiming or worker.driving != self._stage.gates.standing:
            return False
        return self._stage.store.figures().commits_waiting == 0

    async def _take_up(self) -> bool:
        """Those that wait for their turn, or were woken, begin."""
        taken = [await self._stage.worker.claim(run_id) for run_id in await self._stage.store.unowned_runs()]
        return any(taken)

    async def _next(self) -> tuple[Gate | None, Act | None]:
        """What comes next: a run that goes on, or something from outside. What begins a message waits for its
        place in the space, unless nothing else is left."""
        gates = [gate for gate in self._stage.gates.open if await self._has_all(gate)]
        places = (0, self._said + 1)
        gate = min((one for one in gates if one.seq in places), key=_moment, default=None)
        act = await self._first_ready([one for one in self._left if one.seq in places])
        if gate is not None and act is not None:
            return (gate, None) if _moment(gate) <= _moment(act) else (None, act)
        if gate is None and act is None:
            gate = next(iter(gates or self._stage.gates.open), None)
            return gate, await self._first_ready(self._left) if gate is None else None
        return gate, act

    async def _first_ready(self, acts: Sequence[Act]) -> Act | None:
        for act in acts:
            if await self._stage.actors.is_ready(act):
                return act
        return None

    async def _has_all(self, gate: Gate) -> bool:
        """Whether the run was handed the messages that it had in the story."""
        if not gate.awaits:
            return True
        handed = await self._stage.store.handed(gate.run_id)
        return {one.message_id for one in handed}.issuperset(gate.awaits)

    async def _look(self, *, at_the_end: bool = False) -> None:
        """What the space holds by now; what is complete is shown."""
        store, space_id = self._stage.store, self._plot.story.space_id
        for message in await read_messages(store, space_id, after=self._said):
            self._unshown.append(message.id)
            self._said = message.seq
        while self._unshown:
            message = await store.message(space_id, self._unshown[0])
            if message is not None and message.status != "final" and not at_the_end:
                break
            if message is not None:
                self._show(message)
            self._unshown.popleft()


def _given(plot: Plot) -> list[str]:
    messages = [*plot.given_messages.items(), *plot.left_out.items()]
    found = [f"message {key}: {why}" for key, why in messages]
    found += [f"run {key}: {why}" for key, why in plot.given_runs.items()]
    return found + [f"agent {one}: its configuration is that of the end of the story" for one in plot.changed]


def _moment(one: Gate | Act) -> tuple[str, int]:
    return one.at, one.seq


def _name(act: Act) -> str:
    return type(act).__name__.lower()
