"""Looking into a run: everything that it and those below it did, and how far they may still go."""

import contextlib

from roomful.domain.entities import Principal
from roomful.domain.errors import Invalid, NotFound
from roomful.domain.inspection import Bound, Inspection, NamedSpace
from roomful.domain.ports import Descent, Store
from roomful.domain.runs import Run
from roomful.domain.shape import UNSET
from roomful.recall.inspection import cost_of_all, inspected, spaces_in, usage_of
from roomful.runs.agents import Agents
from roomful.runs.bounds import Bounds
from roomful.runs.past import Past, read_past
from roomful.runs.worker import Worker
from roomful.spaces.access import owns


class Inspecting:
    def __init__(self, *, store: Store, agents: Agents, bounds: Bounds, worker: Worker) -> None:
        self._store = store
        self._agents = agents
        self._bounds = bounds
        self._worker = worker

    async def inspect(self, principal: Principal, run: Run) -> Inspection:
        """For somebody who owns the run's agent."""
        past = await read_past(self._store, run.id)
        below = await self._below(past)
        everything = [run, *below.runs]
        agents = {id: await self._store.agent(id) for id in {one.agent_id for one in everything}}
        mine = {one.id for one in everything if owns(principal, agents[one.agent_id])}
        names = {agent.id: agent.name for agent in agents.values() if agent is not None}
        runs = inspected(run, below, mine, names)
        return Inspection(
            run=run,
            runs=runs,
            spaces=await self._spaces(spaces_in(runs)),
            bounds=await self._limited(run, past),
            usage=usage_of(runs),
            cost=cost_of_all(runs) if len(mine) == len(everything) else UNSET,
        )

    async def _below(self, past: Past) -> Descent:
        """All that the run led to by its calls, with its own calls and steps."""
        found = await self._store.descent([call.id for call in past.calls if call.waits_for == "child_run"])
        steps = sorted([*past.steps, *past.written.values()], key=lambda step: step.number)
        return Descent(runs=found.runs, calls=[*past.calls, *found.calls], steps=[*steps, *found.steps])

    async def _limited(self, run: Run, past: Past) -> list[Bound]:
        """None when the agent is not there any more, or its configuration is no good: nothing is in force."""
        voice = self._worker.voice(run.id)
        with contextlib.suppress(NotFound, Invalid):
            limits = (await self._agents.written_for(run)).limits
            return await self._bounds.used(limits, run if voice is None else voice.run, past)
        return []

    async def _spaces(self, ids: list[str]) -> list[NamedSpace]:
        found = [await self._store.space(id) for id in ids]
        return [NamedSpace(space_id=space.id, name=space.name) for space in found if space is not None]
