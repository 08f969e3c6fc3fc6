"""Who owns an agent looks into its run: while it waits, and after it has ended. Nobody else is asked to."""

from playwright.sync_api import Locator, Page, expect

from tests.browser.looking import axe, picture
from tests.browser.windows import Windows


def say(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Message").fill(text)
    page.get_by_role("button", name="Send").click()


def ask_for_money(page: Page) -> None:
    say(page, "Can we have a budget for marketing?")


def inspector(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Run inspector")


def entry(panel: Locator, of: str) -> Locator:
    """The call in the list that the bar leads to."""
    panel.get_by_role("button", name=of).click()
    found = panel.locator("li:focus")
    expect(found).to_be_in_viewport()
    return found


def test_a_run_is_seen_while_it_waits_and_after_it_was_answered(window: Windows) -> None:
    ada, grace = window("ada", "hq"), window("grace", "finance")
    ask_for_money(ada)
    expect(ada.get_by_role("status", name="At work")).to_contain_text("waits")
    ada.get_by_role("button", name="Inspect run of Aide").click()
    panel = inspector(ada)

    expect(panel.get_by_role("heading", name="Aide")).to_contain_text("Waits")
    expect(panel.get_by_text("Ada wrote in Head office")).to_be_visible()
    form = entry(panel, "Show approval form, Finance, waits for")
    expect(form).to_contain_text("Waits for an answer")
    expect(form).to_contain_text("Visibilityfull")
    expect(form).to_contain_text("RouteFinance")
    hidden = entry(panel, "Look up budget, not shown")
    expect(hidden).to_contain_text("Visibilityhidden")
    picture(ada, "inspector-waiting")

    grace.get_by_role("group", name="Approval form").get_by_role("button", name="Approve").click()

    expect(panel.get_by_role("heading", name="Aide")).to_contain_text("Done")
    form = entry(panel, "Show approval form, Finance, waited")
    expect(form).to_contain_text("Answered byGrace")
    form.get_by_text("Result").click()
    expect(panel.get_by_role("group", name="Result")).to_contain_text('"approved": true')
    expect(panel.get_by_label("Totals")).to_contain_text("Cost$0.000")
    expect(panel.get_by_role("meter", name="Steps")).to_have_attribute("aria-valuetext", "4 of 50")


def test_a_panel_that_is_closed_gives_the_focus_back(window: Windows) -> None:
    ada = window("ada", "hq")
    ask_for_money(ada)
    expect(ada.get_by_role("status", name="At work")).to_contain_text("waits")
    opener = ada.get_by_role("button", name="Inspect run of Aide")

    opener.press("Enter")
    expect(inspector(ada).get_by_role("button", name="Close")).to_be_focused()
    ada.keyboard.press("Escape")
    expect(inspector(ada)).to_have_count(0)
    expect(opener).to_be_focused()

    opener.click()
    inspector(ada).get_by_role("button", name="Close").click()
    expect(inspector(ada)).to_have_count(0)


def test_called_runs_stand_under_their_calls(window: Windows) -> None:
    ada = window("ada", "research")
    say(ada, "Is a four-day week worth it?")
    log = ada.get_by_role("log", name="Messages")
    expect(log).to_contain_text("Then that is our answer")
    ada.get_by_role("button", name="Inspect run", exact=True).last.press("Enter")
    panel = inspector(ada)

    below = panel.get_by_role("region", name="Run of Librarian")
    expect(below.get_by_role("heading", name="Read paper")).to_have_count(2)
    panel.get_by_role("button", name="Read paper by Librarian, not shown, took").first.click()
    expect(below.locator("li:focus")).to_contain_text("Read paper")


def test_only_the_owner_is_offered_it(window: Windows) -> None:
    ada, grace = window("ada", "hq"), window("grace", "finance")
    ask_for_money(ada)
    expect(grace.get_by_role("article", name="Aide")).to_be_visible()
    expect(grace.get_by_role("button", name="Reply").first).to_be_attached()
    expect(grace.get_by_role("button", name="Inspect run")).to_have_count(0)


def test_a_refusal_is_a_sentence(window: Windows) -> None:
    ada = window("ada", "hq", tolerates=("404",))
    ask_for_money(ada)
    ada.route("**/inspection", lambda route: route.fulfill(status=404, json={"detail": "there is no run"}))
    ada.get_by_role("button", name="Inspect run of Aide").click()
    expect(inspector(ada).get_by_role("alert")).to_contain_text("Only the owner of its agent can")


def test_it_stops_asking_when_the_run_has_ended(window: Windows) -> None:
    ada = window("ada", "gallery")
    say(ada, "Give me a guide with much formatting")
    ada.get_by_role("button", name="Inspect run", exact=True).press("Enter")
    expect(inspector(ada).get_by_role("heading", name="Curator")).to_contain_text("Done")
    asked: list[str] = []
    ada.on("request", lambda sent: asked.append(sent.url))
    ada.wait_for_timeout(2500)
    assert [url for url in asked if "inspection" in url] == []


def test_axe_finds_nothing_in_the_open_panel(window: Windows) -> None:
    light = window("ada", "hq")
    ask_for_money(light)
    expect(light.get_by_role("status", name="At work")).to_contain_text("waits")
    for page in (light, window("ada", "hq", dark=True, phone=True)):
        page.get_by_role("button", name="Inspect run of Aide").click()
        panel = inspector(page)
        expect(panel.get_by_role("button", name="Show approval form, Finance")).to_be_visible()
        panel.get_by_text("Arguments").first.click()
        assert axe(page) == []
        picture(page, "inspector-phone" if page is not light else "inspector")
        assert panel.evaluate("panel => panel.scrollWidth <= innerWidth")
