"""The list of threats is whole, and each is shown by tests that are there and run."""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.threats import THREATS, UNMET, Threat

ROOT = Path(__file__).parent.parent
COUNT = 53


def problems(threat: Threat) -> Iterator[str]:
    if bool(threat.tests) == (threat.id in UNMET):
        yield f"{threat.id} has tests and is in UNMET, or neither"
    for name in threat.tests:
        path, _, test = name.partition("::")
        source = (ROOT / path).read_text(encoding="utf-8") if (ROOT / path).is_file() else ""
        yield from (f"{threat.id}: {name} {wrong}" for wrong in wrong_with(source, test))
    if threat.tests and all(is_long(name) for name in threat.tests):
        yield f"{threat.id} is shown by long tests alone"


def wrong_with(source: str, test: str) -> Iterator[str]:
    """`test` is a function's name, with the id of a case in brackets if one is meant."""
    name, _, case = test.partition("[")
    function = functions(source).get(name)
    if function is None or not name.startswith("test_"):
        yield "does not exist"
        return
    if case and f'"{case.removesuffix("]")}"' not in source:
        yield "has no such case"
    for mark in function.decorator_list:
        written = ast.unparse(mark)
        if "mark.skip" in written and "reason=" not in written:
            yield "is skipped for no reason"
        if "mark.xfail" in written:
            yield "may fail"
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) == "pytest.skip"
            and not (node.args or node.keywords)
        ):
            yield "is skipped for no reason"


@functools.cache
def functions(source: str) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    nodes = ast.walk(ast.parse(source))
    return {node.name: node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def is_long(name: str) -> bool:
    path, _, test = name.partition("::")
    function = functions((ROOT / path).read_text(encoding="utf-8")).get(test.partition("[")[0])
    return function is not None and any(
        ast.unparse(mark) == "pytest.mark.long" for mark in function.decorator_list
    )


def test_every_threat_is_there_once_and_in_order() -> None:
    assert [threat.id for threat in THREATS] == [f"A{number}" for number in range(1, COUNT + 1)]
    assert {threat.id for threat in THREATS} >= UNMET


def test_every_threat_is_shown_by_tests_that_run() -> None:
    assert [problem for threat in THREATS for problem in problems(threat)] == []


@pytest.mark.parametrize(
    ("source", "test", "expected"),
    [
        ("def test_a(): ...", "test_a", []),
        ("async def test_a(): ...", "test_a", []),
        ("def test_a(): ...", "test_b", ["does not exist"]),
        ("def a(): ...", "a", ["does not exist"]),
        ("", "test_a", ["does not exist"]),
        ('@pytest.mark.parametrize("x", ["one"])\ndef test_a(x): ...', "test_a[one]", []),
        ('@pytest.mark.parametrize("x", ["one"])\ndef test_a(x): ...', "test_a[two]", ["has no such case"]),
        ("@pytest.mark.skip\ndef test_a(): ...", "test_a", ["is skipped for no reason"]),
        ('@pytest.mark.skipif(X, reason="no IPv6")\ndef test_a(): ...', "test_a", []),
        ("def test_a(): pytest.skip()", "test_a", ["is skipped for no reason"]),
        ('def test_a(): pytest.skip("no IPv6")', "test_a", []),
        ("@pytest.mark.xfail\ndef test_a(): ...", "test_a", ["may fail"]),
    ],
)
def test_what_is_wrong_with_a_test_is_said(source: str, test: str, expected: list[str]) -> None:
    assert list(wrong_with(source, test)) == expected


def test_a_threat_without_tests_is_named() -> None:
    bare = Threat("A0", "An attack.", "Nothing.", ())
    long = Threat(
        "A0",
        "An attack.",
        "Nothing.",
        ("tests/http/test_storms.py::test_agents_stop_inside_the_bounds_in_a_thousand_graphs",),
    )
    assert list(problems(bare)) == ["A0 has tests and is in UNMET, or neither"]
    assert list(problems(long)) == ["A0 is shown by long tests alone"]
