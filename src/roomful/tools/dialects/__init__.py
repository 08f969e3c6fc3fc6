"""Three ways to write a tool, and how to tell which one an author uses."""

from collections.abc import Mapping, Sequence

from roomful.domain.agents import Dialect
from roomful.tools.dialects import active, composite, display
from roomful.tools.dialects.execution import Inline
from roomful.tools.dialects.tool import Rules, wrong_tool_name
from roomful.tools.reading import Fields

__all__ = ["RULES", "Inline", "Rules", "choose", "mark_of", "wrong_tool_name"]

RULES: Mapping[Dialect, Rules] = {
    "composite": composite.RULES,
    "display": display.RULES,
    "active": active.RULES,
}


def mark_of(tool: Fields) -> tuple[Dialect, str] | None:
    """The dialect that a tool shows itself to be written in, and the field that shows it."""
    if "displayTool" in tool.values:
        return "display", "displayTool"
    if tool.raw("executionType") in active.TYPES:
        return "active", "executionType"
    return None


def choose(written: Dialect | None, tools: Sequence[Fields]) -> Dialect:
    """The agent's dialect: as written, else as its tools show. A tool of another one is refused."""
    marks = [(tool, *mark) for tool in tools if (mark := mark_of(tool))]
    chosen = written or (marks[0][1] if marks else "composite")
    for tool, dialect, field in marks:
        if field == "displayTool" and tool.raw("executionType") in active.TYPES:
            kind = tool.raw("executionType")
            tool.refuse(
                "displayTool",
                f'and "executionType": "{kind}" are of two dialects: write "visibility" instead of '
                f'"displayTool", or another type than "{kind}"',
            )
        elif dialect != chosen:
            tool.refuse(field, _two_dialects(field, dialect, chosen, written, marks[0]))
    return chosen


def _two_dialects(
    field: str, dialect: Dialect, chosen: Dialect, written: Dialect | None, first: tuple[Fields, Dialect, str]
) -> str:
    because = '"dialect"' if written else f'"{first[2]}" of {first[0].tool or "another tool"}'
    return (
        f"is of the {dialect} dialect, but {because} says {chosen}: write all tools of an agent in one "
        f'dialect, here without "{field}" or with "dialect": "{dialect}"'
    )
