"""What others say, call, send and are called runs nothing, sends nothing away, and stops nobody's page."""

import json
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.guard import Guard, notice_hits, told
from tests.browser.hostile import TIRING, Case, names, texts
from tests.browser.hostile_cards import CardCase, cards
from tests.browser.hostile_house import agent_of, hostile_house, person_of, script_of
from tests.browser.windows import Windows
from tests.servers.roomful import PATIENCE, Caller, Roomful

TEXTS = texts()
CARDS = cards()
NAMES = names()
# A file that is not there is asked for, and the browser says so on its console.
NO_FILE = ("/api/blobs/",)
NEXT = "\n\nnext\n\n"
STREAMED = NEXT.join(case.text.strip() for cases in TEXTS.values() for case in cases)


def slug(words: str) -> str:
    return words.replace(" ", "-")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roomful]:
    """One house for all: every class has a space of its own."""
    agents = {slug(kind): cases for kind, cases in CARDS.items()}
    scripts = {name: script_of(cases) for name, cases in agents.items()}
    scripts["talker"] = json.dumps({"turns": [{"text": STREAMED, "chunk": 41, "delay": 5}]})
    configs = [agent_of(name, cases) for name, cases in agents.items()]
    with hostile_house(
        tmp_path_factory.mktemp("hostile"), [*configs, agent_of("talker", [])], scripts
    ) as house:
        yield house


@pytest.fixture(scope="module")
def ada(demo: Roomful) -> Caller:
    return person_of(demo, "ada")


def guarded(window: Windows, demo: Roomful, space: str, *, tolerates: tuple[str, ...] = NO_FILE) -> Guard:
    """A page with Ada in that space, in which everything is noticed."""
    page = window("ada", "hq", tolerates=tolerates)
    notice_hits(page.context)
    page.goto(f"{demo.url}/?as=ada#{space}")
    page.get_by_role("log", name="Messages").wait_for()
    return Guard(page)


def named(problems: list[tuple[str, str]], known: dict[str, str]) -> str:
    return told([(known.get(where, where), what) for where, what in problems])


def batches() -> dict[str, list[Case]]:
    """As many as a page draws at once."""
    found: dict[str, list[Case]] = {}
    for kind, cases in TEXTS.items():
        for at in range(0, len(cases), 70):
            found[f"{slug(kind)}-{at}"] = cases[at : at + 70]
    return found


BATCHES = batches()


@pytest.mark.parametrize("batch", BATCHES)
def test_texts_run_nothing_and_send_nothing(batch: str, window: Windows, demo: Roomful) -> None:
    space = demo.space(batch, "ada:owner", "husam")
    husam = person_of(demo, "husam")
    guard = guarded(window, demo, space)
    known = {husam.say(space, case.text)["message"]["id"]: case.name for case in BATCHES[batch]}

    expect(guard.page.locator("article[data-id]")).to_have_count(len(known))
    assert named(guard.search(), known) == ""
    assert guard.press_links() == []
    guard.still_works("And now something else.")
    assert named(guard.search(), known) == ""


def test_texts_run_nothing_while_they_are_written(window: Windows, demo: Roomful, ada: Caller) -> None:
    space = demo.space("streamed", "ada:owner", "talker")
    guard = guarded(window, demo, space)
    ada.say(space, "say it all")
    said = guard.page.get_by_role("article", name="Mallory")
    expect(said).to_be_visible()
    looks = 0
    while said.last.get_attribute("aria-busy") == "true":
        assert told(guard.search()) == ""
        looks += 1

    assert looks > 3
    expect(said.last).to_contain_text(NEXT.strip())
    assert told(guard.search()) == ""
    guard.still_works("And now something else.")


@pytest.mark.parametrize("kind", CARDS)
def test_cards_run_nothing_and_send_nothing(kind: str, window: Windows, demo: Roomful, ada: Caller) -> None:
    space = demo.space(f"{slug(kind)}-space", "ada:owner", slug(kind))
    guard = guarded(window, demo, space)
    _try_cards(guard, ada, space, "all", CARDS[kind])


# The tool is the title of the card's head, or of the line of one that shows nothing else.
TOOLS = """() => [...document.querySelectorAll("article :is(.card-names, .call-line)")].flatMap((head) => {
  const {status} = (head.closest(".card") ?? head).dataset;
  return ["complete", "waiting", "error"].includes(status) ? [head.title] : [];
})"""


def _try_cards(guard: Guard, ada: Caller, space: str, words: str, cases: list[CardCase]) -> None:
    known = {case.tool: case.name for case in cases if not case.is_refused}
    ada.say(space, words)
    _wait_for_cards(guard.page, known)
    assert named(guard.search(), known) == ""
    guard.page.goto(f"{guard.page.url.partition('#')[0]}?as=ada#{space}")
    _wait_for_cards(guard.page, known)
    guard.unfold()
    assert named(guard.search(), known) == ""
    assert guard.press_links() == []
    guard.still_works("And now something else.")


def _wait_for_cards(page: Page, known: dict[str, str]) -> None:
    deadline = time.monotonic() + PATIENCE / 2
    while missing := known.keys() - set(page.evaluate(TOOLS)):
        assert time.monotonic() < deadline, [known[tool] for tool in missing]
        page.wait_for_timeout(50)


def test_texts_do_not_stop_the_page(window: Windows, demo: Roomful, ada: Caller) -> None:
    space = demo.space("tiring", "ada:owner")
    guard = guarded(window, demo, space)
    slow: list[str] = []
    for number, (name, text) in enumerate(TIRING, 1):
        ada.say(space, text())
        began = time.monotonic()
        expect(guard.page.locator("article[data-id]")).to_have_count(number)
        if (seconds := time.monotonic() - began) > 8:
            slow.append(f"{name}: {seconds:.1f} s")

    guard.still_works("And now something else.")
    assert slow == []
