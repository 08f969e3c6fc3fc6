"""Clauses and tests know each other: a test claims known clauses only, and a clause is claimed or unmet."""

import re
import subprocess
import sys
from collections.abc import Set

import pytest

from tests.requirements import DECISIONS, REQUIREMENTS, UNMET
from tests.requirements_page import ROOT, claims, drivers, page

KNOWN = frozenset(clause.id for clause in REQUIREMENTS)


def problems(claimed: Set[str], known: Set[str], unmet: Set[str]) -> list[str]:
    return [
        *(f"{clause} is claimed by a test but is no clause" for clause in sorted(claimed - known)),
        *(f"{clause} is in UNMET but is no clause" for clause in sorted(unmet - known)),
        *(f"{clause} is in UNMET but has a test" for clause in sorted(unmet & claimed)),
        *(f"{clause} is not in UNMET and has no test" for clause in sorted(known - unmet - claimed)),
    ]


def test_every_clause_has_a_test_or_is_unmet() -> None:
    found = problems(drivers().keys(), KNOWN, UNMET)

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

    assert sorted(claims(source)) == [
        ("C-01", "test_a"),
        ("C-02", "test_a"),
        ("C-03", "TestB"),
        ("C-04", "test_c"),
    ]


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


def test_the_page_has_every_clause_with_its_tests() -> None:
    written = page()
    entries = dict(re.findall(r"^### (\S+)\n\n(.*?)(?=\n#|\Z)", written, re.DOTALL | re.MULTILINE))
    assert entries.keys() == KNOWN
    for clause in REQUIREMENTS:
        text, _, shown = entries[clause.id].partition("\n\n")
        assert text == clause.text
        tests = re.findall(r"^- `(tests/\S+\.py)(?:::(\w+))?`$", shown, re.MULTILINE)
        assert bool(tests) == (clause.id not in UNMET), clause.id
        for path, name in tests:
            assert name in (ROOT / path).read_text(encoding="utf-8")
        for decision in re.findall(r"`(docs/decisions/\S+)`", shown):
            assert (ROOT / decision).is_file()
    assert written.count("decided in") == sum(map(len, DECISIONS.values()))


def test_the_page_is_printed() -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "tests.requirements_page"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert printed.stdout == page()
