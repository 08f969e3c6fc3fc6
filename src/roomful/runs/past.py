"""What a run did so far, from its rows."""

from collections.abc import Sequence

import msgspec

from roomful.domain.ports import Store
from roomful.domain.runs import SETTLED, Call, Step


class Past(msgspec.Struct):
    """By itself, that of a run that has not begun."""

    steps: list[Step] = []
    calls: list[Call] = []
    cut_step: int | None = None
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

    @property
    def is_left_undone(self) -> bool:
        """There is a call without an outcome, or one whose absence was not told where it was held off."""
        return any(call.status not in SETTLED or (call.held and not call.held.is_told) for call in self.calls)

    @property
    def is_said_out(self) -> bool:
        """Nothing but words was said in the last step, and it was agreed that they are heard."""
        last = [call for call in self.calls if self.steps and call.step == self.steps[-1].number]
        return bool(last) and all(call.is_plain and call.status == "complete" for call in last)

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
