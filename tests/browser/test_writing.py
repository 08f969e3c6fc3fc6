"""Writing: to whom, in answer to what, with what attached, and thinking better of it."""

import base64
from collections.abc import Callable

import pytest
from playwright.sync_api import FilePayload, Locator, Page, Route, expect

from tests.browser.lab import Lab, over, said
from tests.browser.telling import done, last, messages, press, say, seen, stays, write
from tests.browser.windows import Windows
from tests.servers.roomful import Roomful

DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
_HAND_OVER = """(element, [kind, name, content]) => {
  const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
  const files = new DataTransfer();
  files.items.add(new File([bytes], name, {type: "image/png"}));
  const how = {bubbles: true, cancelable: true};
  element.dispatchEvent(kind === "paste"
    ? new ClipboardEvent(kind, {clipboardData: files, ...how})
    : new DragEvent(kind, {dataTransfer: files, ...how}));
}"""

pytestmark = pytest.mark.usefixtures("lab")


@pytest.fixture(scope="module")
def demo(shared_demo: Roomful) -> Roomful:
    return shared_demo


def composer(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Message")


def test_a_mention_is_completed_by_keys(window: Windows, lab: Lab) -> None:
    ada, grace = window("ada", "lab"), window("grace", "lab")
    lab.second.answer(said("I am here."), over())
    composer(ada).press_sequentially("Are you there, @")
    offered = ada.get_by_role("listbox", name="Mention").get_by_role("option")
    expect(offered).to_have_count(4)
    expect(offered.first).to_have_attribute("aria-selected", "true")
    composer(ada).press("ArrowUp")
    expect(offered.last).to_have_attribute("aria-selected", "true")
    composer(ada).press_sequentially("sec")
    expect(offered).to_have_count(1)
    composer(ada).press("Enter")
    expect(composer(ada)).to_have_value("Are you there, @Second ")
    composer(ada).press("Enter")
    expect(composer(ada)).to_have_value("")
    for page in (ada, grace):
        done(page, "Second", "I am here.")
    assert seen(grace)[-2:] == [("Ada", "Are you there, @Second"), ("Second", "I am here.")]


def test_a_draft_waits_in_its_space(window: Windows) -> None:
    page = window("ada", "lab")
    spaces = page.get_by_role("navigation", name="Spaces")
    write(page, "Half a thought")
    spaces.get_by_role("link", name="Finance").click()
    expect(page.get_by_role("main", name="Finance")).to_be_visible()
    expect(composer(page)).to_have_value("")
    write(page, "Another half")
    page.reload()
    expect(composer(page)).to_have_value("Another half")
    spaces.get_by_role("link", name="Lab").click()
    expect(composer(page)).to_have_value("Half a thought")
    press(page, "Send")
    page.reload()
    expect(messages(page).last).to_contain_text("Half a thought")
    expect(composer(page)).to_have_value("")


def test_a_reply_shows_what_it_answers(window: Windows) -> None:
    ada, grace = window("ada", "lab"), window("grace", "lab")
    say(ada, "Who has the key?")
    asked = last(grace, "Ada").filter(has_text="Who has the key?")
    asked.hover()
    press(asked, "Reply")
    expect(composer(grace)).to_be_focused()
    expect(grace.get_by_role("main")).to_contain_text("Reply to Ada: Who has the key?")
    say(grace, "I do")
    for page in (ada, grace):
        expect(last(page, "Grace").get_by_role("button", name="Ada Who has the key?")).to_be_visible()
    expect(grace.get_by_role("main")).not_to_contain_text("Reply to Ada:")
    stays(ada, grace)


def test_what_is_edited_or_deleted_changes_for_everybody(window: Windows) -> None:
    ada, grace = window("ada", "lab"), window("grace", "lab")
    for words in ("The meating is at ten", "Never mind"):
        say(ada, words)
        expect(last(grace, "Ada")).to_contain_text(words)
    expect(last(grace, "Ada").get_by_role("button", name="Edit")).to_have_count(0)
    first = messages(ada).filter(has_text="The meating").last
    first.hover()
    press(first, "Edit")
    ada.get_by_role("textbox", name="Edit message").fill("The meeting is at ten")
    press(ada, "Save")
    ada.once("dialog", lambda dialog: dialog.accept())
    last(ada, "Ada").hover()
    press(last(ada, "Ada"), "Delete")
    for page in (ada, grace):
        expect(last(page, "Ada")).to_contain_text("This message was deleted.")
        edited = messages(page).filter(has_text="The meeting is at ten").last
        expect(edited).to_contain_text("edited")
    assert seen(ada) == seen(grace)
    assert "Never mind" not in str(seen(grace))
    stays(ada, grace)


def choose(page: Page) -> None:
    with page.expect_file_chooser() as chooser:
        page.get_by_title("Attach a file").click()
    chooser.value.set_files(FilePayload(name="dot.png", mimeType="image/png", buffer=DOT))


def paste(page: Page) -> None:
    composer(page).evaluate(_HAND_OVER, ["paste", "dot.png", base64.b64encode(DOT).decode()])


def drop(page: Page) -> None:
    composer(page).evaluate(_HAND_OVER, ["drop", "dot.png", base64.b64encode(DOT).decode()])


@pytest.mark.parametrize("words", ["A dot", ""])
@pytest.mark.parametrize("attach", [choose, paste, drop])
def test_a_picture_is_attached_and_seen(window: Windows, attach: Callable[[Page], None], words: str) -> None:
    ada, grace = window("ada", "lab"), window("grace", "lab")
    before = messages(grace).count()
    write(ada, words)
    attach(ada)
    expect(ada.get_by_role("list", name="Attached files")).to_contain_text("dot.png")
    press(ada, "Send")
    expect(ada.get_by_role("list", name="Attached files")).to_have_count(0)
    expect(messages(grace)).to_have_count(before + 1)
    image = messages(grace).last.get_by_role("img", name="Attached picture")
    expect(image).to_be_visible()
    assert image.evaluate("(image) => image.naturalWidth") == 1
    assert seen(ada)[-1] == seen(grace)[-1] == ("Ada", words)


def test_a_file_that_is_no_picture_can_be_saved(window: Windows) -> None:
    ada, grace = window("ada", "lab"), window("grace", "lab")
    notes = FilePayload(name="notes.txt", mimeType="text/plain", buffer=b"Bring the key")
    ada.get_by_label("Attach a file").set_input_files(notes)
    say(ada, "My notes")
    file = messages(grace).last.get_by_role("button", name="notes.txt")
    with grace.expect_download() as download:
        file.click()
    assert download.value.path().read_bytes() == b"Bring the key"


def test_nothing_is_sent_before_its_file_is_there(window: Windows) -> None:
    ada, grace = window("ada", "lab"), window("grace", "lab")
    before = messages(grace).count()
    held: list[Route] = []
    ada.route("**/api/blobs*", lambda route: held.append(route), times=1)
    with ada.expect_request("**/api/blobs*"):
        choose(ada)
    write(ada, "With a dot")
    composer(ada).press("Enter")
    expect(ada.get_by_role("button", name="Send")).to_be_disabled()
    expect(composer(ada)).to_have_value("With a dot")
    held[0].continue_()
    expect(ada.get_by_role("button", name="Send")).to_be_enabled()
    composer(ada).press("Enter")
    expect(messages(grace)).to_have_count(before + 1)
    expect(messages(grace).last.get_by_role("img", name="Attached picture")).to_be_visible()


def test_a_file_that_was_refused_is_not_left_out_in_silence(window: Windows) -> None:
    ada = window("ada", "lab", tolerates=("507",))
    refusal = {"status": 507, "code": "too_large", "detail": "there is no room left"}
    ada.route("**/api/blobs*", lambda route: route.fulfill(status=507, json=refusal), times=1)
    choose(ada)
    attached = ada.get_by_role("list", name="Attached files")
    expect(attached).to_contain_text("here is no room left")
    write(ada, "With a dot")
    composer(ada).press("Enter")
    expect(composer(ada)).to_have_value("With a dot")
    press(attached, "Remove dot.png")
    composer(ada).press("Enter")
    expect(last(ada, "Ada")).to_contain_text("With a dot")


def test_deleted_words_leave_the_replies_too(window: Windows) -> None:
    ada, grace = window("ada", "lab"), window("grace", "lab")
    say(ada, "The code is 4711")
    asked = last(grace, "Ada").filter(has_text="4711")
    asked.hover()
    press(asked, "Reply")
    say(grace, "Do not write that here")
    expect(last(grace, "Grace")).to_contain_text("Do not write that here")
    expect(last(ada, "Grace")).to_contain_text("Do not write that here")
    asked.hover()
    press(asked, "Reply")
    ada.once("dialog", lambda dialog: dialog.accept())
    mine = messages(ada).filter(has_text="4711").filter(has=ada.get_by_role("button", name="Delete")).first
    mine.hover()
    press(mine, "Delete")
    for page in (ada, grace):
        expect(page.get_by_role("button", name="Ada A deleted message").last).to_be_visible()
        expect(page.get_by_role("main")).not_to_contain_text("4711")


def test_words_that_were_refused_can_be_changed(window: Windows) -> None:
    ada = window("ada", "lab", tolerates=("422",))
    write(ada, "x" * 100_001)
    press(ada, "Send")
    refused = ada.get_by_role("article", name="Ada, not sent yet")
    expect(refused).to_contain_text("Not sent:")
    press(refused, "Edit")
    expect(refused).to_have_count(0)
    expect(composer(ada)).to_have_value("x" * 100_001)
    composer(ada).fill("Shorter")
    press(ada, "Send")
    expect(last(ada, "Ada")).to_contain_text("Shorter")
