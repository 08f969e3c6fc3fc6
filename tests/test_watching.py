"""The page for operators and the dashboard: every name in them is told by a real gateway, and what they show
works."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from roomful.settings import variables
from tests.http.shopping import shop, story
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.figures import Figures, read_figures
from tests.servers.roomful import ADMIN_KEY, Roomful, free_port
from tests.servers.watched import ROOMFUL, Watched, wait_until

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "watching.md").read_text(encoding="utf-8")
DASHBOARD: dict[str, Any] = json.loads((ROOT / "deploy" / "grafana-dashboard.json").read_text())
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for line in block.replace("\\\n", "").splitlines()
]
_FIGURE = re.compile(r"\b(?:roomful|process)_[a-z_]+\b")
_BY = re.compile(r"by \(([a-z_, ]+)\)")
_MATCHED = re.compile(r'([a-z_]+)="')


def _rows(title: str, columns: int) -> list[list[str]]:
    """The table under a heading that begins so, without its head."""
    section = PAGE.split(f"\n## {title}", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in row] for row in rows if len(row) == columns]


TABLE = {row[0].strip("`"): set(re.findall(r"`(\w+)`", row[1])) for row in _rows("Figures", 3)}
EXPRESSIONS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
RULES = [
    rule
    for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    for group in yaml.safe_load(block).get("groups", ())
    for rule in group["rules"]
]


def test_the_table_is_what_a_gateway_tells(house: Roomful, model: FakeOpenAI) -> None:
    ada = shop(house, model)
    model.answer(*story())
    with ada.listen("shop-space") as ears:
        ada.say("shop-space", "hello")
        ears.wait_for("run.completed")
    told: Figures = wait_until(lambda: _with_a_run(read_figures(house.admin)))
    assert set(told.kinds) == set(TABLE)
    for name, kind in told.kinds.items():
        labels = told.labels(name) or told.labels(f"{name}_bucket")
        assert labels <= TABLE[name], name
        assert ("le" in TABLE[name]) == (kind == "histogram"), name
    asked = {
        name for text in [*EXPRESSIONS, *(rule["expr"] for rule in RULES)] for name in _FIGURE.findall(text)
    }
    assert asked <= told.names
    assert {name for name in told.kinds if not any(name in text for text in EXPRESSIONS)} == set()


def _with_a_run(told: Figures) -> Figures | None:
    return told if told("roomful_run_seconds_count") else None


def test_labels_that_are_asked_for_are_in_the_table() -> None:
    assert len(RULES) > 5
    for text in [*EXPRESSIONS, *(rule["expr"] for rule in RULES)]:
        [*figures] = _FIGURE.findall(text)
        known = {"job"}.union(
            *(labels for name, labels in TABLE.items() if any(f.startswith(name) for f in figures))
        )
        asked = {label.strip() for labels in _BY.findall(text) for label in labels.split(",")}
        assert asked | set(_MATCHED.findall(text)) <= known, text


def test_the_dashboard_can_be_imported() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}) == len(panels)
    [source] = DASHBOARD["templating"]["list"]
    assert {panel["datasource"]["uid"] for panel in panels} == {f"${{{source['name']}}}"}
    for text in EXPRESSIONS:
        assert text.count("(") == text.count(")")


def test_every_finding_of_the_doctor_is_explained() -> None:
    folder = ROOT / "src" / "roomful" / "store" / "doctor"
    found = {
        name for path in folder.glob("*.py") for name in re.findall(r'Finding\("(\w+)"', path.read_text())
    }
    assert {row[0].strip("`") for row in _rows("The doctor", 3)} == found
    assert len(found) > 10


def test_every_setting_on_the_page_is_one() -> None:
    named = set(re.findall(r"\bROOMFUL_[A-Z_]+\b", PAGE))
    assert named <= {each.name for each in variables()}
    extras = re.findall(r"roomful\[(\w+)\]", PAGE)
    with (ROOT / "pyproject.toml").open("rb") as file:
        assert set(extras) <= set(tomllib.load(file)["project"]["optional-dependencies"])


def test_the_requests_on_the_page_are_answered(house: Roomful) -> None:
    asked = [line for line in COMMANDS if line.startswith("curl ")]
    assert len(asked) == 2
    for line in asked:
        command = line.replace("http://127.0.0.1:8000", house.url)
        clean = {**os.environ, "ROOMFUL_ADMIN_KEY": ADMIN_KEY}
        done = subprocess.run(["bash", "-c", command], env=clean, capture_output=True, text=True, check=True)
        assert '"token"' in done.stdout or "# TYPE roomful_runs_active gauge" in done.stdout


def test_the_doctor_is_called_as_shown(house: Roomful) -> None:
    house.person("ada")
    [line] = [line for line in COMMANDS if line.startswith("roomful doctor")]
    done = subprocess.run(
        [sys.executable, "-m", "roomful.cli", *shlex.split(line)[1:]],
        cwd=house.folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "nothing wrong" in done.stdout


@pytest.mark.parametrize("line", [line for line in COMMANDS if line.endswith("roomful serve")])
def test_a_gateway_starts_as_shown(line: str, tmp_path: Path) -> None:
    *settings, _, _ = shlex.split(line)
    environment = dict(setting.split("=", 1) for setting in settings)
    command = [*ROOMFUL, "serve", "--port", str(free_port())]
    with Watched(command, tmp_path, **environment) as serving:
        serving.said("Roomful is at")
        assert serving.terminate() == 0
