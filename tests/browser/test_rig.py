"""The rig itself: it sees what goes wrong in a window, and measures what it says it does."""

import httpx
import pytest
from playwright.sync_api import Browser

from tests.browser.line import Line
from tests.browser.looking import axe, picture
from tests.browser.smoothness import smoothness
from tests.browser.windows import Windows, offline
from tests.servers.roomful import Roomful

REACHED = "fetch('/api/demo').then(() => true, () => false)"
FOLLOW = """async ([token]) => {
  const headers = {authorization: `Bearer ${token}`};
  const {body} = await fetch("/api/spaces/shopping/stream", {headers});
  const read = async () => { for await (const chunk of body); };
  window.ended = read().then(() => "at its end", String);
}"""
HOLD_UP = """() => new Promise((done) => setTimeout(() => {
  for (const end = performance.now() + 200; performance.now() < end;);
  done();
}))"""


def test_what_goes_wrong_in_a_window_is_told(browser: Browser, demo: Roomful) -> None:
    windows = Windows(browser, demo)
    page = windows()
    with page.expect_console_message(lambda message: "against the policy" in message.text):
        page.evaluate("document.body.append(Object.assign(new Image(), {src: 'http://example.test/a.png'}))")
    with page.expect_console_message():
        page.evaluate("console.error('oh')")
    with page.context.expect_event("requestfailed"):
        page.evaluate("void open('http://127.0.0.1:1/elsewhere')")
    with page.context.expect_event("weberror"):
        page.evaluate("setTimeout(() => { throw new Error('thrown') })")

    problems = windows.close()

    for told in (
        "console: against the policy: img-src http://example.test",
        "console: oh",
        "request to elsewhere: http://127.0.0.1:1/elsewhere",
        "error: Error: thrown",
    ):
        assert any(told in problem for problem in problems), (told, problems)


def test_a_tolerated_problem_is_none(browser: Browser, demo: Roomful) -> None:
    windows = Windows(browser, demo)
    page = windows(tolerates=("expected",))
    with page.expect_console_message():
        page.evaluate("console.error('as expected')")
    assert windows.close() == []


def test_without_a_network_a_window_gets_nothing(window: Windows) -> None:
    page = window(tolerates=("ERR_INTERNET_DISCONNECTED",))
    with offline(page):
        assert page.evaluate(REACHED) is False
        assert page.evaluate("navigator.onLine") is False
    assert page.evaluate(REACHED) is True


def test_a_cut_line_breaks_streams_and_lets_nothing_through(
    window: Windows, line: Line, demo: Roomful
) -> None:
    page = window(at=line, tolerates=("ERR_",))
    page.evaluate(FOLLOW, [httpx.get(f"{demo.url}/api/demo").json()[0]["token"]])
    with line.cut():
        assert page.evaluate("window.ended") == "TypeError: network error"
        assert page.evaluate(REACHED) is False
    assert page.evaluate(REACHED) is True


def test_axe_tells_what_is_serious(window: Windows) -> None:
    page = window()
    before = axe(page)
    page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    [found] = set(axe(page)) - set(before)
    assert found.startswith("button-name (critical)")


def test_a_task_that_holds_the_page_up_is_seen(window: Windows) -> None:
    page = window()
    with smoothness(page) as quiet:
        page.wait_for_timeout(300)
    with smoothness(page) as held_up:
        page.evaluate(HOLD_UP)
        page.wait_for_timeout(100)
    assert quiet.frames_per_second > 10
    assert held_up.longest_task >= 200
    assert held_up.longest_gap >= 150


def test_a_picture_is_kept_where_it_is_asked_for(
    window: Windows, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("pictures")
    monkeypatch.setenv("ROOMFUL_SCREENSHOTS", str(folder))
    picture(window(phone=True, dark=True), "door")
    assert (folder / "door.png").stat().st_size > 1000
