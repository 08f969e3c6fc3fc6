"""Lines break, gateways end and pages are loaded again; nobody misses anything, and nothing is said twice."""

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.lab import Lab, over, said
from tests.browser.line import Line
from tests.browser.telling import (
    card,
    done,
    last,
    messages,
    press,
    say,
    seen,
    stays,
    try_this,
    write,
)
from tests.browser.windows import Windows, offline
from tests.servers.roomful import Roomful

LOST = ("ERR_", "Failed to fetch", "network error")
TALE = "Once upon a time there was a gateway that nobody ever had to wait for, and it was cut in the middle."
Cut = Callable[[Page, Line], AbstractContextManager[None]]


@pytest.fixture(scope="module")
def demo(shared_demo: Roomful) -> Roomful:
    return shared_demo


def banner(page: Page) -> Locator:
    return page.get_by_role("status").filter(has_text="The line to the gateway is lost.")


def test_a_reload_in_the_middle_of_a_text_loses_nothing(window: Windows, lab: Lab) -> None:
    ada, grace = window("ada", "lab"), window("grace", "lab")
    lab.first.answer(said(TALE, hold_after=15), over())
    say(ada, "@First tell me a tale")
    expect(last(ada, "First")).to_contain_text("Once upon")
    ada.reload()
    expect(last(ada, "First")).to_contain_text("Once upon")
    assert seen(ada) == seen(grace)
    assert "in the middle." not in seen(ada)[-1][1]
    lab.first.release()
    for page in (ada, grace):
        done(page, "First", TALE)
    assert seen(ada) == seen(grace)
    stays(ada, grace)


def by_the_line(_: Page, line: Line) -> AbstractContextManager[None]:
    return line.cut()


def by_the_browser(page: Page, _: Line) -> AbstractContextManager[None]:
    return offline(page)


@pytest.mark.parametrize("cut", [by_the_line, by_the_browser])
def test_after_ten_seconds_without_a_line_nothing_is_missing(
    window: Windows, lab: Lab, line: Line, cut: Cut
) -> None:
    ada, grace = window("ada", "lab", at=line, tolerates=LOST), window("grace", "lab")
    lab.first.answer(said(TALE, hold_after=15), over())
    say(grace, "@First tell me a tale")
    expect(last(ada, "First")).to_contain_text("Once upon")
    with cut(ada, line):
        expect(banner(ada)).to_be_visible()
        say(ada, f"From the train, {cut.__name__}")
        expect(messages(ada).last).to_contain_text("Sending…")
        write(ada, "Half a thought")
        lab.first.release()
        done(grace, "First", TALE)
        say(grace, f"Cut {cut.__name__}?")
        ada.wait_for_timeout(10_000)  # the fault itself
        expect(banner(ada)).to_be_visible()
        expect(messages(ada).filter(has_text=f"Cut {cut.__name__}?")).to_have_count(0)
    expect(banner(ada)).to_be_hidden()
    for page in (ada, grace):
        expect(messages(page).filter(has_text=f"From the train, {cut.__name__}")).to_have_count(1)
    expect(messages(ada).filter(has_text="Sending…")).to_have_count(0)
    done(ada, "First", TALE)
    assert seen(ada) == seen(grace)
    expect(ada.get_by_role("textbox", name="Message")).to_have_value("Half a thought")
    stays(ada, grace)


def test_a_gateway_that_is_started_again_goes_on_with_all_windows(window: Windows, demo: Roomful) -> None:
    ada, grace = window("ada", "hq", tolerates=LOST), window("grace", "finance", tolerates=LOST)
    try_this(ada, "Ask Finance for money")
    expect(card(grace, "Approval form").get_by_role("button", name="Approve")).to_be_enabled()
    with stopped(demo):
        for page in (ada, grace):
            expect(banner(page)).to_be_visible()
        say(ada, "Thank you, @Omar")
        expect(messages(ada).last).to_contain_text("Sending…")
    for page in (ada, grace):
        expect(banner(page)).to_be_hidden()
    expect(messages(ada).filter(has_text="Thank you")).to_have_count(1)
    expect(messages(ada).filter(has_text="Sending…")).to_have_count(0)
    press(card(grace, "Approval form"), "Approve")
    approved = "Finance approved it: the 50,000 dollars are yours."
    expect(messages(ada).filter(has_text=approved)).to_have_count(1)
    expect(card(grace, "Approval form")).to_contain_text("Approved by Grace ·")
    assert [author for author, _ in seen(window("omar", "hq"))] == [author for author, _ in seen(ada)]
    stays(ada, grace)


def test_what_was_being_written_when_the_gateway_ended_is_written_to_its_end(
    window: Windows, demo: Roomful
) -> None:
    noa, omar = window("noa", "studio", tolerates=LOST), window("omar", "studio", tolerates=LOST)
    try_this(noa, "One thing after the other")
    expect(last(noa, "Scribe")).to_contain_text("Minutes")
    with stopped(demo):
        expect(banner(noa)).to_be_visible()
    for page in (noa, omar):
        done(page, "Scribe", "and Noa chooses the curtains.")
    assert seen(noa) == seen(omar)
    stays(noa, omar)


@contextlib.contextmanager
def stopped(demo: Roomful) -> Iterator[None]:
    demo.kill()
    yield
    demo.start()
