"""The page to those who use its roles and names, where no story looks: door, dialogs, phones."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looking import axe
from tests.browser.telling import card, done, say, try_this
from tests.browser.windows import Windows
from tests.servers.roomful import Roomful


@pytest.fixture(scope="module")
def demo(shared_demo: Roomful) -> Roomful:
    return shared_demo


def _nothing_serious(page: Page) -> None:
    found = axe(page)
    assert not found, "\n\n".join(found)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("phone", [False, True])
def test_the_door(window: Windows, dark: bool, phone: bool) -> None:
    page = window(dark=dark, phone=phone, tolerates=("/api/session",))
    expect(page.get_by_role("button", name="Come in as Ada")).to_be_visible()
    page.get_by_text("Sign in with a token").click()
    _nothing_serious(page)


@pytest.mark.parametrize("dark", [False, True])
def test_search_and_leaving(window: Windows, dark: bool) -> None:
    page = window("ada", "gallery", dark=dark)
    say(page, "Look at [this](https://example.com/a) **here**")
    page.get_by_role("link", name="this").last.click()
    _nothing_serious(page)
    page.get_by_role("button", name="Stay").click()
    page.keyboard.press("Control+k")
    page.get_by_role("searchbox").fill("here")
    expect(page.get_by_role("dialog", name="Search").get_by_role("listitem").first).to_be_visible()
    _nothing_serious(page)


@pytest.mark.parametrize("dark", [False, True])
def test_open_cards_on_a_phone(window: Windows, dark: bool) -> None:
    """What waits for an answer has controls that are gone when a story is over."""
    ada, grace = window("ada", "finance", dark=dark), window("grace", "finance", dark=dark, phone=True)
    try_this(ada, "Agree to a payment")
    gate = card(grace, "Approve Pay invoice")
    gate.get_by_role("button", name="Edit arguments").click()
    gate.get_by_role("button", name="Add a reason").click()
    _nothing_serious(grace)
    _nothing_serious(ada)


@pytest.mark.parametrize(
    ("person", "spaces", "story", "author", "words"),
    [
        (
            "ada",
            ("gallery", "gallery"),
            "A message with formatting",
            "Curator",
            "More in a book about galleries.",
        ),
        ("noa", ("gallery", "gallery"), "From right to left", "Curator", "הכניסה חופשית"),
        ("grace", ("finance", "leadership"), "Charts for the leadership", "Analyst", "in three charts"),
    ],
)
def test_stories_on_a_phone(
    window: Windows, person: str, spaces: tuple[str, str], story: str, author: str, words: str
) -> None:
    desk = window(person, spaces[0])
    phone = window(person, spaces[1], phone=True, dark=True)
    try_this(desk, story)
    done(phone, author, words)
    _nothing_serious(phone)
    phone.goto(phone.url.partition("#")[0] + "#")
    expect(phone.get_by_role("navigation", name="Spaces")).to_be_visible()
    _nothing_serious(phone)
