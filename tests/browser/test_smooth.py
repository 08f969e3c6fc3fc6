"""A long space, and several agents that write at once. Counted here; timed in the long tests."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.smoothness import Smoothness, smoothness
from tests.browser.windows import Windows
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, call, hold, pause, text
from tests.servers.roomful import Roomful, openai

MANY = 2000
WORDS = "Every **word** of it comes by itself, with `code` and all. "
AGENTS = ["ant", "bee", "cat", "dog"]
# How long it takes until the newest message is drawn and in view.
_OPEN = """async () => {
  const began = performance.now();
  location.hash = "#long";
  const isThere = () => {
    const last = [...document.querySelectorAll("[role=log] article")].at(-1);
    return last?.textContent.includes("Message 2000") && last.getBoundingClientRect().bottom <= innerHeight;
  };
  while (!isThere()) await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""
# Which messages were drawn anew, and how often.
_COUNT = """() => {
  window.drawn = {};
  new MutationObserver((changes) => {
    for (const {target} of changes) {
      const name = (target.closest ? target : target.parentElement)?.closest("article")?.ariaLabel;
      if (name) window.drawn[name] = (window.drawn[name] ?? 0) + 1;
    }
  }).observe(document.querySelector("[role=log]"), {subtree: true, childList: true, characterData: true});
}"""


def writing(asked: Asked) -> Answer:
    """Says something long, fifty pieces a second, once it may."""
    if asked.messages[-1]["role"] == "tool":
        return Answer(text("Done."))
    opening, *pieces = call("sendSpaceMessage", {"spaceId": "desk", "text": WORDS * 17}, size=4)
    slowly = [each for piece in pieces for each in (pause(0.02), piece)]
    return Answer([opening, hold(), *slowly])


@pytest.fixture
def model() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(writing) as model:
        yield model


@pytest.fixture
def house(tmp_path: Path, model: FakeOpenAI) -> Iterator[Roomful]:
    with Roomful(tmp_path, "--demo") as house:
        yield house


@pytest.fixture
def windows(browser: Browser, house: Roomful) -> Iterator[Windows]:
    windows = Windows(browser, house)
    yield windows
    assert windows.close() == []


def long_space(house: Roomful) -> None:
    house.space("long", "ada", "grace")
    for number in range(1, MANY + 1):
        words = f"Message {number}: **bold**, `code` and\n\n- a list\n- of things\n"
        who = {"x-roomful-as": "grace" if number % 2 else "ada"}
        house.admin.post("/api/spaces/long/messages", {"text": words}, headers=who, expect=201)


def desk(house: Roomful, model: FakeOpenAI) -> None:
    for agent in AGENTS:
        house.agent(agent, openai(model.base_url), instructions=f"You are {agent}.")
    house.space("desk", "ada", *AGENTS)


def all_writing(page: Page, model: FakeOpenAI) -> None:
    page.get_by_role("textbox", name="Message").fill(" ".join(f"@{agent}" for agent in AGENTS))
    page.get_by_role("button", name="Send").click()
    model.wait_for_requests(len(AGENTS))
    model.release(times=len(AGENTS))


def scrolled_up(page: Page, steps: int) -> Smoothness:
    page.get_by_role("log").hover()
    with smoothness(page) as seen:
        for _ in range(steps):
            page.mouse.wheel(0, -300)
            page.wait_for_timeout(16)
    return seen


def test_of_a_long_space_a_stretch_is_loaded_and_drawn(windows: Windows, house: Roomful) -> None:
    long_space(house)
    page = windows("ada", "hq")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    page.evaluate(_OPEN)

    assert page.get_by_role("log").get_by_role("article").count() == 50
    assert [url for url in asked if "/messages" in url] == []
    log = page.get_by_role("log")
    log.hover()
    for seq in (1900, 1500, 1000, 100, 1):
        wanted = log.get_by_text(f"Message {seq}:", exact=False)
        while not wanted.is_visible():
            page.mouse.wheel(0, -1500)
            page.wait_for_timeout(30)
        assert log.get_by_role("article").count() <= 80
    page.get_by_role("button", name="Jump to newest").click()
    expect(log.get_by_text("Message 2000:")).to_be_in_viewport()


def test_a_delta_draws_only_the_bubble_that_grows(
    windows: Windows, house: Roomful, model: FakeOpenAI
) -> None:
    desk(house, model)
    page = windows("ada", "desk")
    all_writing(page, model)
    bubbles = [page.get_by_role("article", name=agent.title()) for agent in AGENTS]
    for bubble in bubbles:
        expect(bubble).to_contain_text("Every word of it")
    page.evaluate(_COUNT)
    expect(page.get_by_role("status", name="At work")).to_have_text("", timeout=60_000)

    drawn = page.evaluate("window.drawn")
    assert set(drawn) == {agent.title() for agent in AGENTS}
    for bubble in bubbles:
        assert bubble.inner_text().count("comes by itself") == 17


@pytest.mark.long
def test_a_long_space_opens_in_a_second_and_scrolls(windows: Windows, house: Roomful) -> None:
    long_space(house)
    page = windows("ada", "hq", moving=True)
    first = page.evaluate(_OPEN)
    began = time.monotonic()
    page.reload()
    expect(page.get_by_text("Message 2000:")).to_be_in_viewport()
    reloaded = time.monotonic() - began
    seen = scrolled_up(page, 200)

    print(f"\nopened in {first:.0f} ms, from nothing in {reloaded:.2f} s")
    print(f"scrolling: {len(seen.long_tasks)} long tasks, longest {seen.longest_task:.0f} ms, ")
    print(f"{seen.frames_per_second:.0f} frames a second, longest gap {seen.longest_gap:.0f} ms")
    assert first < 1000
    assert reloaded < 1
    assert seen.longest_task < 100


@pytest.mark.long
def test_four_agents_write_fifty_times_a_second(windows: Windows, house: Roomful, model: FakeOpenAI) -> None:
    desk(house, model)
    page = windows("ada", "desk", moving=True)
    all_writing(page, model)
    expect(page.get_by_role("article", name="Dog")).to_contain_text("Every word of it")
    with smoothness(page) as seen:
        expect(page.get_by_role("status", name="At work")).to_have_text("", timeout=60_000)

    rate = seen.frames_per_second
    print(f"\n{len(seen.gaps)} frames, {rate:.0f} a second, longest gap {seen.longest_gap:.0f} ms")
    print(f"{len(seen.long_tasks)} long tasks, longest {seen.longest_task:.0f} ms")
    assert len(seen.gaps) > 100
    assert seen.longest_gap <= 100
