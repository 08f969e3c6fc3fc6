"""What a run did so far, from its rows."""

from collections.abc import Sequence

import msgspec

from roomful.domain.ports import Store
from roomful.domain.runs import Call, Step


class Past(msgspec.Struct):
    steps: list[Step]
    calls: list[Call]
    cut_step: int | None
    """A step whose end was never stored although some of its calls were: it ends with those."""
    unsaved_step: Step | None = None
    written: dict[int, Step] = {}
    """What was told of steps that never ended."""
    handed: dict[int, list[str]] = {}
    """What the run was told while it worked, by the step that first had it."""

    @property
    def next_step(self) -> int:
        return self.steps[-1].number + 1 if self.steps else 0

    @property
    def calls_nothing(self) -> bool:
        """Whether there was a step and the last one has no calls."""
        return bool(self.steps) and all(call.step != self.steps[-1].number for call in self.calls)

    def end_cut_step(self) -> None:
        assert self.cut_step is not None
        told = self.written.get(self.cut_step) or Step(run_id=self.calls[-1].run_id, number=self.cut_step)
        self.unsaved_step = msgspec.structs.replace(told, is_open=False)
        self.steps.append(self.unsaved_step)

    def add(self, step: Step, calls: Sequence[Call]) -> None:
        self.steps.append(step)
        self.calls.extend(calls)


async def read_past(store: Store, run_id: str) -> Past:
    steps = await store.steps(run_id)
    calls = await store.calls(run_id)
    written = {step.number: step for step in steps if step.is_open}
    steps = [step for step in steps if not step.is_open]
    ended = {step.number for step in steps}
    cut = next((call.step for call in calls if call.step not in ended), None)
    return Past(steps=steps, calls=calls, cut_step=cut, written=written)
