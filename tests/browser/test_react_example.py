"""The example of a tool card in React: its types, and what it does on a page of its own."""

import os
import sys
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.browser.packages import faults_in_types
from tests.servers.examples import EXAMPLES, running

FOLDER = EXAMPLES / "09_react_card"


def test_its_types_are_right_and_another_answer_would_not_be(tmp_path: Path) -> None:
    page, card = ((FOLDER / f"{name}.tsx").read_text(encoding="utf-8") for name in ("page", "SeatCard"))
    wrong = card.replace("taken: true", "taken: 1")

    assert faults_in_types(tmp_path / "right", page=page, SeatCard=card) == ""
    said = faults_in_types(tmp_path / "wrong", page=page, SeatCard=wrong)
    assert "Type 'number' is not assignable to type 'boolean'" in said


def test_the_card_is_drawn_and_answered_on_its_page(browser: Browser) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with running("09_react_card/run.py", PATH=path) as lines:
        context = browser.new_context()
        page = context.new_page()
        page.goto(next(lines).strip())
        page.get_by_role("button", name="Ask").click()
        seat = page.get_by_role("region", name="Seat")
        expect(seat.get_by_text("Row Orchestra C, 45 dollars")).to_be_visible()
        seat.get_by_role("button", name="Take it").click()
        expect(seat.get_by_text("Taken by Ada")).to_be_visible()
        expect(page.get_by_text("Enjoy the play.")).to_be_visible()
        context.close()
