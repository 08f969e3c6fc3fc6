"""The figures as bars, each against its goal: an SVG that reads well on light and on dark."""

from html import escape
from typing import Final

from roomful.bench.figures import Figure
from roomful.bench.report import goal_text, number

ROW: Final = 30
TOP: Final = 64
LEFT: Final = 330
GOAL: Final = 300
"""Pixels from no bar at all to a goal that is just reached."""
LONGEST: Final = 1.6
"""Of goals. A longer bar is cut here, and its figure tells the rest."""
WIDTH: Final = LEFT + int(GOAL * LONGEST) + 150
STYLE: Final = """
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.small { font-size: 12px; fill: #59636e; }
.title { font-size: 16px; font-weight: 600; }
.track { fill: #8b949e; fill-opacity: .16; }
.ok { fill: #2f81c7; }
.over { fill: #d9822b; }
.goal { stroke: #59636e; stroke-width: 1.5; stroke-dasharray: 4 3; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .small { fill: #9da7b1; }
  .ok { fill: #58a6e8; }
  .over { fill: #f0a04b; }
  .goal { stroke: #9da7b1; }
}
"""


def picture(figures: list[Figure], caption: str) -> str:
    """Of those that have a goal."""
    bars = [figure for figure in figures if figure.reached is not None]
    bottom = TOP + ROW * len(bars)
    line, height = LEFT + GOAL, bottom + 34
    size = f'width="{WIDTH}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {WIDTH} {height}" role="img">',
        "<title>Roomful against its limit on this machine</title>",
        f"<style>{STYLE}</style>",
        _text(16, 28, "Roomful against its limit on this machine", "title"),
        _text(line, 50, "goal", "small", "middle"),
        *(_bar(figure, TOP + ROW * index) for index, figure in enumerate(bars)),
        f'<line class="goal" x1="{line}" y1="{TOP - 8}" x2="{line}" y2="{bottom}"/>',
        _text(16, bottom + 22, caption, "small"),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _bar(figure: Figure, y: int) -> str:
    assert figure.goal is not None
    assert figure.reached is not None
    length = max(2.0, GOAL * min(figure.goal.used(figure.reached), LONGEST))
    unit = "×" if figure.goal.of == "ratio" else figure.unit
    told = f"{number(figure.reached)} {unit}  ({goal_text(figure.goal, figure.unit)})"
    parts = [
        _text(LEFT - 10, y + 16, figure.what, "", "end"),
        _rect("track", y, GOAL * LONGEST),
        _rect("ok" if figure.is_met else "over", y, length),
        _text(LEFT + GOAL * LONGEST + 8, y + 16, told, "small"),
    ]
    return "\n".join(parts)


def _rect(kind: str, y: int, width: float) -> str:
    return f'<rect class="{kind}" x="{LEFT}" y="{y + 4}" width="{width:.1f}" height="16" rx="3"/>'


def _text(x: float, y: int, words: str, kind: str, anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'
