"""Cards that ask and agents at work: who may answer and when, and what becomes of a second answer."""

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.lab import Lab, form, over, said
from tests.browser.telling import card, done, last, messages, press, say, seen, stays, try_this
from tests.browser.windows import Windows
from tests.servers.roomful import Roomful

WORDS = "It is a long way to the end of this sentence, and it may be stopped before."


@pytest.fixture(scope="module")
def demo(shared_demo: Roomful) -> Roomful:
    return shared_demo


def at_work(page: Page) -> Locator:
    return page.get_by_role("status", name="At work")


def test_a_form_can_be_answered_once_its_agent_has_written_it_out(window: Windows, lab: Lab) -> None:
    ada, omar = window("ada", "lab"), window("omar", "lab")
    lab.first.answer(form("A new lamp", hold_after=6), over())
    say(ada, "@First may I have a lamp?")
    asks = card(ada, "Approval form")
    expect(asks).to_contain_text("A new")
    for name in ("Approve", "Reject"):
        expect(asks.get_by_role("button", name=name, exact=True)).to_be_disabled()
    lab.first.release()
    expect(asks.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    expect(card(omar, "Approval form")).to_contain_text("A new lamp")
    for name in ("Approve", "Reject"):  # Omar may read here and nothing else
        expect(card(omar, "Approval form").get_by_role("button", name=name, exact=True)).to_be_disabled()
    press(asks, "Approve")
    for page in (ada, omar):
        expect(card(page, "Approval form")).to_contain_text("Approved by Ada ·")


def test_of_two_who_answer_at_once_the_second_is_told_who_was_first(window: Windows) -> None:
    ada, grace = window("ada", "finance", tolerates=("409",)), window("grace", "finance")
    try_this(window("omar", "hq"), "Ask Finance for money")
    held: list[Route] = []
    ada.route("**/tool-results", lambda route: held.append(route))
    with ada.expect_request("**/tool-results"):
        press(card(ada, "Approval form"), "Reject")
    press(card(grace, "Approval form"), "Approve")
    expect(card(grace, "Approval form")).to_contain_text("Approved by Grace ·")
    [late] = held
    late.continue_()
    expect(card(ada, "Approval form").get_by_role("alert")).to_have_text("Already approved by Grace.")
    for page in (ada, grace):
        settled = card(page, "Approval form")
        expect(settled.get_by_text(re.compile(r"^Approved by Grace · \d\d:\d\d$"))).to_be_visible()
        expect(settled.get_by_role("button")).to_have_count(0)
    ada.reload()
    expect(
        card(ada, "Approval form").get_by_text(re.compile(r"^Approved by Grace · \d\d:\d\d$"))
    ).to_be_visible()
    expect(card(ada, "Approval form").get_by_role("alert")).to_have_count(0)
    assert seen(ada) == seen(grace)


@pytest.mark.parametrize(
    ("reader", "owner", "space"), [("husam", "grace", "leadership"), ("omar", "noa", "newsroom")]
)
def test_a_reader_cannot_write(window: Windows, reader: str, owner: str, space: str) -> None:
    say(window(owner, space), "Something to read")
    page = window(reader, space)
    expect(messages(page).first).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text(
        "You can read here. To write, ask an owner of this space."
    )
    expect(page.get_by_role("textbox", name="Message")).to_have_count(0)
    for name in ("Reply", "Edit", "Delete"):
        expect(messages(page).first.get_by_role("button", name=name)).to_have_count(0)


def test_stopping_one_agent_leaves_the_other_at_work(window: Windows, lab: Lab) -> None:
    ada, grace = window("ada", "lab"), window("grace", "lab")
    for model in (lab.first, lab.second):
        model.answer(said(WORDS, hold_after=15), over())
    say(ada, "@First @Second how far is it?")
    for page in (ada, grace):
        expect(at_work(page)).to_contain_text("First is writing…")
        expect(at_work(page)).to_contain_text("Second is writing…")
    expect(window("omar", "lab").get_by_role("button", name="Stop First")).to_have_count(0)
    press(grace, "Stop First")
    for page in (ada, grace):
        expect(at_work(page)).not_to_contain_text("First")
        expect(at_work(page)).to_contain_text("Second is writing…")
        expect(last(page, "First")).to_have_attribute("aria-busy", "false")
    lab.second.release()
    for page in (ada, grace):
        done(page, "Second", WORDS)
        expect(last(page, "First")).not_to_contain_text("stopped before")
    stays(ada, grace)
