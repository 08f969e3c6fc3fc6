"""Somebody opens the page, comes in, and leaves."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.looking import axe, picture
from tests.browser.telling import card, done, press, say, try_this
from tests.browser.windows import Windows
from tests.servers.roomful import Roomful


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


def test_the_door_can_be_read_by_everybody(window: Windows) -> None:
    for dark in (False, True):
        page = window(dark=dark)
        expect(page.get_by_role("button", name="Come in as Noa")).to_be_visible()
        assert axe(page) == []
        picture(page, f"door-{'dark' if dark else 'light'}")
    picture(window(phone=True), "door-phone")


def test_everything_can_be_done_by_keys(window: Windows) -> None:
    page = window()
    tab_to(page, page.get_by_role("button", name="Come in as Ada"))
    page.keyboard.press("Enter")
    tab_to(page, page.get_by_role("link", name="Head office"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("main", name="Head office")).to_be_visible()
    tab_to(page, page.get_by_role("textbox", name="Message"))
    page.keyboard.type("Can we have a budget for marketing?")
    page.keyboard.press("Enter")
    tab_to(page, page.get_by_role("region", name="Waiting for an answer").get_by_role("button"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("main", name="Finance")).to_be_visible()
    tab_to(page, card(page, "Approval form").get_by_role("button", name="Approve"))
    page.keyboard.press("Enter")
    expect(card(page, "Approval form")).to_contain_text("Approved by Ada ·")


def tab_to(page: Page, target: Locator) -> None:
    target.wait_for()
    for _ in range(100):
        if target.evaluate("(element) => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"no way to {target}")


def test_windows_of_one_browser_are_different_people(window: Windows, demo: Roomful) -> None:
    ada = window("ada", "hq")
    grace = ada.context.new_page()
    grace.goto(f"{demo.url}/?as=grace#finance")
    try_this(ada, "Ask Finance for money")
    press(card(grace, "Approval form"), "Approve")
    expect(card(grace, "Approval form")).to_contain_text("Approved by Grace ·")
    done(ada, "Aide", "Finance approved it")
    for page, name in ((ada, "Ada"), (grace, "Grace")):
        page.reload()
        expect(page.get_by_role("navigation", name="Spaces").get_by_text(name, exact=True)).to_be_visible()


def test_who_signs_out_is_out_and_nobody_else(window: Windows, demo: Roomful) -> None:
    ada = window("ada", "hq")
    omar = ada.context.new_page()
    omar.goto(f"{demo.url}/?as=omar#hq")
    press(ada, "Sign out")
    expect(ada.get_by_role("button", name="Come in as Ada")).to_be_visible()
    ada.reload()
    expect(ada.get_by_role("button", name="Come in as Ada")).to_be_visible()
    say(omar, "Still here")
    done(omar, "Aide", "I can ask Finance for money.")


def test_back_leads_out_of_the_house(window: Windows, demo: Roomful) -> None:
    page = window()
    page.goto("about:blank")
    page.goto(f"{demo.url}/?as=ada")
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    page.get_by_role("navigation", name="Spaces").get_by_role("link", name="Finance").click()
    expect(page.get_by_role("heading", name="Finance")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Design")).to_be_visible()
    page.go_back()
    expect(page).to_have_url("about:blank")


@pytest.mark.parametrize("place", ["nosuchspace", "leadership"])
def test_a_space_that_is_not_there_is_said(window: Windows, demo: Roomful, place: str) -> None:
    page = window()
    page.goto(f"{demo.url}/?as=ada#{place}")
    expect(page.get_by_role("main")).to_contain_text("This space is not here for you")
    page.get_by_role("main").get_by_role("link", name="All spaces").click()
    expect(page.get_by_role("log", name="Messages")).to_be_visible()


def test_whoever_is_put_out_of_a_space_is_told(window: Windows, demo: Roomful) -> None:
    demo.space("attic", "ada", "grace:owner")
    page = window("ada", "attic")
    demo.admin.call("DELETE", "/api/spaces/attic/members/ada", expect=204)
    expect(page.get_by_role("main")).to_contain_text("This space is not here for you")
