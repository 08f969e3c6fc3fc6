"""The stories in which people answer what agents ask, each in the windows of those who have a part in it."""

import re

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.browser.telling import (
    card,
    done,
    last,
    looks_well,
    nothing_elsewhere,
    press,
    reads_well,
    seen,
    stays,
    streamed,
    try_this,
)
from tests.browser.windows import Windows
from tests.servers.roomful import Roomful

LIST = "Who comes along? Give me the list."
LUNCH = "Where do we have lunch on Thursday?"
_DROP = """(element) => {
  const files = new DataTransfer();
  files.items.add(new File(["Noa"], "dropped.csv", {type: "text/csv"}));
  element.dispatchEvent(new DragEvent("drop", {dataTransfer: files, bubbles: true, cancelable: true}));
}"""


@pytest.fixture(scope="module")
def demo(shared_demo: Roomful) -> Roomful:
    return shared_demo


def test_a_laptop_is_chosen_from_cards_between_words(window: Windows) -> None:
    ada, husam = window("ada", "shopping"), window("husam", "shopping", dark=True)
    with streamed(ada, husam), nothing_elsewhere(ada, "Shopping"), nothing_elsewhere(husam, "Shopping"):
        try_this(ada, "Buy a laptop")
        for page in (ada, husam):
            expect(card(page, "MacBook Pro")).to_contain_text("$1,299")
            expect(card(page, "Dell XPS 15")).to_contain_text("$1,199")
            expect(last(page, "Shop Agent")).to_contain_text("Want me to add any to your cart?")
        press(card(ada, "MacBook Pro"), "Select")
        for page in (ada, husam):
            done(page, "Shop Agent", "Good choice! The MacBook Pro is in your cart.")
            expect(card(page, "MacBook Pro")).to_contain_text("Selected by Ada ·")
            expect(card(page, "Dell XPS 15").get_by_role("button", name="Select")).to_be_enabled()
    assert seen(ada) == seen(husam)
    assert [author for author, _ in seen(ada)] == ["Ada", "Shop Agent", "Shop Agent"]
    stays(ada, husam)
    looks_well("laptops", ada, husam)


def test_money_is_asked_for_in_one_space_and_approved_in_another(window: Windows) -> None:
    ada, grace = window("ada", "hq"), window("grace", "finance", dark=True)
    with (
        streamed(ada, grace),
        nothing_elsewhere(ada, "Head office", "Finance"),
        nothing_elsewhere(grace, "Finance"),
    ):
        try_this(ada, "Ask Finance for money")
        form = card(grace, "Approval form")
        expect(form).to_contain_text("Marketing budget")
        expect(form).to_contain_text("$50,000")
        expect(form.get_by_role("button", name="Approve")).to_be_enabled()
        reads_well(grace, "approval-asked-dark")
        press(form, "Approve")
        expect(form).to_contain_text("Approved by Grace ·")
        done(ada, "Aide", "Finance approved it: the 50,000 dollars are yours.")
        done(grace, "Aide", "Approved by Grace")
    asked = "I am asking Finance for 50,000 dollars for the marketing of the fourth quarter."
    assert seen(ada)[-2:] == [
        ("Ada", "Can we have a budget for marketing in the fourth quarter?"),
        ("Aide", f"{asked} Finance approved it: the 50,000 dollars are yours."),
    ]
    stays(ada, grace)
    looks_well("approval", ada, grace)


def test_a_reason_for_a_no_is_heard_where_it_was_asked_for(window: Windows) -> None:
    omar, grace = window("omar", "hq"), window("grace", "finance", dark=True)
    try_this(omar, "Ask Finance for money")
    form = card(grace, "Approval form")
    press(form, "Add a reason")
    form.get_by_label("Reason").fill("Not this year.")
    press(form, "Reject")
    for page in (grace, window("ada", "finance")):
        expect(card(page, "Approval form")).to_contain_text("Rejected by Grace ·")
        expect(card(page, "Approval form")).to_contain_text("Not this year.")
    done(omar, "Aide", "Finance rejected it: Not this year.")
    stays(omar, grace)
    looks_well("rejected", omar, grace)


def test_one_run_shows_something_in_three_spaces(window: Windows) -> None:
    husam, noa = window("husam", "marketing"), window("noa", "design", dark=True)
    grace = window("grace", "finance")
    with (
        streamed(husam),
        nothing_elsewhere(husam, "Marketing", "Design"),
        nothing_elsewhere(noa, "Marketing", "Design"),
        nothing_elsewhere(grace, "Finance"),
    ):
        try_this(husam, "Three spaces, one run")
        form = card(grace, "Approval form")
        expect(form).to_contain_text("Skyline Media")
        banner = noa.get_by_role("img", name="Campaign banner")
        expect(banner).to_be_visible()
        assert banner.evaluate("(image) => image.naturalWidth") == 960
        press(form, "Approve")
        done(husam, "Campaign Agent", "the banner hangs in Design and Finance approved the 50,000 dollars.")
        done(noa, "Campaign Agent", "A first banner for the spring campaign.")
        done(grace, "Campaign Agent", "Approved by Grace ·")
    assert "banner" not in seen(grace)[-1][1].replace("Banner and media", "")
    stays(husam, noa, grace)
    looks_well("campaign", husam, noa)
    reads_well(grace, "campaign-finance-light")


def test_everybody_votes_and_may_change_their_mind_until_the_poll_is_closed(window: Windows) -> None:
    ada, husam, grace = window("ada", "team"), window("husam", "team", dark=True), window("grace", "team")
    everybody = (ada, husam, grace)
    with nothing_elsewhere(ada, "Team"), nothing_elsewhere(husam, "Team"):
        with streamed(*everybody):
            try_this(ada, "Vote on lunch")
            vote(husam, "Pizza")
            shows(grace, "Pizza 1 vote", "Sushi 0 votes")
            vote(grace, "Sushi")
            shows(husam, "Pizza 1 vote", "Sushi 1 vote")
            vote(husam, "Sushi")
            vote(ada, "Falafel")
            for page in everybody:
                shows(page, "Falafel 1 vote", "Pizza 0 votes", "Sushi 2 votes")
                expect(card(page, LUNCH).get_by_role("radio", checked=True)).to_have_count(1)
        stays(ada, husam)
        reads_well(ada, "poll-open-light")
        expect(card(grace, LUNCH).get_by_role("button", name="Close poll")).to_have_count(0)
        press(card(ada, LUNCH), "Close poll")
        for page in everybody:
            done(page, "Host", "Sushi wins. I have booked a table.")
            expect(card(page, LUNCH)).to_contain_text("Closed by Ada ·")
            shows(page, "Falafel 1 vote", "Pizza 0 votes", "Sushi 2 votes")
            expect(card(page, LUNCH).get_by_role("radio", name="Pizza")).to_be_disabled()
    stays(ada, husam, grace)
    looks_well("poll", ada, husam)


def test_forms_ask_for_choices_a_date_and_a_file(window: Windows) -> None:
    noa, omar = window("noa", "studio"), window("omar", "studio", dark=True)
    with streamed(noa, omar), nothing_elsewhere(noa, "Studio"), nothing_elsewhere(omar, "Studio"):
        try_this(noa, "Plan the offsite")
        where = card(noa, "Where do we go?")
        expect(where.get_by_role("button", name="Choose")).to_be_disabled()
        where.get_by_role("radio", name="A cabin").check()
        press(where, "Choose")
        expect(last(omar, "Planner")).to_contain_text("The cabin, good. Two more questions.")
        what = card(omar, "What do we do there?")
        expect(card(omar, "When do we leave?").get_by_label("Date")).to_be_enabled()  # nothing moves any more
        what.get_by_role("checkbox", name="Hiking").check()
        what.get_by_role("checkbox", name="Cooking").check()
        press(what, "Choose")
        when = card(noa, "When do we leave?")
        when.get_by_label("Date").fill("2026-12-01")
        reads_well(noa, "offsite-asked-light")
        press(when, "Choose")
        who = card(noa, LIST)
        guests = FilePayload(name="guests.csv", mimeType="text/csv", buffer=b"Noa,Omar")
        nothing = FilePayload(name="nothing.csv", mimeType="text/csv", buffer=b"")
        expect(who.get_by_label("Choose a file")).to_be_enabled()
        who.get_by_text("or drop here").evaluate(_DROP)
        expect(who).to_contain_text("dropped.csv")
        expect(noa.get_by_role("list", name="Attached files")).to_have_count(0)
        who.get_by_label("Choose a file").set_input_files(nothing)
        expect(who.get_by_role("alert")).to_have_text("This file is empty.")
        who.get_by_label("Choose a file").set_input_files(guests)
        expect(who.get_by_role("alert")).to_have_count(0)
        reads_well(noa, "offsite-file-light")
        press(who, "Send file")
        for page in (noa, omar):
            done(page, "Planner", "I have guests.csv. The offsite is planned.")
            expect(card(page, "Where do we go?")).to_contain_text("Answered by Noa ·")
            expect(card(page, "Where do we go?").get_by_role("radio", name="A cabin")).to_be_checked()
            expect(card(page, "What do we do there?")).to_contain_text("Answered by Omar ·")
            expect(card(page, "What do we do there?").get_by_role("checkbox", checked=True)).to_have_count(2)
            expect(card(page, "When do we leave?")).to_contain_text("Tuesday, 1 December 2026")
            expect(card(page, LIST)).to_contain_text("guests.csv")
    assert seen(noa) == seen(omar)
    stays(noa, omar)
    looks_well("offsite", noa, omar)


def test_a_payment_is_made_as_the_owner_changed_it(window: Windows) -> None:
    ada = window("ada", "finance")
    grace = window("grace", "finance", dark=True)
    with streamed(ada, grace), nothing_elsewhere(ada, "Finance"), nothing_elsewhere(grace, "Finance"):
        try_this(ada, "Agree to a payment")
        arguments = card(ada, "Approve Pay invoice").get_by_label("Arguments", exact=True)
        expect(arguments).to_contain_text('"amount": 480')
        for name in ("Approve", "Reject"):
            expect(card(ada, "Approve Pay invoice").get_by_role("button", name=name)).to_be_disabled()
        expect(card(ada, "Approve Pay invoice")).to_contain_text("Only every owner of this space may answer.")
        gate = card(grace, "Approve Pay invoice")
        press(gate, "Edit arguments")
        gate.get_by_label("Arguments as JSON").fill('{"vendor": "Acme Print", "amount": }')
        expect(gate.get_by_role("button", name="Approve", exact=True)).to_be_disabled()
        gate.get_by_label("Arguments as JSON").fill('{"vendor": "Acme Print", "amount": 450}')
        reads_well(grace, "invoice-edited-dark")
        press(gate, "Approve")
        for page in (ada, grace):
            done(page, "Treasurer", "I have paid 450 dollars to Acme Print.")
            expect(card(page, "Approve Pay invoice")).to_contain_text("Approved by Grace ·")
            expect(card(page, "Approve Pay invoice")).to_contain_text("INV-2041")
    stays(ada, grace)
    looks_well("invoice", ada, grace)


def test_a_payment_that_was_rejected_is_not_made(window: Windows) -> None:
    ada, grace = window("ada", "finance", dark=True), window("grace", "finance")
    try_this(ada, "Agree to a payment")
    gate = card(grace, "Approve Pay invoice")
    press(gate, "Add a reason")
    gate.get_by_label("Reason").fill("Paid last week.")
    press(gate, "Reject")
    for page in (ada, grace):
        done(page, "Treasurer", "Then I do not pay.")
        expect(card(page, "Approve Pay invoice")).to_contain_text("Rejected by Grace ·")
        expect(card(page, "Approve Pay invoice")).to_contain_text("Paid last week.")
    stays(ada, grace)
    looks_well("invoice-rejected", grace, ada)


def vote(page: Page, option: str) -> None:
    radio = card(page, LUNCH).get_by_role("radio", name=option)
    radio.click()
    expect(radio).to_be_checked()


def shows(page: Page, *options: str) -> None:
    """Each option and its votes, whoever they are from."""
    for option in options:
        name, count = option.split(" ", 1)
        expect(card(page, LUNCH).get_by_role("radio", name=name)).to_have_accessible_name(
            re.compile(f"^{name}.*{count}$")
        )
