"""A run and those below it, told to one who owns its agent. Of a run of somebody else's agent they see what
the part shows that called it, and nothing when none does."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from roomful.domain.inspection import InspectedCall, InspectedRun, InspectedStep
from roomful.domain.ports import Descent
from roomful.domain.runs import Call, Run, Step, Trigger
from roomful.domain.shape import UNSET, Unset
from roomful.domain.tools import Visibility
from roomful.domain.usage import Cost, Usage
from roomful.spaces.trails import child_of, seen_call, text_told


class _Tree:
    def __init__(self, top: Run, below: Descent) -> None:
        self.top = top
        self.calls: dict[str, list[Call]] = {}
        self.steps: dict[str, list[Step]] = {}
        self.started = {run.parent_call_id: run for run in below.runs if run.parent_call_id}
        for call in below.calls:
            self.calls.setdefault(call.run_id, []).append(call)
        for step in below.steps:
            self.steps.setdefault(step.run_id, []).append(step)

    def seen(self, whole: Collection[str]) -> list[Run]:
        """Those that the owner of the runs in `whole` sees at all."""
        found: list[Run] = []

        def look(run: Run, *, is_shown: bool) -> None:
            is_whole = run.id in whole
            if is_whole or is_shown:
                found.append(run)
            for call in self.calls.get(run.id, ()):
                if (child := self.started.get(call.id)) is not None:
                    in_part = is_whole and call.visibility is Visibility.FULL and bool(call.places)
                    inside = is_shown and call.seen_inside is Visibility.FULL
                    look(child, is_shown=in_part or inside)

        look(self.top, is_shown=False)
        return sorted(found, key=lambda run: (run.created_at, run.depth, run.id))


def inspected(
    top: Run, below: Descent, whole: Collection[str], names: Mapping[str, str]
) -> list[InspectedRun]:
    """`below` holds also the calls and the steps of `top` itself; `whole` are the runs whose agents are the
    asker's; `names` are those of the agents."""
    tree = _Tree(top, below)
    seen = tree.seen(whole)
    shown = {run.parent_call_id: run.id for run in seen if run.parent_call_id and run is not top}
    found: list[InspectedRun] = []
    for run in seen:
        calls, steps = tree.calls.get(run.id, []), tree.steps.get(run.id, [])
        make = _whole_run if run.id in whole else _shown_run
        found.append(make(run, calls, steps, shown, names))
    return found


def usage_of(parts: Iterable[InspectedRun | Step]) -> Usage:
    usage = Usage()
    for part in parts:
        usage = usage.plus(part.usage)
    return usage


def cost_of_all(runs: Sequence[InspectedRun]) -> Cost | Unset:
    """Unset when one of them used something that has no price."""
    costs = [run.cost.amount for run in runs if run.cost is not UNSET]
    if not costs or any(run.cost is UNSET and run.usage.total for run in runs):
        return UNSET
    return _cost(costs)


def spaces_in(runs: Iterable[InspectedRun]) -> list[str]:
    """Every space that they name."""
    found: dict[str, None] = {}
    for one in runs:
        run = one.run
        named = [run.trigger.space_id, run.active_space_id, *run.shown_in]
        for call in one.calls:
            named += [*call.space_ids, *(place.space_id for place in call.places), call.active_space_id]
        found |= {space_id: None for space_id in named if space_id}
    return list(found)


def _cost(amounts: Iterable[float]) -> Cost:
    return Cost(amount=round(math.fsum(amounts), 12))


def _cost_of(steps: Sequence[Step]) -> Cost | Unset:
    if any(step.price is UNSET and step.usage.total for step in steps):
        return UNSET
    amounts = [step.price.of(step.usage) for step in steps if step.price is not UNSET]
    return _cost(amounts) if amounts else UNSET


def _whole_run(
    run: Run, calls: Sequence[Call], steps: Sequence[Step], shown: Mapping[str, str], names: Mapping[str, str]
) -> InspectedRun:
    name = run.called_as.name if run.called_as is not UNSET else names.get(run.agent_id, run.agent_id)
    return InspectedRun(
        run=run,
        agent_name=name,
        steps=[
            InspectedStep(
                number=step.number,
                text=step.text,
                usage=step.usage,
                started_at=step.started_at,
                ended_at=step.ended_at,
                is_open=step.is_open or UNSET,
            )
            for step in steps
        ],
        calls=[_whole_call(call, shown) for call in calls],
        usage=usage_of(steps),
        cost=_cost_of(steps),
    )


_SAME = [name for name in InspectedCall.__struct_fields__ if name in Call.__struct_fields__]


def _whole_call(call: Call, shown: Mapping[str, str]) -> InspectedCall:
    same = {name: getattr(call, name) for name in _SAME}
    return InspectedCall(**same, tool_call_id=call.id, child_run_id=shown.get(call.id, UNSET))


def _shown_run(
    run: Run, calls: Sequence[Call], steps: Sequence[Step], shown: Mapping[str, str], names: Mapping[str, str]
) -> InspectedRun:
    """Its words are one step: where it asked its model again is not seen."""
    child = child_of(run, text_told(steps), [])
    usage = child.usage or Usage()
    told = InspectedStep(number=0, text=child.text, usage=usage)
    return InspectedRun(
        run=Run(
            id=run.id,
            agent_id=child.agent_id,
            status=child.status,
            trigger=Trigger(type="call"),
            root_run_id=run.root_run_id,
            created_at=run.created_at,
            parent_call_id=run.parent_call_id,
            depth=run.depth,
        ),
        agent_name=child.name,
        steps=[told] if child.text or usage.total else [],
        calls=_shown_calls(calls, shown),
        usage=usage,
    )


def _shown_calls(calls: Sequence[Call], shown: Mapping[str, str]) -> list[InspectedCall]:
    found: list[InspectedCall] = []
    for call in calls:
        if (seen := seen_call(call)) is None:
            continue
        one = InspectedCall(
            tool_call_id=seen.tool_call_id,
            tool_name=seen.tool_name,
            step=0,
            index=len(found),
            status=seen.status,
            visibility=call.seen_inside,
            args=seen.args,
            result=seen.result,
            error=seen.error,
        )
        if call.seen_inside is Visibility.FULL:
            one.child_run_id = shown.get(call.id, UNSET)
        found.append(one)
    return found
