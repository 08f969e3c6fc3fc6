"""A page for readers: each clause, the tests that drive it and the decision behind it.

python -m tests.requirements_page
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.requirements import DECISIONS, REQUIREMENTS, UNMET, Requirement

ROOT = Path(__file__).parent.parent
PARTS = {
    "C": "Composite messages, visibility, routing",
    "D": "Display tools",
    "B": "Bus and chat tool",
    "T": "Tool system",
    "R": "Delegation and recall",
    "X": "The system as a whole",
    "S": "Rules of safe streaming",
}


def claims(source: str) -> Iterator[tuple[str, str]]:
    """The ids given to `requirement(...)`, each with the name of the function or class that it marks, read
    from the source so that no test has to be imported."""
    for top in ast.parse(source).body:
        name = top.name if isinstance(top, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else ""
        for node in ast.walk(top):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "requirement"
            ):
                for argument in node.args:
                    yield ast.literal_eval(argument), name


def drivers(tests: Path = ROOT / "tests") -> dict[str, list[str]]:
    """The tests of each clause, as pytest names them."""
    found = defaultdict[str, list[str]](list)
    for path in sorted(tests.rglob("*.py")):
        where = path.relative_to(tests.parent).as_posix()
        for clause, name in claims(path.read_text(encoding="utf-8")):
            found[clause].append(f"{where}::{name}" if name else where)
    return {clause: list(dict.fromkeys(names)) for clause, names in found.items()}


def page() -> str:
    tests = drivers()
    met = sum(clause.id in tests for clause in REQUIREMENTS)
    lines = [
        "# What Roomful promises, and what shows it",
        "",
        f"{met} of {len(REQUIREMENTS)} clauses have tests.",
    ]
    for letter, title in PARTS.items():
        lines += ["", f"## {letter}: {title}"]
        for clause in REQUIREMENTS:
            if clause.id.startswith(letter):
                lines += ["", *_entry(clause, tests.get(clause.id, []))]
    return "\n".join([*lines, ""])


def _entry(clause: Requirement, tests: list[str]) -> Iterator[str]:
    yield f"### {clause.id}"
    yield ""
    yield clause.text
    yield ""
    for decision in DECISIONS.get(clause.id, ()):
        yield f"- decided in `docs/decisions/{decision}.md`"
    if clause.id not in DECISIONS:
        yield "- as the documents say"
    for test in tests:
        yield f"- `{test}`"
    if clause.id in UNMET:
        yield "- no test yet"


if __name__ == "__main__":
    print(page(), end="")
