"""What a page of concepts shows as an answer is what the API answers."""

import json
import re

import pytest

from tests.app.embedded import run
from tests.docs.pages import DOCS, Page, fits
from tests.docs.stage import staged

PAGES = {path.stem: Page(path) for path in sorted((DOCS / "concepts").glob("*.md"))}
_ASKED = re.compile(
    r"^`(GET|POST) (/\S+)`(?: with `([^`]+)`)?\n\n```json (\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE
)


@pytest.mark.parametrize("name", PAGES)
def test_the_api_answers_as_the_page_shows(name: str) -> None:
    text = PAGES[name].text
    asked = _ASKED.findall(text)
    assert asked
    assert len(asked) == text.count("```") / 2

    async def story() -> None:
        async with staged() as stage:
            for method, path, body, who, shown in asked:
                got = await stage.ask(who, method, path, body or None)
                assert fits(json.loads(shown), got), json.dumps(got, indent=2)

    run(story())


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_concepts_is_short(name: str) -> None:
    assert 15 <= len(PAGES[name].text.splitlines()) <= 40
