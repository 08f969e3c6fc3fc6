"""What is told in the end: a table for people, JSON for programs."""

import os
import platform
from importlib.metadata import version
from typing import Any, Final

import msgspec

from roomful.bench.figures import Figure, Goal

HEADS: Final = ("what", "measured", "limit", "ratio", "goal", "")


class Measured(msgspec.Struct, frozen=True):
    """One scenario: its figures, or why there are none."""

    name: str
    figures: list[Figure] = []
    failed: str = ""


def table(scenarios: list[Measured]) -> str:
    rows = [HEADS, *(_row(figure) for each in scenarios for figure in each.figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADS))]
    lines = [_line(row, widths) for row in rows]
    lines.insert(1, "  ".join("─" * width for width in widths).rstrip())
    lines += [f"{each.name}: could not be measured: {each.failed}" for each in scenarios if each.failed]
    return "\n".join(lines)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    what, *numbers, verdict = row
    cells = [
        what.ljust(widths[0]),
        *(text.rjust(width) for text, width in zip(numbers, widths[1:-1], strict=True)),
    ]
    return "  ".join([*cells, verdict]).rstrip()


def _row(figure: Figure) -> tuple[str, ...]:
    limit = "" if figure.limit is None else f"{number(figure.limit)} {figure.unit}"
    ratio = "" if figure.ratio is None else f"{number(figure.ratio)} ×"
    verdict = {True: "ok", False: "over", None: ""}[figure.is_met]
    measured = f"{number(figure.measured)} {figure.unit}"
    return figure.what, measured, limit, ratio, goal_text(figure.goal, figure.unit), verdict


def goal_text(goal: Goal | None, unit: str) -> str:
    if goal is None:
        return ""
    sign = "≤" if goal.sense == "at most" else "≥"
    return f"{sign} {goal.value:g} {'×' if goal.of == 'ratio' else unit}"


def number(value: float) -> str:
    """Three digits that matter."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


class Machine(msgspec.Struct, frozen=True):
    system: str
    cores: int
    python: str
    load: float
    """How many wanted to run in the minute before."""

    def __str__(self) -> str:
        cores = f"{self.cores} core{'s' if self.cores > 1 else ''}"
        return f"{cores}, {self.system}, Python {self.python}, load {self.load:.1f} when it began"

    @property
    def is_busy(self) -> bool:
        return self.load > self.cores / 4


def this_machine() -> Machine:
    system = f"{platform.system()} {platform.machine()}"
    return Machine(system, os.cpu_count() or 1, platform.python_version(), os.getloadavg()[0])


def note(machine: Machine, *, is_quick: bool) -> str:
    """How much the figures are worth."""
    if is_quick:
        return f"{machine}. Quick: too little was measured for figures."
    return (
        f"{machine}. Others were at work: measure again when it is quiet."
        if machine.is_busy
        else f"{machine}."
    )


def as_json(scenarios: list[Measured], machine: Machine, *, at: str, repeats: int, is_quick: bool) -> bytes:
    told = {
        "roomful": version("roomful"),
        "at": at,
        "machine": machine,
        "repeats": repeats,
        "quick": is_quick,
        "rows": [_told(each.name, figure) for each in scenarios for figure in each.figures],
        "failed": {each.name: each.failed for each in scenarios if each.failed},
    }
    return msgspec.json.format(msgspec.json.encode(told), indent=2) + b"\n"


def _told(scenario: str, figure: Figure) -> dict[str, Any]:
    derived = {"scenario": scenario, "ratio": figure.ratio, "ok": figure.is_met}
    return msgspec.to_builtins(figure) | derived
