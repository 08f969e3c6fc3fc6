"""The stories in which agents show what they found, thought and did, to all who are there."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from roomful.app.demo.outside import weather_in
from tests.browser.looking import picture
from tests.browser.telling import (
    card,
    done,
    last,
    looks_well,
    nothing_elsewhere,
    press,
    seen,
    stays,
    streamed,
    try_this,
    write,
)
from tests.browser.windows import Windows
from tests.servers.roomful import Roomful

CHECKED = "Then that is our answer, with the Critic's reservation."


@pytest.fixture(scope="module")
def demo(shared_demo: Roomful) -> Roomful:
    return shared_demo


def test_charts_and_a_table_are_drawn_in_another_space(window: Windows) -> None:
    grace, husam = window("grace", "finance"), window("husam", "leadership", dark=True)
    with (
        streamed(grace, husam),
        nothing_elsewhere(grace, "Finance", "Leadership"),
        nothing_elsewhere(husam, "Leadership"),
    ):
        try_this(grace, "Charts for the leadership")
        done(grace, "Analyst", "Three charts and a table are in Leadership now.")
        grace.get_by_role("navigation", name="Spaces").get_by_role("link", name="Leadership").click()
        for page in (grace, husam):
            done(page, "Analyst", "The fourth quarter in three charts and a table.")
            drawn(page, "Revenue of the fourth quarter", "Bar chart", "December 690")
            drawn(page, "New customers a week", "Line chart", "W4 35")
            drawn(page, "Where revenue comes from", "Pie chart", "Shops 46")
            rows = card(page, "Against the plan").get_by_role("row")
            assert rows.all_inner_texts()[1:] == [
                "October\t400\t420",
                "November\t500\t510",
                "December\t650\t690",
            ]
    assert seen(grace) == seen(husam)
    stays(grace, husam)
    card(husam, "Where revenue comes from").scroll_into_view_if_needed()
    looks_well("charts", grace, husam)


def drawn(page: Page, title: str, kind: str, row: str) -> None:
    """With the numbers beside it for those who cannot see it."""
    chart = card(page, title)
    expect(chart).to_contain_text(kind)
    expect(chart.get_by_role("row", name=row)).to_be_attached()
    box = chart.locator("svg").last.bounding_box()
    assert box
    assert min(box["width"], box["height"]) > 100


def test_one_sees_what_the_asked_agents_do_inside(window: Windows) -> None:
    ada, grace = window("ada", "research"), window("grace", "research", dark=True)
    with streamed(ada, grace), nothing_elsewhere(ada, "Research"), nothing_elsewhere(grace, "Research"):
        try_this(ada, "Have a question researched")
        librarian = card(ada, "Ask librarian")
        librarian.get_by_role("button", name="Librarian", expanded=False).click()
        expect(librarian).to_contain_text("Working…")  # while it is at work
        for page in (ada, grace):
            done(page, "Research Lead", CHECKED)
    assert [author for author, _ in seen(ada)] == ["Ada", "Research Lead", "Critic", "Research Lead"]
    live = inside(ada, "Librarian")
    assert live.count("Read paper") == 2
    assert "Output per hour rose by 8 percent in both." in live
    assert inside(grace, "Librarian") == live
    picture(ada, "research-trail-light")
    for page in (ada, grace):
        card(page, "Ask librarian").get_by_role("button", name="Librarian", expanded=True).click()
    stays(ada, grace)
    assert inside(ada, "Librarian") == live
    assert "34.56" in inside(ada, "Statistician")
    looks_well("research", ada, grace)


def inside(page: Page, name: str) -> str:
    """What is in the trail of an asked agent, opened if it is not."""
    asked = card(page, f"Ask {name.lower()}")
    trail = asked.get_by_role("button", name=name)
    if trail.get_attribute("aria-expanded") == "false":
        trail.click()
    expect(asked.get_by_role("list")).not_to_have_count(0)
    return asked.inner_text()


def test_a_further_question_is_asked_further(window: Windows) -> None:
    ada, grace = window("ada", "research"), window("grace", "research", dark=True)
    with streamed(ada, grace), nothing_elsewhere(ada, "Research"), nothing_elsewhere(grace, "Research"):
        try_this(ada, "Ask once more")
        for page in (ada, grace):
            done(page, "Research Lead", "a ward with 45 nurses did it, and 32 hours each were enough.")
    stays(ada, grace)
    for page in (ada, grace):
        assert "Ask archivist" in inside(page, "Librarian")
        card(page, "Ask librarian").get_by_role("button", name="Archivist", expanded=False).click()
        expect(card(page, "Ask librarian")).to_contain_text("Hospital rosters")
        tried = inside(page, "Statistician")
        assert tried.index("Failed") < tried.rindex("That is 32 hours each.")
    assert inside(ada, "Librarian") == inside(grace, "Librarian")
    looks_well("research-more", ada, grace)


def test_a_service_outside_is_asked_and_its_answer_seen(window: Windows) -> None:
    omar, ada = window("omar", "ops"), window("ada", "ops", dark=True)
    told = weather_in("New York")
    with streamed(omar, ada), nothing_elsewhere(omar, "Operations"), nothing_elsewhere(ada, "Operations"):
        try_this(omar, "Ask a service outside")
        for page in (omar, ada):
            done(page, "Dispatcher", f"It is {told['sky']} in New York, at {told['temperature']} °C.")
            expect(card(page, "Fetch weather data")).to_contain_text(f"Sky{told['sky']}")
    assert seen(omar) == seen(ada)
    stays(omar, ada)
    looks_well("weather", omar, ada)


def test_agents_that_mention_each_other_speak_in_turn(window: Windows) -> None:
    noa, husam = window("noa", "newsroom"), window("husam", "newsroom", dark=True)
    with streamed(noa, husam), nothing_elsewhere(noa, "Newsroom"), nothing_elsewhere(husam, "Newsroom"):
        try_this(noa, "Agents that mention each other")
        for page in (noa, husam):
            done(page, "Publisher", "It is out: “Our new office opens on Monday.”")
    assert [author for author, _ in seen(noa)] == ["Noa", "Writer", "Editor", "Publisher"]
    assert seen(noa) == seen(husam)
    stays(noa, husam)
    looks_well("relay", noa, husam)


def test_one_tool_shows_that_it_works_and_another_one_everything(window: Windows) -> None:
    omar, ada = window("omar", "ops"), window("ada", "ops", dark=True)
    with streamed(omar, ada), nothing_elsewhere(omar, "Operations"), nothing_elsewhere(ada, "Operations"):
        try_this(omar, "Look behind an answer")
        for page in (omar, ada):
            done(page, "Stock Keeper", "Yes: 64 folding chairs are on shelf B4.")
            assert card(page, "Search inventory").inner_text().split() == ["Search", "inventory", "done"]
            expect(card(page, "Count shelf")).to_contain_text("Pieces64")
            expect(page.get_by_text("Forty chairs.")).to_be_hidden()
    assert seen(omar) == seen(ada)
    stays(omar, ada)
    omar.get_by_text("Thought").first.click()
    expect(omar.get_by_text("Forty chairs.")).to_be_visible()
    looks_well("stock", omar, ada)


def test_what_comes_while_an_agent_writes_is_done_next(window: Windows) -> None:
    noa, omar = window("noa", "studio"), window("omar", "studio", dark=True)
    with streamed(noa, omar), nothing_elsewhere(noa, "Studio"), nothing_elsewhere(omar, "Studio"):
        write(omar, "@scribe Then write the list of tasks")
        try_this(noa, "One thing after the other")
        expect(last(omar, "Scribe")).to_contain_text("Minutes")
        press(omar, "Send")
        for page in (noa, omar):
            expect(last(page, "Omar")).to_contain_text("Scribe is busy: this comes next.")
            done(page, "Scribe", "Tasks: oil the door (Omar), choose the curtains (Noa).")
    assert [author for author, _ in seen(noa)][-4:] == ["Noa", "Scribe", "Omar", "Scribe"]
    assert seen(noa)[-3][1].endswith("Noa chooses the curtains.")
    assert seen(noa) == seen(omar)
    stays(noa, omar)
    looks_well("queue", noa, omar)


def test_a_word_to_an_agent_at_work_changes_what_it_does(window: Windows) -> None:
    noa, omar = window("noa", "studio"), window("omar", "studio", dark=True)
    with streamed(noa, omar), nothing_elsewhere(noa, "Studio"), nothing_elsewhere(omar, "Studio"):
        write(omar, "@painter Make the second wall blue")
        try_this(noa, "A word to an agent at work")
        expect(last(omar, "Painter")).to_contain_text("I begin")
        press(omar, "Send")
        for page in (noa, omar):
            expect(last(page, "Omar")).to_contain_text("Handed to Painter while it works.")
            done(page, "Painter", "Understood, blue then. The second wall is blue.")
    assert "white as well" not in str(seen(noa))
    assert seen(noa) == seen(omar)
    stays(noa, omar)
    looks_well("steer", noa, omar)


def test_formatting_is_drawn(window: Windows) -> None:
    ada, noa = window("ada", "gallery"), window("noa", "gallery", dark=True)
    with streamed(ada, noa), nothing_elsewhere(ada, "Gallery"), nothing_elsewhere(noa, "Gallery"):
        try_this(ada, "A message with formatting")
        for page in (ada, noa):
            done(page, "Curator", "More in a book about galleries.")
            guide = last(page, "Curator")
            expect(guide.get_by_role("heading", name="How to hang a picture")).to_be_visible()
            expect(guide.get_by_role("listitem")).to_have_count(5)
            expect(guide.get_by_role("code").filter(has_text="def middle")).to_be_visible()
            expect(guide.get_by_role("cell", name="90 cm")).to_be_visible()
            expect(guide.get_by_role("blockquote")).to_contain_text("at the height of the eyes")
    assert seen(ada) == seen(noa)
    stays(ada, noa)
    looks_well("markdown", ada, noa)
    last(ada, "Curator").get_by_role("link", name="a book about galleries").click()
    asks = ada.get_by_role("dialog", name="Leave for example.com?")
    expect(asks).to_contain_text("https://example.com/galleries")
    press(asks, "Stay")
    expect(asks).to_be_hidden()


def test_hebrew_is_read_from_right_to_left(window: Windows) -> None:
    noa, ada = window("noa", "gallery"), window("ada", "gallery", dark=True)
    with streamed(noa, ada), nothing_elsewhere(noa, "Gallery"), nothing_elsewhere(ada, "Gallery"):
        try_this(noa, "From right to left")
        for page in (noa, ada):
            done(page, "Curator", "הכניסה חופשית")
            answer = last(page, "Curator")
            for place in ("הנה מספר המבקרים", "הכניסה חופשית", "הסיור מתחיל"):
                assert direction(answer.get_by_text(place)) == "rtl"
            assert direction(last(page, "Noa").get_by_text("כמה מבקרים")) == "rtl"
            assert direction(card(page, "מבקרים בגלריה").get_by_text("מבקרים בגלריה").first) == "rtl"
            expect(answer.get_by_role("listitem")).to_have_count(2)
    assert seen(noa) == seen(ada)
    stays(noa, ada)
    looks_well("hebrew", noa, ada)


def direction(place: Locator) -> str:
    return place.evaluate("(element) => getComputedStyle(element).direction")


def test_a_tool_that_the_page_does_not_know_has_a_card(window: Windows) -> None:
    grace, noa = window("grace", "gallery"), window("noa", "gallery", dark=True)
    with streamed(grace, noa), nothing_elsewhere(grace, "Gallery"), nothing_elsewhere(noa, "Gallery"):
        try_this(grace, "A card without a component")
        for page in (grace, noa):
            done(page, "Curator", "These are the seats for the opening.")
            seats = card(page, "Show seat map")
            expect(seats).to_contain_text("Great hall")
            expect(seats.get_by_role("row", name=re.compile("^C 12 10"))).not_to_have_count(0)
    assert seen(grace) == seen(noa)
    stays(grace, noa)
    looks_well("seats", grace, noa)
