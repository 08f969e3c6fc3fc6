"""What is wrong, in one line."""

from collections.abc import Iterator
from typing import TypeAlias

import msgspec


class Finding(msgspec.Struct, frozen=True):
    check: str
    table: str
    row: str
    """The row's key; the parts of a longer one are separated by slashes."""
    problem: str
    """What is wrong, and what to do."""

    def __str__(self) -> str:
        return f"{self.check}: {self.table} {self.row}: {self.problem}"


Findings: TypeAlias = Iterator[Finding]
