"""An application of somebody else's, made of @roomful/react: the one that the documentation shows."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.packages import WEB, faults_in_types
from tests.browser.windows import Windows
from tests.clients.node import NODE
from tests.requirements import requirement
from tests.servers.fake_openai import Answer, FakeOpenAI, call, hold, text
from tests.servers.roomful import Roomful, openai

ROOT = Path(__file__).parents[2]
PAGE = '<!doctype html><meta charset="utf-8"><title>Theatre</title><div id="page"></div>'
PAGE += '<script type="module" src="/theatre.js"></script>'
BUILD = """
const stdin = {contents: require("fs").readFileSync(0, "utf8"), loader: "tsx", resolveDir: "page"};
const define = {"process.env.NODE_ENV": '"production"'};
require("esbuild").build({stdin, define, bundle: true, format: "esm", jsx: "automatic", write: false})
  .then((built) => process.stdout.write(built.outputFiles[0].text));
"""
TOOL = {
    "name": "offerSeat",
    "description": "Offer a seat.",
    "executionType": "basic",
    "execution": {"mode": "no-execution"},
    "display": {"customUI": "SeatPicker"},
    "inputSchema": {
        "type": "object",
        "properties": {"row": {"type": "string"}, "price": {"type": "number"}},
        "required": ["row", "price"],
    },
}
OFFER = json.dumps({"row": "Orchestra C", "price": 45})


@pytest.fixture(scope="module")
def example() -> str:
    """The documentation's."""
    shown = re.findall(r"```tsx\n(.*?)```", (ROOT / "docs/clients/react.md").read_text(), re.DOTALL)
    assert len(shown) == 1
    return shown[0]


@pytest.fixture(scope="module")
def bundle(example: str) -> bytes:
    """As an application would bundle it, from the packages as they are published."""
    made = subprocess.run(
        [NODE, "-e", BUILD], cwd=WEB, input=example.encode(), stdout=subprocess.PIPE, check=True
    )
    return made.stdout


@pytest.fixture
def model() -> Iterator[FakeOpenAI]:
    begun = call("offerSeat", OFFER[:15], size=6)
    more = call(None, OFFER[15:21], size=50, id=None)[1:]
    end = call(None, OFFER[21:], size=50, id=None)[1:]
    offer = Answer([*begun, hold("more"), *more, hold("end"), *end])
    with FakeOpenAI([offer, Answer(text("Sold."))]) as model:
        yield model


@pytest.fixture
def theatre(tmp_path: Path, model: FakeOpenAI) -> Iterator[Roomful]:
    with Roomful(tmp_path) as house:
        house.agent("usher", openai(model.base_url), TOOL)
        yield house


def application(window: Windows, theatre: Roomful, person: str, bundle: bytes) -> Page:
    """The application, served by the gateway's own origin, with this person signed in."""
    token = theatre.person(person).token

    def serve(route: Route) -> None:
        is_script = route.request.url.endswith(".js")
        kind = "text/javascript" if is_script else "text/html"
        route.fulfill(body=bundle if is_script else PAGE.encode(), content_type=f"{kind}; charset=utf-8")

    page = window()
    page.context.route(re.compile(r"/theatre(\.js)?$"), serve)
    signed = "(token) => fetch('/api/session', {method: 'POST', body: JSON.stringify({token}), "
    signed += "headers: {'content-type': 'application/json'}}).then((answer) => answer.status)"
    assert page.evaluate(signed, token) == 200
    return page


def test_the_example_has_no_fault_in_its_types(example: str, tmp_path: Path) -> None:
    wrong = example.replace("taken: true", "taken: 1")

    assert faults_in_types(tmp_path / "right", theatre=example) == ""
    said = faults_in_types(tmp_path / "wrong", theatre=wrong)
    assert "Type 'number' is not assignable to type 'boolean'" in said


@requirement("D-17")
def test_a_component_draws_arguments_as_they_come_and_answers(
    browser: Browser, theatre: Roomful, model: FakeOpenAI, bundle: bytes
) -> None:
    windows = Windows(browser, theatre)
    ada, bob = (application(windows, theatre, person, bundle) for person in ("ada", "bob"))
    theatre.space("theatre", "ada", "bob", "usher")
    for page in (ada, bob):
        page.goto(f"{theatre.url}/theatre")
    ada.get_by_role("button", name="Ask").click()

    seat = bob.get_by_role("region", name="Seat")
    take = seat.get_by_role("button", name="Take it")
    expect(seat.get_by_text("Row Orches for … dollars")).to_be_visible()
    expect(take).to_be_disabled()
    model.release("more")
    expect(seat.get_by_text("Row Orchestra C for … dollars")).to_be_visible()
    expect(take).to_be_disabled()
    model.release("end")
    expect(seat.get_by_text("Row Orchestra C for 45 dollars")).to_be_visible()
    expect(take).to_be_enabled()

    take.click()

    for page in (ada, bob):
        expect(page.get_by_text("Taken by Bob")).to_be_visible()
        expect(page.get_by_role("button", name="Take it")).to_be_disabled()
    model.wait_for_requests(2)
    told = model.requests[1].messages[-1]
    assert json.loads(told["content"]) == {"taken": True}
    bob.reload()
    expect(bob.get_by_text("Taken by Bob")).to_be_visible()
    expect(bob.get_by_text("Row Orchestra C for 45 dollars")).to_be_visible()
    assert windows.close() == []
