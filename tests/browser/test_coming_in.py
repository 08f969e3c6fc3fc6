"""Somebody opens the page and comes in."""

from playwright.sync_api import expect

from tests.browser.windows import Windows


def test_one_comes_in_by_pressing_a_name(window: Windows) -> None:
    page = window(tolerates=("/api/session",))

    page.get_by_role("button", name="Come in as Ada").click()

    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    expect(page.get_by_role("navigation").get_by_text("Shopping")).to_be_visible()
