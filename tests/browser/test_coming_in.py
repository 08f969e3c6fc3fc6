"""Somebody opens the page and comes in."""

from playwright.sync_api import expect

from tests.browser.windows import Windows


def test_one_comes_in_by_pressing_a_name(window: Windows) -> None:
    page = window()

    page.get_by_role("button", name="Come in as Ada").click()

    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    expect(page.get_by_role("navigation").get_by_text("Shopping")).to_be_visible()


def test_each_window_is_somebody_elses(window: Windows) -> None:
    ada, grace = window("ada", "finance"), window("grace", "finance", dark=True, phone=True)

    ada.get_by_role("textbox", name="Message").fill("Is anybody there?")
    ada.get_by_role("button", name="Send").click()

    said = grace.get_by_role("article", name="Ada").filter(has_text="Is anybody there?")
    expect(said).to_be_visible()
