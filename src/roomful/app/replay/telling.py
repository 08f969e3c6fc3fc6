"""The order of the story: one thing at a time. Whoever can go on does so, those of whom it is known when they
did at that time, and nobody before the house has come to rest."""

import asyncio
from collections.abc import Callable

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
        self._shown = 0
        self._said: set[str] = set()
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
        stage, calm = self._stage, 0
        async with asyncio.timeout(PATIENCE_SECONDS) as limit:
            while calm < 2:
                await asyncio.sleep(LOOK_SECONDS)
                moves = stage.worker.driving != stage.gates.standing or stage.worker.claiming
                is_calm = (
                    not moves and not stage.store.figures().commits_waiting and not await self._take_up()
                )
                calm = calm + 1 if is_calm else 0
        if limit.expired():
            raise Unavailable("the house did not come to rest while it told the story")

    async def _take_up(self) -> bool:
        """Those that wait for their turn, or were woken, begin."""
        taken = [await self._stage.worker.claim(run_id) for run_id in await self._stage.store.unowned_runs()]
        return any(taken)

    async def _next(self) -> tuple[Gate | None, Act | None]:
        """What comes next: a run that goes on, or something from outside."""
        gates = [gate for gate in self._stage.gates.open if await self._has_all(gate)]
        acts = [act for act in self._left if await self._stage.actors.is_ready(act)]
        places = (0, len(self._said) + 1)
        gate = min((one for one in gates if one.seq in places), key=_moment, default=None)
        act = min((one for one in acts if one.seq in places), key=_moment, default=None)
        if gate is not None and act is not None:
            return (gate, None) if _moment(gate) <= _moment(act) else (None, act)
        if gate is None and act is None:
            return next(iter(gates or self._stage.gates.open), None), next(iter(acts), None)
        return gate, act

    async def _has_all(self, gate: Gate) -> bool:
        """Whether the run was handed the messages that it had in the story."""
        if not gate.awaits:
            return True
        handed = await self._stage.store.handed(gate.run_id)
        return {one.message_id for one in handed}.issuperset(gate.awaits)

    async def _look(self, *, at_the_end: bool = False) -> None:
        """What the space holds by now; what is complete is shown."""
        space_id = self._plot.story.space_id
        new = await read_messages(self._stage.store, space_id, after=self._shown)
        self._said.update(message.id for message in new)
        for message in new:
            if message.status != "final" and not at_the_end:
                break
            self._show(message)
            self._shown += 1


def _given(plot: Plot) -> list[str]:
    messages = [*plot.given_messages.items(), *plot.left_out.items()]
    found = [f"message {key}: {why}" for key, why in messages]
    found += [f"run {key}: {why}" for key, why in plot.given_runs.items()]
    return found + [f"agent {one}: its configuration is that of the end of the story" for one in plot.changed]


def _moment(one: Gate | Act) -> tuple[str, int]:
    return one.at, one.seq


def _name(act: Act) -> str:
    return type(act).__name__.lower()
