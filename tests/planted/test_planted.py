"""A test counts only after it caught its bug, planted in a copy of the source."""

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.planted.bugs import BUGS, Bug
from tests.promises import PROMISES
from tests.requirements import REQUIREMENTS

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "roomful"
CLAUSES = {clause.id for clause in REQUIREMENTS}


def test_every_promise_and_every_letter_has_a_bug() -> None:
    broken = {bug.breaks for bug in BUGS}
    letters = {clause[0] for clause in CLAUSES}

    assert broken <= PROMISES.keys() | CLAUSES
    assert not PROMISES.keys() - broken
    assert not letters - {id[0] for id in broken}
    assert len({bug.name for bug in BUGS}) == len(BUGS) >= 40


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: f"{bug.breaks}: {bug.name}")
def test_a_planted_bug_is_caught(bug: Bug, tmp_path: Path) -> None:
    _plant(bug, tmp_path / "roomful")
    report = tmp_path / "report.xml"
    ended = _run(bug.caught_by, tmp_path, report)

    assert report.exists(), ended.stdout
    suite = ET.parse(report).getroot().find("testsuite")
    assert suite is not None
    assert int(suite.attrib["tests"]) > 0, f"there is no test {bug.caught_by}\n{ended.stdout}"
    assert int(suite.attrib["failures"]) > 0, f"{bug.caught_by} does not see it\n{ended.stdout}"


def _plant(bug: Bug, copy: Path) -> None:
    shutil.copytree(SOURCE, copy)
    file = copy / bug.file
    text = file.read_text(encoding="utf-8")
    assert text.count(bug.was) == 1, (
        f"{bug.file} has changed: {bug.was!r} stands there {text.count(bug.was)} times"
    )
    file.write_text(text.replace(bug.was, bug.becomes), encoding="utf-8")


def _run(test: str, folder: Path, report: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_ADD")}
    environment["PATIENCE"] = "20"
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), str(ROOT)])
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--timeout", "60"]
    places = ["--basetemp", str(folder / "basetemp"), f"--junitxml={report}"]
    command = [sys.executable, "-m", "pytest", *options, *places, f"tests/{test}"]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=110)
