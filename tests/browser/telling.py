"""A story of the demo as it is told in windows: one presses what to try, and everybody sees what comes of it.

ada, grace = window("ada", "hq"), window("grace", "finance")
with streamed(ada), nothing_elsewhere(ada, "Head office", "Finance"):
    try_this(ada, "Ask Finance for money")
    press(card(grace, "Approval form"), "Approve")
    done(ada, "Finance approved it: the 50,000 dollars are yours.")
"""

import contextlib
from collections.abc import Iterator

from playwright.sync_api import Locator, Page, expect
from playwright.sync_api import TimeoutError as TookTooLong

from tests.browser.looking import axe, picture
from tests.browser.windows import PHONE

# Of each message: who says it, what is under its head, the pictures that are there, and what is chosen.
_SEEN = """() => [...document.querySelectorAll("[role=log] article")].map((article) => {
  const head = article.querySelector("header");
  const under = head ? head.parentElement.innerText.slice(head.innerText.length) : article.innerText;
  const words = under.split(/\\s+/).filter(Boolean).join(" ");
  const pictures = [...article.querySelectorAll("img")].filter((image) => image.naturalWidth > 0);
  const chosen = [...article.querySelectorAll("input:checked")].map(({labels}) => labels[0].innerText.trim());
  return [article.ariaLabel, words, pictures.map(({alt}) => alt).join(), chosen.join()];
})"""
_AS_BEFORE = f"(before) => JSON.stringify(({_SEEN})()) === JSON.stringify(before)"
_WATCH = f"""() => {{
  const see = {_SEEN};
  const states = new Set();
  const watch = new MutationObserver(() => states.add(JSON.stringify(see().at(-1))));
  const log = document.querySelector("[role=log]");
  watch.observe(log, {{subtree: true, childList: true, characterData: true}});
  window.states = states;
}}"""
_ELSEWHERE = """(names) => [...document.querySelectorAll("nav a[href^='#']")]
  .filter((link) => !names.some((name) => link.innerText.startsWith(name)))
  .map((link) => link.innerText)"""

# What can be scrolled has room for what is wider than it.
_TOO_WIDE = """() => [...document.querySelectorAll("body *")]
  .filter((element) => {
    const {left, right, width} = element.getBoundingClientRect();
    return width > 1 && (right > innerWidth + 1 || left < -1);
  })
  .filter((element) => {
    for (let around = element.parentElement; around; around = around.parentElement) {
      if (getComputedStyle(around).overflowX !== "visible") return false;
    }
    return true;
  })
  .map(({outerHTML}) => outerHTML.slice(0, 200))"""


def seen(page: Page) -> list[tuple[str, str]]:
    """[author, words] of each message."""
    return [(author, words) for author, words, *_ in page.evaluate(_SEEN)]


def messages(page: Page) -> Locator:
    return page.get_by_role("log", name="Messages").get_by_role("article")


def last(page: Page, author: str) -> Locator:
    """The newest message of somebody."""
    return page.get_by_role("log", name="Messages").get_by_role("article", name=author, exact=True).last


def card(page: Page, name: str) -> Locator:
    """The newest card of this name; the fields in it may have the same one."""
    groups = page.get_by_role("log", name="Messages").get_by_role("group", name=name, exact=True)
    return groups.and_(page.locator(":not(fieldset)")).last


def press(where: Page | Locator, name: str) -> None:
    where.get_by_role("button", name=name, exact=True).click()


def write(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Message").fill(text)


def say(page: Page, text: str) -> None:
    write(page, text)
    press(page, "Send")


def try_this(page: Page, title: str) -> None:
    page.get_by_role("button", name=f"Try this: {title}").click()


def done(page: Page, author: str, words: str) -> None:
    """Somebody has said it, and nobody is at work any more."""
    expect(last(page, author)).to_contain_text(words)
    expect(page.get_by_role("status", name="At work")).to_be_empty()


@contextlib.contextmanager
def streamed(*pages: Page) -> Iterator[None]:
    """What comes in the block is seen to come, piece by piece."""
    for page in pages:
        page.evaluate(_WATCH)
    yield
    for page in pages:
        assert page.evaluate("window.states.size") > 3


@contextlib.contextmanager
def nothing_elsewhere(page: Page, *spaces: str) -> Iterator[None]:
    """In the other spaces of theirs nothing is unread and nobody works that was not before."""
    before = page.evaluate(_ELSEWHERE, list(spaces))
    assert before
    yield
    after = page.evaluate(_ELSEWHERE, list(spaces))
    assert after == before, (before, after)


def stays(*pages: Page) -> None:
    """Whoever comes later sees what was seen live."""
    for page in pages:
        before = page.evaluate(_SEEN)
        page.reload()
        with contextlib.suppress(TookTooLong):
            page.wait_for_function(_AS_BEFORE, arg=before, timeout=15_000)
        after = page.evaluate(_SEEN)
        assert after == before, (before, after)


def reads_well(page: Page, name: str) -> None:
    """To those who cannot see it as to those who can."""
    picture(page, name)
    found = axe(page)
    assert not found, "\n\n".join(found)


def looks_well(story: str, light: Page, dark: Page) -> None:
    """On a desk, by day and by night, and on a phone, where nothing is wider than it."""
    reads_well(light, f"{story}-light")
    reads_well(dark, f"{story}-dark")
    desk = light.viewport_size
    assert desk
    light.set_viewport_size(PHONE)
    picture(light, f"{story}-phone")
    too_wide = light.evaluate(_TOO_WIDE)
    assert not too_wide, "\n".join(too_wide)
    light.set_viewport_size(desk)
