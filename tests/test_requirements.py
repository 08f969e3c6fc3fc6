"""Clauses and tests know each other: a test claims known clauses only, and a clause is claimed or unmet."""

import ast
from collections.abc import Iterator, Set
from pathlib import Path

import pytest

from tests.requirements import REQUIREMENTS, UNMET

TESTS = Path(__file__).parent
KNOWN = frozenset(clause.id for clause in REQUIREMENTS)


def claims(source: str) -> Iterator[str]:
    """The ids given to `requirement(...)`, read from the source so that no test has to be imported."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "requirement":
            for argument in node.args:
                yield ast.literal_eval(argument)


def problems(claimed: Set[str], known: Set[str], unmet: Set[str]) -> list[str]:
    return [
        *(f"{clause} is claimed by a test but is no clause" for clause in sorted(claimed - known)),
        *(f"{clause} is in UNMET but is no clause" for clause in sorted(unmet - known)),
        *(f"{clause} is in UNMET but has a test" for clause in sorted(unmet & claimed)),
        *(f"{clause} is not in UNMET and has no test" for clause in sorted(known - unmet - claimed)),
    ]


def test_every_clause_has_a_test_or_is_unmet() -> None:
    sources = [path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py")]
    found = problems({clause for source in sources for clause in claims(source)}, KNOWN, UNMET)

    assert not found, "\n".join(found)


def test_every_clause_has_an_id_of_its_own() -> None:
    assert len(KNOWN) == len(REQUIREMENTS)


def test_claims_are_read_wherever_a_test_can_be_marked() -> None:
    source = """
@requirement("C-01", "C-02")
def test_a(): ...

class TestB:
    @requirement("C-03")
    async def test_b(self): ...

@pytest.mark.parametrize("case", [pytest.param(1, marks=requirement("C-04"))])
def test_c(case): ...

# @requirement("C-05")
def test_d(): "@requirement('C-06')"
"""

    assert sorted(claims(source)) == ["C-01", "C-02", "C-03", "C-04"]


def test_a_claim_is_written_out() -> None:
    with pytest.raises(ValueError, match="malformed"):
        list(claims("requirement(*ids)"))


@pytest.mark.parametrize(
    ("claimed", "unmet", "expected"),
    [
        pytest.param({"C-01"}, {"C-02"}, [], id="each claimed or unmet"),
        pytest.param({"C-01", "C-99"}, {"C-02"}, ["C-99 is claimed by a test but is no clause"], id="stray"),
        pytest.param({"C-01"}, {"C-02", "C-99"}, ["C-99 is in UNMET but is no clause"], id="unknown unmet"),
        pytest.param({"C-01", "C-02"}, {"C-02"}, ["C-02 is in UNMET but has a test"], id="met but in UNMET"),
        pytest.param({"C-01"}, set(), ["C-02 is not in UNMET and has no test"], id="neither"),
    ],
)
def test_each_disagreement_is_named(claimed: set[str], unmet: set[str], expected: list[str]) -> None:
    assert problems(claimed, {"C-01", "C-02"}, unmet) == expected
