"""Others' words outside of texts and cards: names, quotes, search, files, errors, trails; and links, which
ask before they lead away."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.guard import Guard, notice_hits, told
from tests.browser.hostile import MARKUP, armed, names
from tests.browser.hostile_cards import HIDDEN, cards
from tests.browser.hostile_house import agent_of, hostile_house, person_of, script_of
from tests.browser.windows import Windows
from tests.servers.roomful import Caller, Roomful

NAMES = names()
GATES = cards()["ApprovalGate"]
EVIL = "<img src=x onerror=top.__hit(1)> [a](javascript:top.__hit(2)) ![b](https://case3.invalid/b.png)"
ASK = {
    "name": "ask",
    "description": "Ask.",
    "executionType": "ai-agent",
    "visibility": "full",
    "execution": {"agentConfig": {"name": EVIL, "instructions": "x", "model": "scripted:inner"}},
}
SCRIPTS = {
    "gates": script_of(GATES),
    "inner": json.dumps({"turns": [{"text": EVIL, "chunk": 9}]}),
    "outer": json.dumps(
        {"turns": [{"steps": [{"calls": [{"tool": "ask", "args": {"prompt": EVIL}}]}, {"text": "x"}]}]}
    ),
    "fails": json.dumps({"turns": [{"error": {"message": EVIL}}]}),
    "thinks": json.dumps({"turns": [{"thinking": EVIL, "text": EVIL}]}),
}
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c636460f85f0f0002870180eb47ba920000000049454e44ae426082"
)
FILES = (
    ("a.svg", "image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg' onload='top.__hit(4)'/>"),
    ("a.html", "text/html", b"<script>top.__hit(5)</script>"),
    ("a.xhtml", "application/xhtml+xml", b"<html xmlns='http://www.w3.org/1999/xhtml'><script>top.__hit(6)</script></html>"),
    ("a.xml", "text/xml", b"<x:script xmlns:x='http://www.w3.org/1999/xhtml'>top.__hit(7)</x:script>"),
    ("a.js", "text/javascript", b"top.__hit(8)"),
    ("a.pdf", "application/pdf", b"%PDF-1.4"),
    ("a.png", "image/png", b"<svg xmlns='http://www.w3.org/2000/svg' onload='top.__hit(9)'/>"),
    ("a.gif", "image/gif", b"GIF89a/*<script>top.__hit(10)</script>*/=0;"),
    ("<img src=x onerror=top.__hit(11)>.png", "image/png", PNG),
    ("\u202egnp.exe", "application/octet-stream", b"x"),
    ("../../../etc/passwd", "text/plain", b"x"),
    ('"; filename=a.html', "text/html", b"<script>top.__hit(12)</script>"),
)  # fmt: skip


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roomful]:
    agents = [
        agent_of("gates", GATES, name="Gate\u202ekeeper"),
        {**agent_of("outer", []), "tools": [ASK]},
        agent_of("fails", [], name=EVIL),
        {**agent_of("thinks", []), "showReasoning": True},
    ]
    with hostile_house(tmp_path_factory.mktemp("places"), agents, SCRIPTS) as house:
        yield house


@pytest.fixture(scope="module")
def ada(demo: Roomful) -> Caller:
    return person_of(demo, "ada")


def guarded(window: Windows, demo: Roomful, space: str, *, tolerates: tuple[str, ...] = ()) -> Guard:
    page = window("ada", "hq", tolerates=tolerates)
    notice_hits(page.context)
    page.goto(f"{demo.url}/?as=ada#{space}")
    page.get_by_role("log", name="Messages").wait_for()
    return Guard(page)


def test_names_are_only_names(window: Windows, demo: Roomful, ada: Caller) -> None:
    """Of people and of spaces, above messages, in quotes, in mentions, in search, in the composer."""
    guests = [demo.person(f"guest{case.number}", case.text) for case in NAMES]
    for case in NAMES:
        demo.space(f"place{case.number}", "ada:owner", name=case.text)
    space = demo.space("guests", "ada:owner", *(guest.id for guest in guests))
    guard = guarded(window, demo, space)
    page = guard.page
    for case, guest in zip(NAMES, guests, strict=True):
        said = guest.say(space, f"{EVIL} findme")["message"]["id"]
        ada.say(space, f"@{case.text} findme", replyTo=said)
    expect(page.get_by_role("article")).to_have_count(2 * len(NAMES))

    assert told(guard.search()) == ""
    shown = page.get_by_role("navigation", name="Spaces").inner_text()
    assert NAMES[0].text in shown
    page.get_by_role("article").first.get_by_role("button", name="Reply").click(force=True)
    composer = page.get_by_role("textbox", name="Message")
    for typed in ("@<", "@.", "@(", "@\u202e", "@x"):
        composer.fill(typed)
        assert told(guard.search()) == ""
    page.keyboard.press("Control+k")
    page.get_by_role("searchbox").fill("findme")
    expect(page.get_by_role("dialog", name="Search").get_by_role("listitem").first).to_be_visible()
    assert told(guard.search()) == ""
    page.get_by_role("dialog", name="Search").get_by_role("button").first.click()
    guard.still_works("And now something else.")


def test_a_draft_is_only_words(window: Windows, demo: Roomful) -> None:
    space = demo.space("drafts", "ada:owner")
    guard = guarded(window, demo, space)
    composer = guard.page.get_by_role("textbox", name="Message")
    draft = "\n".join(armed(each, number) for number, each in enumerate(MARKUP, 1) if "\n" not in each)
    composer.fill(draft)
    guard.page.reload()

    expect(composer).to_have_value(draft)
    assert told(guard.search()) == ""


def test_files_are_shown_as_pictures_or_not_at_all(window: Windows, demo: Roomful, ada: Caller) -> None:
    space = demo.space("files", "ada:owner")
    guard = guarded(window, demo, space)
    for name, media_type, data in FILES:
        made = ada.post(
            "/api/blobs", data, expect=201, params={"name": name}, headers={"content-type": media_type}
        )
        text = f"![a]({made['url']}) [b]({made['url']})"
        ada.say(space, text, attachments=[made["blobId"]])
        answer = ada.request("GET", made["url"])
        is_shown = answer.headers["content-disposition"].startswith("inline")
        assert is_shown == (media_type in ("image/png", "image/gif")), name
        assert "sandbox" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
    expect(guard.page.get_by_role("article")).to_have_count(len(FILES))
    expect(guard.page.locator("article .blob.pending")).to_have_count(0)

    assert told(guard.search()) == ""
    for button in guard.page.locator("article .bubble > button.file").all():
        with guard.page.expect_download() as saved:
            button.click()
        assert "/" not in saved.value.suggested_filename
    assert told(guard.search()) == ""
    guard.still_works("And now something else.")


def test_a_file_that_is_gone_is_no_error(window: Windows, demo: Roomful, ada: Caller) -> None:
    space = demo.space("gone", "ada:owner")
    guard = guarded(window, demo, space, tolerates=("/api/blobs/nothing",))
    ada.say(space, "![a](/api/blobs/nothing) [press](/api/blobs/nothing)")
    guard.page.get_by_role("button", name="press").click()
    expect(guard.page.get_by_text("This file is not here any more.").first).to_be_visible()
    guard.still_works("And now something else.")


@pytest.mark.parametrize("agent", ["outer", "fails", "thinks"])
def test_what_agents_do_inside_is_only_words(agent: str, window: Windows, demo: Roomful, ada: Caller) -> None:
    """Trails of sub-agents, errors, thoughts."""
    space = demo.space(f"inside-{agent}", "ada:owner", agent)
    guard = guarded(window, demo, space)
    ada.say(space, EVIL)
    expect(guard.page.get_by_role("log").get_by_text("<img src=x onerror").nth(1)).to_be_attached()
    for _ in range(2):
        guard.unfold()
        assert told(guard.search()) == ""
        assert guard.press_links() == []
        guard.page.reload()
        guard.page.get_by_role("article").first.wait_for()
    guard.still_works("And now something else.")


def test_consent_is_asked_for_the_exact_arguments(window: Windows, demo: Roomful, ada: Caller) -> None:
    space = demo.space("consent", "ada:owner", "gates")
    guard = guarded(window, demo, space)
    ada.say(space, "all")
    gates = guard.page.locator(".card.gate[data-status=waiting]")
    expect(gates).to_have_count(len(GATES))

    for case in GATES:
        card = gates.filter(has=guard.page.locator(f"[title={case.tool}]"))
        shown = card.get_by_label("Arguments", exact=True)
        text = shown.inner_text()
        assert json.loads(text) == json.loads(case.args), case.name
        assert not set(text) & {unit for hidden in HIDDEN for unit in hidden}, case.name
        expect(card.get_by_role("button", name="Approve")).to_be_enabled()
        expect(card).to_contain_text(f"wants to call {case.tool}")
        box = shown.evaluate(
            "(e) => [e.scrollWidth - e.clientWidth, getComputedStyle(e).overflowY, e.tabIndex]"
        )
        assert box == [0, "auto", 0], case.name
        assert card.evaluate(READ) == ["wants", "call", case.tool], case.name
    assert told(guard.search()) == ""


# The words of the sentence above the arguments as they stand from left to right.
READ = r"""(card) => {
  const walk = document.createTreeWalker(card.querySelector(".about"), NodeFilter.SHOW_TEXT);
  const found = [];
  for (let node; (node = walk.nextNode());)
    for (const {0: word, index} of node.data.matchAll(/wants|call\b|case_\d+/g)) {
      const range = new Range();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      found.push([range.getBoundingClientRect().left, word]);
    }
  return found.sort(([a], [b]) => a - b).map(([, word]) => word);
}"""


def _elsewhere(page: Page) -> list[str]:
    """Answers for the whole world, and remembers what was asked of it."""
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(json.dumps([route.request.url, route.request.headers.get("referer")]))
        route.fulfill(content_type="text/html", body="<title>elsewhere</title>")

    page.context.route("https://elsewhere.example/**", answer)
    return asked


def test_a_link_asks_before_it_leads_away(browser: Browser, demo: Roomful, ada: Caller) -> None:
    space = demo.space("links", "ada:owner")
    ada.say(
        space,
        "See [the plan](https://elsewhere.example/plan?q=1) or [ours](https://example.com@elsewhere.example/)",
    )
    windows = Windows(browser, demo)
    page = windows("ada", space, tolerates=("request to elsewhere",))
    asked = _elsewhere(page)
    dialog = page.get_by_role("dialog", name="Leave for elsewhere.example?")

    page.get_by_role("link", name="the plan").click()
    expect(dialog).to_contain_text("https://elsewhere.example/plan?q=1")
    dialog.get_by_role("button", name="Stay").click()
    expect(dialog).to_have_count(0)
    page.get_by_role("link", name="the plan").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.get_by_role("link", name="ours").click(button="middle")
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Stay").click()
    assert asked == []
    assert len(page.context.pages) == 1

    page.get_by_role("link", name="the plan").click()
    with page.context.expect_page() as opened:
        dialog.get_by_role("button", name="Open").click()
    opened.value.wait_for_load_state()
    assert opened.value.title() == "elsewhere"
    assert opened.value.evaluate("[window.opener, document.referrer]") == [None, ""]
    assert asked == [json.dumps(["https://elsewhere.example/plan?q=1", None])]
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    assert windows.close() == []


def test_what_people_mean_is_drawn(window: Windows, demo: Roomful, ada: Caller) -> None:
    space = demo.space("meant", "ada:owner")
    made = ada.post("/api/blobs", PNG, expect=201, headers={"content-type": "image/png"})
    ada.say(
        space,
        "**bold** *slanted* ~~gone~~ `code`\n\n- one\n- two\n\n```\nblock\n```\n\n"
        f"| a | b |\n|---|---|\n| 1 | 2 |\n\n> quote\n\n[site](https://example.com/) ![dot]({made['url']})",
    )
    said = window("ada", space).get_by_role("article")

    for drawn in ("strong", "em", "del", "p code", "ul > li", "pre code", "table td", "blockquote", "a.link"):
        expect(said.locator(drawn).first).to_be_visible()
    expect(said.get_by_role("img", name="dot")).to_have_js_property("naturalWidth", 1)


BAD = {
    "<img src=https://a.invalid/a.png>": "loads by src",
    "<p onclick=x>": "handler onclick",
    "<a href=javascript:x>": "link: <a",
    "<a href=https://a.invalid>": "link without noopener",
    "<iframe>": "element: <iframe",
    "<form action=https://a.invalid>": "loads by action",
    "<svg><use href=x></svg>": "element: <use",
    "<p style='background:url(x)'>": "style: <p",
    "<base>": "element: <base",
}
PUT_IN = """(bad) => {
  const policy = trustedTypes.createPolicy("test", {createHTML: (html) => html});
  const main = document.querySelector("main");
  for (const html of Object.keys(bad)) main.insertAdjacentHTML("beforeend", policy.createHTML(html));
  const link = Object.assign(document.createElement("link"), {rel: "dns-prefetch", href: "https://a.invalid"});
  document.head.append(link);
}"""


def test_the_guard_notices(browser: Browser, demo: Roomful) -> None:
    """What the tests here look for is found when it is there."""
    windows = Windows(browser, demo)
    guard = guarded(windows, demo, "hq")
    page = guard.page
    page.evaluate("window.__hit(17)")
    with page.expect_event("dialog"):
        page.evaluate("void setTimeout(() => alert('hello'))")
    with page.expect_popup():
        page.evaluate("void open('http://127.0.0.1:1/elsewhere')")
    page.evaluate("document.title = 'Another'")
    page.evaluate(PUT_IN, BAD)

    found = told(guard.search())
    for word in (
        "case 17: ran a script",
        "dialog 'hello'",
        "opened",
        "title Another",
        "head: <link",
        *BAD.values(),
    ):
        assert word in found, (word, found)
    problems = "\n".join(windows.close())
    assert "case 17 ran a script" in problems
    assert (
        "request to elsewhere: https://a.invalid/a.png" in problems or "img-src https://a.invalid" in problems
    )
