"""A page of the documents as data: its blocks by their name, its tables by their head."""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
_BLOCK = re.compile(r"^```(\w+)(?: (\w+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_BETWEEN = re.compile(r" \|(?= |$)")
_CODE = re.compile(r"`([^`]+)`")


class Page:
    """A block is named behind its language, as in ```json tool, which no renderer shows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.code: list[tuple[str, str, str]] = _BLOCK.findall(self.text)
        """Of each block its language, its name and what stands there."""

    def blocks(self, name: str) -> list[str]:
        return [body for language, known, body in self.code if name == (known or language)]

    def data(self, name: str) -> Any:
        """The one JSON block of this name; None if there is none."""
        found = self.blocks(name)
        assert len(found) <= 1, f"{self.path} has {len(found)} blocks {name}"
        return json.loads(found[0]) if found else None

    def table(self, *head: str) -> list[list[str]]:
        """The rows of every table whose head begins so."""
        rows: list[list[str]] = []
        inside = False
        for line in self.text.splitlines():
            if not line.startswith("|"):
                inside = False
                continue
            cells = [cell.strip() for cell in _BETWEEN.split(line.strip("|"))]
            if tuple(cells[: len(head)]) == head:
                inside = True
            elif inside and set(line) - set("|- "):
                rows.append(cells)
        return rows

    def names(self, *head: str) -> list[str]:
        """What stands as code in the first column of such a table."""
        return [name for row in self.table(*head) for name in codes(row[0])]


def codes(cell: str) -> list[str]:
    return _CODE.findall(cell)


def fits(shown: Any, got: Any) -> bool:
    """Whether a page shows what was got. … stands for any value, in a text for any characters, at a list's
    end for any more, and as a field for any others."""
    if shown == "…":
        return True
    if isinstance(shown, dict) and isinstance(got, dict):
        named = shown.keys() - {"…"}
        is_known = named <= got.keys() if "…" in shown else named == got.keys()
        return is_known and all(fits(shown[key], got[key]) for key in named)
    if isinstance(shown, list) and isinstance(got, list):
        if shown[-1:] == ["…"]:
            shown, got = shown[:-1], got[: len(shown) - 1]
        return len(shown) == len(got) and all(map(fits, shown, got))
    if isinstance(shown, str) and isinstance(got, str) and "…" in shown:
        return re.fullmatch(".*".join(map(re.escape, shown.split("…"))), got, re.DOTALL) is not None
    return shown == got and type(shown) is type(got)


def patched(value: Any, patch: Any) -> Any:
    """As RFC 7386 has it: objects are merged, null removes."""
    if not isinstance(patch, dict):
        return patch
    base = dict(value) if isinstance(value, dict) else {}
    merged = {key: patched(base.get(key), item) for key, item in patch.items() if item is not None}
    return {key: item for key, item in base.items() if key not in patch} | merged
