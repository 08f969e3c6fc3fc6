"""The index names every page, and no block of code stands in a page that cannot even be read."""

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.docs.pages import DOCS, ROOT, Page

PAGES = sorted(DOCS.rglob("*.md"))
SHOWN_AND_RUN = {
    "tools": {
        *("smallest", "tool", "server", "arguments", "call", "answer", "request", "result"),
        *("python", "check"),
    },
    "concepts": {"ada", "grace"},
}
"""The blocks that the tests of these folders run."""
_LINK = re.compile(r"\]\(([\w./-]+\.md)\)")


def test_the_index_names_every_page_once() -> None:
    index = DOCS / "README.md"
    linked = [(index.parent / link).resolve() for link in _LINK.findall(index.read_text(encoding="utf-8"))]
    inside = [path for path in linked if path.is_relative_to(DOCS)]
    assert sorted(inside) == [path for path in PAGES if path != index]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_block_of_a_page_can_be_read(path: Path) -> None:
    page = Page(path)
    for language, _, body in page.code:
        match language:
            case "json":
                json.loads(body)
            case "yaml":
                yaml.safe_load(body)
            case "python":
                compile(body, str(path), "exec")
            case _:
                pass


@pytest.mark.parametrize("folder", SHOWN_AND_RUN)
def test_no_block_of_these_pages_is_shown_without_being_run(folder: str) -> None:
    for path in sorted((DOCS / folder).glob("*.md")):
        names = {name or language for language, name, _ in Page(path).code}
        assert names <= SHOWN_AND_RUN[folder], path
