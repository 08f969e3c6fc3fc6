"""Where runs stand until it is their turn, the time of the story, and the ids that things had in it."""

import asyncio
import itertools
from collections.abc import Sequence
from contextvars import ContextVar

import msgspec

from roomful.runs.schedules import iso_of, seconds_of

RUN: ContextVar[str] = ContextVar("run")
"""The run that is driven in this task."""
_EXPECTED: ContextVar[dict[str, list[str]]] = ContextVar("expected")


class Gate(msgspec.Struct, eq=False):
    """A run stands here."""

    run_id: str
    at: str
    """When it went on, as far as that is known."""
    seq: int
    """The place of the message that it begins next, or 0."""
    awaits: Sequence[str]
    """Messages that the run has to be handed first."""
    passed: "asyncio.Future[None]"


class Gates:
    def __init__(self) -> None:
        self.open: list[Gate] = []
        """Those through which somebody may be let."""
        self._staying: list[str] = []

    @property
    def standing(self) -> int:
        """How many runs stand somewhere."""
        return len({*(gate.run_id for gate in self.open), *self._staying})

    async def wait(self, run_id: str, at: str = "", seq: int = 0, awaits: Sequence[str] = ()) -> None:
        gate = Gate(run_id, at, seq, awaits, asyncio.get_running_loop().create_future())
        self.open.append(gate)
        try:
            await gate.passed
        finally:
            if gate in self.open:
                self.open.remove(gate)

    def let(self, gate: Gate) -> None:
        self.open.remove(gate)
        gate.passed.set_result(None)

    async def stay(self, run_id: str) -> None:
        """Until the run is stopped."""
        self._staying.append(run_id)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._staying.remove(run_id)


class StoryClock:
    """Stands still until it is moved, and never goes back."""

    def __init__(self, start: str) -> None:
        self._now = start

    def now(self) -> float:
        return seconds_of(self._now)

    def iso(self) -> str:
        return self._now

    def move(self, to: str) -> None:
        self._now = max(self._now, to)

    def move_beyond(self, seconds: float) -> None:
        self.move(iso_of(seconds + 0.001))


class StoryIds:
    """The ids that were announced with `expect` in this task, else new ones."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def new(self, prefix: str) -> str:
        expected = _EXPECTED.get({}).get(prefix)
        return expected.pop(0) if expected else f"{prefix}_told-again-{next(self._numbers)}"

    def secret(self) -> str:
        return self.new("secret")


def expect(**ids: Sequence[str]) -> None:
    """What is made next in this task has these ids, by their prefixes. Without any: whatever comes."""
    _EXPECTED.set({prefix: list(given) for prefix, given in ids.items()})
