"""Finding what one has to read or to answer, however far away it is."""

import itertools
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.lab import Lab, form
from tests.browser.telling import card, messages, press, say
from tests.browser.windows import Windows
from tests.http.playing import Demo
from tests.servers.roomful import Caller, Roomful

MANY = 130


@pytest.fixture(scope="module")
def demo(shared_demo: Roomful) -> Roomful:
    return shared_demo


@pytest.fixture(scope="module")
def ada(shared_demo: Roomful) -> Caller:
    """Ada elsewhere: what she says comes over HTTP."""
    return Demo(shared_demo).people["ada"]


def link(page: Page, space: str) -> Locator:
    return page.get_by_role("navigation", name="Spaces").get_by_role("link", name=space)


@pytest.mark.usefixtures("lab")
def test_unread_messages_are_counted_until_they_are_read(window: Windows, ada: Caller) -> None:
    grace = window("grace", "lab")
    say(grace, "I have seen everything so far")
    link(grace, "Finance").click()
    for words in ("One", "Two"):
        ada.say("lab", words)
    expect(link(grace, "Lab")).to_have_accessible_name("Lab 2 unread")
    expect(grace).to_have_title("(2) Roomful")
    grace.reload()
    expect(link(grace, "Lab")).to_have_accessible_name("Lab 2 unread")
    link(grace, "Lab").click()
    new = grace.get_by_role("separator", name="New messages")
    expect(new).to_be_visible()
    assert new.evaluate("(mark) => mark.nextElementSibling.innerText").endswith("One")
    link(grace, "Finance").click()
    expect(link(grace, "Lab")).to_have_accessible_name("Lab")
    expect(grace).to_have_title("Roomful")
    link(grace, "Lab").click()
    expect(messages(grace).last).to_contain_text("Two")
    expect(new).to_have_count(0)


@pytest.mark.usefixtures("lab")
def test_the_first_of_many_unread_messages_is_one_press_away(window: Windows, ada: Caller) -> None:
    grace = window("grace", "lab")
    link(grace, "Finance").click()
    for number in range(30):
        ada.say("lab", f"Unread {number}")
    expect(link(grace, "Lab")).to_have_accessible_name("Lab 30 unread")
    link(grace, "Lab").click()
    expect(grace.get_by_text("Unread 29")).to_be_in_viewport()
    jump = grace.get_by_role("button", name="Jump to first unread")

    jump.click()

    expect(grace.get_by_role("separator", name="New messages")).to_be_in_viewport()
    expect(grace.get_by_text("Unread 0", exact=True)).to_be_in_viewport()
    expect(jump).to_have_count(0)


def test_alt_and_an_arrow_go_to_the_next_space(window: Windows) -> None:
    ada = window("ada", "finance")
    spaces = ada.get_by_role("navigation", name="Spaces").get_by_role("listitem").get_by_role("link")
    here = ada.get_by_role("heading", level=1)
    names = [name.partition("\n")[0] for name in spaces.all_inner_texts()]
    after = names[names.index("Finance") + 1]

    ada.keyboard.press("Alt+ArrowDown")
    expect(here).to_have_text(after)
    ada.keyboard.press("Alt+ArrowUp")
    expect(here).to_have_text("Finance")


@pytest.fixture(scope="module")
def long_lab(lab: Lab, ada: Caller) -> Lab:
    """A needle and a waiting form in the lab, with many messages after them."""
    lab.first.answer(form("A lamp from long ago"))
    with ada.listen("lab") as listener:
        ada.say("lab", "A needle lies here")
        ada.say("lab", "@first may I have a lamp?")
        listener.wait_for("run.waiting_tool")
    for number in range(MANY):
        ada.say("lab", f"Message {number}")
    return lab


def from_elsewhere(page: Page) -> None:
    link(page, "Shopping").click()


def from_its_end(page: Page) -> None:
    link(page, "Lab").click()
    expect(messages(page).last).to_be_in_viewport()


@pytest.mark.usefixtures("long_lab")
@pytest.mark.parametrize("start", [from_elsewhere, from_its_end])
def test_a_waiting_card_is_one_press_away(window: Windows, start: Callable[[Page], None]) -> None:
    page = window("ada", "hq")
    start(page)
    waiting = page.get_by_role("region", name="Waiting for an answer")
    for _ in range(2):
        waiting.get_by_role("button", name="First in Lab").click()
        expect(page.get_by_role("heading", name="Lab")).to_be_visible()
        expect(card(page, "Approval form")).to_be_in_viewport()
        expect(card(page, "Approval form").get_by_role("button", name="Approve")).to_be_focused()
        press(page, "Jump to newest")
        expect(messages(page).filter(has_text=f"Message {MANY - 1}")).to_be_in_viewport()


@pytest.mark.usefixtures("long_lab")
def test_a_hit_of_a_search_is_gone_to(window: Windows) -> None:
    page = window("grace", "finance")
    page.keyboard.press("Control+k")
    page.get_by_role("searchbox", name="Search words").fill("needle")
    hits = page.get_by_role("dialog", name="Search").get_by_role("listitem")
    expect(hits).to_have_count(1)
    expect(hits).to_contain_text("Lab · Ada")
    hits.get_by_role("button").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(messages(page).filter(has_text="A needle lies here")).to_be_in_viewport()


@pytest.mark.usefixtures("long_lab")
def test_older_messages_come_while_one_scrolls_up(window: Windows) -> None:
    page = window("grace", "lab")
    expect(messages(page).filter(has_text=f"Message {MANY - 1}")).to_be_in_viewport()
    page.get_by_role("log", name="Messages").hover()
    needle = messages(page).filter(has_text="A needle lies here")
    for _ in range(200):
        page.mouse.wheel(0, -1500)
        page.evaluate("new Promise(requestAnimationFrame)")
        if needle.count():
            break
    expect(needle).to_be_attached()


# Which message is the first in sight, and where it stands.
_PLACE = """() => {
  const log = document.querySelector("[role=log]"), edge = log.getBoundingClientRect().top + 40;
  const isInSight = (article) => article.getBoundingClientRect().bottom > edge;
  const first = [...log.querySelectorAll("article")].find(isInSight);
  return [Number(first.innerText.match(/Message (\\d+)/)?.[1] ?? -1), first.getBoundingClientRect().top];
}"""


@pytest.mark.usefixtures("long_lab")
def test_what_is_read_stays_where_it_is(window: Windows, ada: Caller) -> None:
    page, other = window("grace", "lab"), window("ada", "lab")
    expect(messages(page).filter(has_text=f"Message {MANY - 1}")).to_be_in_viewport()
    page.get_by_role("log", name="Messages").hover()
    seen = [page.evaluate(_PLACE)[0]]
    while seen[-1] > 3:
        page.mouse.wheel(0, -300)
        page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
        seen.append(page.evaluate(_PLACE)[0])
    assert max(before - after for before, after in itertools.pairwise(seen)) < 10
    page.mouse.wheel(0, 2500)
    page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
    place = page.evaluate(_PLACE)
    for number in range(5):
        ada.say("lab", f"Meanwhile {number}")
    expect(messages(other).last).to_contain_text("Meanwhile 4")
    link(page, "Finance").wait_for()
    assert page.evaluate(_PLACE) == place
    press(page, "Jump to newest")
    expect(messages(page).filter(has_text="Meanwhile 4")).to_be_in_viewport()


def test_nothing_found_is_said(window: Windows) -> None:
    page = window("grace", "finance")
    press(page, "Search")
    page.get_by_role("searchbox", name="Search words").fill("xylophone")
    expect(page.get_by_role("dialog", name="Search").get_by_role("status")).to_have_text("Nothing found.")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
