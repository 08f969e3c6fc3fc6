"""How far one trigger may lead: how deep, how wide, how fast, how dear. A bound that is hit is seen."""

from datetime import datetime

from roomful.domain.agents import AgentSpec, Limits
from roomful.domain.changes import Change
from roomful.domain.errors import OverBound
from roomful.domain.inspection import Bound
from roomful.domain.messages import BOUND_PART, ToolCallPart
from roomful.domain.ports import Clock, Ids, Store
from roomful.domain.run_changes import ExpectRoom
from roomful.domain.runs import Run
from roomful.domain.shape import UNSET
from roomful.runs.past import Past
from roomful.runs.schedules import iso_of

PAIR_SECONDS = 60.0


def too_many_calls(limits: Limits) -> OverBound:
    return OverBound(
        "callsPerRun",
        f"the run made its {limits.calls_per_run} calls (limits.callsPerRun) and wanted to make more",
    )


class Bounds:
    def __init__(self, store: Store, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids

    def room_for(self, limits: Limits, by: Run, whom: str | None = None) -> list[Change]:
        """The change that finds out whether `by` may lead to another run, and may wake `whom` again.
        Raises OverBound when it is too deep already."""
        if by.depth + 1 > limits.depth:
            raise OverBound("depth", f"runs may start runs {limits.depth} deep (limits.depth)")
        if whom is None:
            return [ExpectRoom(root_run_id=by.root_run_id, runs_per_root=limits.runs_per_root)]
        return [self._room(limits, by.root_run_id, by.agent_id, whom)]

    def room_for_outside(self, agent_id: str, run: Run) -> Change:
        """Whether an agent outside, whose runs nobody here knows, may start this run of another one."""
        return self._room(Limits(), run.root_run_id, agent_id, run.agent_id)

    def _room(self, limits: Limits, root_run_id: str, by: str, whom: str) -> ExpectRoom:
        return ExpectRoom(
            root_run_id=root_run_id,
            runs_per_root=limits.runs_per_root,
            pair=(by, whom),
            since=iso_of(self._clock.now() - PAIR_SECONDS),
            runs_per_pair=limits.runs_per_pair,
        )

    async def check_step(self, agent: AgentSpec, run: Run, past: Past) -> None:
        """Before the model is asked again."""
        limits = agent.limits
        if past.next_step >= limits.max_steps:
            raise OverBound(
                "maxSteps", f"the run took its {limits.max_steps} steps (limits.maxSteps) and was not done"
            )
        if len(past.calls) > limits.calls_per_run:
            raise too_many_calls(limits)
        if limits.tokens_per_root is not None:
            used = await self._store.tokens_of_root(run.root_run_id)
            if used >= limits.tokens_per_root:
                raise OverBound(
                    "tokensPerRoot",
                    f"what one trigger led to has used {used} tokens of {limits.tokens_per_root} "
                    "(limits.tokensPerRoot)",
                )

    async def used(self, limits: Limits, run: Run, past: Past) -> list[Bound]:
        """How much of what they may the run and its root have used, by the numbers that stop them."""
        root = run.root_run_id
        return [
            Bound("maxSteps", past.next_step, limits.max_steps),
            Bound("callsPerRun", len(past.calls), limits.calls_per_run),
            Bound("depth", run.depth, limits.depth),
            Bound("runsPerRoot", await self._store.runs_in_root(root), limits.runs_per_root),
            Bound("tokensPerRoot", await self._store.tokens_of_root(root), limits.tokens_per_root),
            Bound("runSeconds", self._seconds_at_work(run), limits.run_seconds),
        ]

    def _seconds_at_work(self, run: Run) -> float:
        if run.at_work_since is UNSET:
            return 0
        until = self._clock.iso() if run.ended_at is UNSET else run.ended_at
        worked = datetime.fromisoformat(until) - datetime.fromisoformat(run.at_work_since)
        return max(0.0, worked.total_seconds())

    def part(self, bound: OverBound, run: Run) -> ToolCallPart:
        """What a space sees of it."""
        return ToolCallPart(
            id=self._ids.new("prt"),
            tool_call_id=self._ids.new("call"),
            tool_name=BOUND_PART,
            run_id=run.id,
            status="error",
            args={"limit": bound.bound},
            result=None,
            error=bound.detail,
        )
