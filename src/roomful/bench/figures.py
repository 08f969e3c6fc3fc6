"""What was measured, against what, and what it should be."""

import statistics
from collections.abc import Sequence
from typing import Literal

import msgspec


class Goal(msgspec.Struct, frozen=True):
    """A bound for the ratio to the limit, or for the figure itself where nothing raw is like it."""

    sense: Literal["at most", "at least"]
    value: float
    of: Literal["ratio", "figure"] = "ratio"

    def is_met(self, reached: float) -> bool:
        return reached <= self.value if self.sense == "at most" else reached >= self.value

    def used(self, reached: float) -> float:
        """How much of the goal is used up: above 1 it is missed."""
        pair = (reached, self.value) if self.sense == "at most" else (self.value, reached)
        return pair[0] / pair[1] if pair[1] else float("inf")


class Figure(msgspec.Struct, frozen=True):
    what: str
    unit: str
    measured: float
    limit: float | None = None
    goal: Goal | None = None

    @property
    def ratio(self) -> float | None:
        return self.measured / self.limit if self.limit else None

    @property
    def reached(self) -> float | None:
        """What the goal is about."""
        if self.goal is None:
            return None
        return self.measured if self.goal.of == "figure" else self.ratio

    @property
    def is_met(self) -> bool | None:
        reached = self.reached
        return None if self.goal is None or reached is None else self.goal.is_met(reached)


def at_most(value: float) -> Goal:
    return Goal("at most", value)


def at_least(value: float) -> Goal:
    return Goal("at least", value)


def below(value: float) -> Goal:
    """For the figure itself."""
    return Goal("at most", value, "figure")


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
