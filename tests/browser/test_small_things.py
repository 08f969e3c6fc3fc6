"""Small things that make the page pleasant: keys do what they do elsewhere, and what happened is told."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from tests.browser.looking import axe
from tests.browser.telling import last, messages, press, say
from tests.browser.windows import Windows
from tests.servers.roomful import Roomful

pytestmark = pytest.mark.usefixtures("lab")
_IS_WITHIN = """(element) => {
  const {top, bottom} = element.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
}"""


@pytest.fixture(scope="module")
def demo(shared_demo: Roomful) -> Roomful:
    return shared_demo


@pytest.fixture
def closed_house(tmp_path: Path) -> Iterator[Roomful]:
    """Where nobody comes in without a token. To be asked for before the windows, which are closed first."""
    with Roomful(tmp_path) as house:
        yield house


def search_for(page: Page, words: str) -> Locator:
    page.keyboard.press("Control+k")
    field = page.get_by_role("searchbox", name="Search words")
    field.press_sequentially(words)
    return field


def test_a_search_is_done_by_keys(window: Windows) -> None:
    page = window("ada", "lab")
    for number in range(3):
        say(page, f"Marmalade {number}")
        expect(messages(page).last).to_contain_text(f"Marmalade {number}")
    field = search_for(page, "marmalade")
    hits = page.get_by_role("dialog", name="Search").get_by_role("button")
    expect(hits).to_have_count(3)
    page.keyboard.press("ArrowDown")
    expect(hits.first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(field).to_be_focused()
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    expect(hits.last).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(messages(page).filter(has_text="Marmalade 0")).to_have_class("message mine pointed")


def test_enter_opens_the_first_hit_even_before_it_is_there(window: Windows) -> None:
    page = window("ada", "lab")
    say(page, "Only one tangerine")
    expect(messages(page).last).to_contain_text("Only one tangerine")
    page.get_by_role("navigation").get_by_role("link", name="Finance").click()
    search_for(page, "tangerine").press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("main", name="Lab")).to_be_visible()
    expect(messages(page).filter(has_text="Only one tangerine")).to_be_in_viewport()


def test_escape_closes_a_search_at_once(window: Windows) -> None:
    page = window("ada", "lab")
    page.get_by_role("textbox", name="Message").focus()
    search_for(page, "words").press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()


def test_a_message_is_edited_by_keys(window: Windows) -> None:
    page = window("ada", "lab")
    say(page, "One line")
    mine = last(page, "Ada")
    expect(mine).to_contain_text("One line")
    edit = mine.get_by_role("button", name="Edit")
    field = page.get_by_role("textbox", name="Edit message")
    edit.focus()
    page.keyboard.press("Enter")
    expect(field).to_be_focused()
    field.press("End")
    field.press("Shift+Enter")
    field.press_sequentially("and another")
    expect(field).to_have_value("One line\nand another")
    field.press("Enter")
    expect(field).to_have_count(0)
    expect(edit).to_be_focused()
    expect(mine).to_contain_text("and another")
    page.keyboard.press("Enter")
    field.fill("Better not")
    field.press("Escape")
    expect(field).to_have_count(0)
    expect(edit).to_be_focused()
    expect(mine).to_contain_text("and another")
    expect(mine).not_to_contain_text("Better not")


def test_copying_is_told(window: Windows) -> None:
    page = window("ada", "lab")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    say(page, "Worth keeping")
    mine = last(page, "Ada")
    expect(mine).to_contain_text("Worth keeping")
    mine.hover()
    press(mine, "Copy")
    expect(mine.get_by_role("status")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "Worth keeping"
    expect(mine.get_by_role("status")).to_have_count(0)


def test_who_has_a_part_in_a_story_plays_it_with_one_press(window: Windows) -> None:
    omar, noa = window("omar", "hq"), window("noa", "studio")
    part = "Say: @scribe Then write the list of tasks"
    expect(noa.get_by_role("region", name="Try this")).to_be_visible()
    press(omar, part)
    expect(omar.get_by_role("main", name="Studio")).to_be_visible()
    expect(last(noa, "Omar")).to_contain_text("@scribe Then write the list of tasks")
    expect(noa.get_by_role("button", name="Say: ")).to_have_count(0)
    assert axe(omar) == []


def test_the_messages_are_one_key_away(window: Windows) -> None:
    page = window("ada", "lab")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to messages")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("log", name="Messages")).to_be_focused()
    expect(page.get_by_role("main", name="Lab")).to_be_visible()


def test_the_token_can_be_typed_at_once(closed_house: Roomful, window: Windows) -> None:
    page = window(at=closed_house)
    expect(page.get_by_label("Your token")).to_be_focused()


def test_what_is_no_picture_can_be_saved(window: Windows) -> None:
    page = window("ada", "lab")
    fake = FilePayload(name="fake.png", mimeType="image/png", buffer=b"\x89PNG\r\n\x1a\n and nothing else")
    page.get_by_label("Attach a file").set_input_files(fake)
    say(page, "Look at this")
    file = last(page, "Ada").get_by_role("button", name="fake.png")
    with page.expect_download() as download:
        file.click()
    assert download.value.suggested_filename == "fake.png"
    assert download.value.path().read_bytes() == fake["buffer"]
    expect(last(page, "Ada").get_by_role("img", name="Attached picture")).to_have_count(0)


def test_what_is_needed_stays_in_sight_while_the_spaces_scroll(window: Windows) -> None:
    page = window("ada", "lab")
    page.set_viewport_size({"width": 1280, "height": 320})
    spaces = page.get_by_role("navigation", name="Spaces")
    current = spaces.locator("[aria-current=page]")
    for key in ("ArrowUp", "ArrowDown"):
        for _ in range(6):
            page.keyboard.press(f"Alt+{key}")
        expect(current).to_be_in_viewport()
        assert current.evaluate(_IS_WITHIN)
    spaces.get_by_role("button", name="Try this: ").last.scroll_into_view_if_needed()
    assert page.evaluate("document.documentElement.scrollHeight") == 320
    for name in ("Search", "Sign out"):
        assert spaces.get_by_role("button", name=name, exact=True).evaluate(_IS_WITHIN)
