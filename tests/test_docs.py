"""What the documents name is there, and what they show works."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from roomful.tools import configure

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")])
_PATH = re.compile(r"`((?:src|tests|docs|examples|deploy|web/(?:client|react|page))/[\w./-]+)`")
_LINK = re.compile(r"\]\((?!https?:)([\w./-]*)(?:#([\w-]+))?\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_path_in_a_document_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    missing = [path for path in _PATH.findall(text) if not (ROOT / path).exists()]
    for link, anchor in _LINK.findall(text):
        target = document.parent / link if link else document
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            missing.append(f"{link}#{anchor}")
    assert missing == []


def anchors_of(document: Path) -> set[str]:
    """As they are made of headings where the documents are read."""
    headings = _HEADING.findall(document.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_architecture_is_among_the_documents_and_names_paths() -> None:
    assert len(_PATH.findall((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))) > 20


def test_the_agent_in_the_readme_is_a_valid_one() -> None:
    [config] = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    spec = configure(yaml.safe_load(config), source="README.md")
    assert spec.id == "helper"


def test_the_bus_works_as_shown() -> None:
    [shown] = re.findall(
        r"```python\n(from roomful.bus.*?)```", (ROOT / "docs/bus.md").read_text(), re.DOTALL
    )
    names: dict[str, Any] = {}
    exec(shown, names)
    assert [message.id for message in names["bus"].read("chat:team")] == [names["id"]]


@pytest.mark.parametrize("decision", sorted(ROOT.glob("docs/decisions/*.md")), ids=lambda path: path.stem)
def test_a_decision_is_short_and_says_why(decision: Path) -> None:
    lines = decision.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 60
    assert lines[0].startswith("# ")
    assert any(line.startswith("## Decision") for line in lines)
