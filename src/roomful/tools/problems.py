"""What is wrong with a configuration: everything that was found, each with its place and what to write."""

from collections.abc import Sequence
from typing import NamedTuple

from roomful.domain.errors import Invalid

_MOST_KEPT = 200
_MOST_TOLD = 50


class Problem(NamedTuple):
    source: str
    """The file, when there is one."""
    tool: str
    """The tool's name, `tools[3]` when it has none, or nothing when the agent itself is meant."""
    field: str
    """Where inside the tool, or inside the agent: `execution.url`."""
    message: str
    path: str = ""
    """From the root of the file on: `tools[3].execution.url`."""

    @property
    def line(self) -> str:
        """For somebody who has the file open."""
        tool = f'(tool "{self.tool}")' if self.tool and not self.tool.startswith("tools[") else ""
        place = " ".join(part for part in (self.path, tool) if part)
        return ": ".join(part for part in (self.source, place, self.message) if part)

    def __str__(self) -> str:
        place = [self.source, f"tool {self.tool}" if self.tool else "", self.field]
        return ": ".join([*(part for part in place if part), self.message])


class ConfigRefused(Invalid):
    """The configuration contradicts itself or says something that nobody understands."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = list(problems)
        told = [str(problem) for problem in self.problems[:_MOST_TOLD]]
        if len(self.problems) > _MOST_TOLD:
            told.append(f"and {len(self.problems) - _MOST_TOLD} more")
        if len(told) > 1:
            told = [f"The configuration has {len(self.problems)} problems:", *(f"- {line}" for line in told)]
        super().__init__("\n".join(told))


class Problems:
    """Gathers what is found while a configuration is read, so that an author can mend it all at once."""

    def __init__(self, source: str = "") -> None:
        self._source = source
        self._found: list[Problem] = []

    @property
    def full(self) -> bool:
        """More would help nobody."""
        return len(self._found) >= _MOST_KEPT

    def add(self, tool: str, field: str, message: str, path: str | None = None) -> None:
        """`path` is given where `field` begins inside a tool."""
        problem = Problem(self._source, tool[:80], field[:200], message, (path or field)[:200])
        if not self.full and problem not in self._found:
            self._found.append(problem)

    def raise_any(self) -> None:
        if self._found:
            raise ConfigRefused(self._found)
