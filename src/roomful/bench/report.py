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


def machine() -> dict[str, Any]:
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": [round(each, 2) for each in os.getloadavg()],
    }


def as_json(scenarios: list[Measured], *, at: str, repeats: int, is_quick: bool) -> bytes:
    told = {
        "roomful": version("roomful"),
        "at": at,
        "machine": machine(),
        "repeats": repeats,
        "quick": is_quick,
        "rows": [_told(each.name, figure) for each in scenarios for figure in each.figures],
        "failed": {each.name: each.failed for each in scenarios if each.failed},
    }
    return msgspec.json.format(msgspec.json.encode(told), indent=2) + b"\n"


def _told(scenario: str, figure: Figure) -> dict[str, Any]:
    derived = {"scenario": scenario, "ratio": figure.ratio, "ok": figure.is_met}
    return msgspec.to_builtins(figure) | derived
