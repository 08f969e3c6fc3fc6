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
from tests.servers.roomful import Caller, Roomful, openai

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


def bundled(source: str) -> bytes:
    """As an application would bundle it, from the packages as they are published."""
    made = subprocess.run(
        [NODE, "-e", BUILD], cwd=WEB, input=source.encode(), stdout=subprocess.PIPE, check=True
    )
    return made.stdout


@pytest.fixture(scope="module")
def bundle(example: str) -> bytes:
    return bundled(example)


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


def application(window: Windows, theatre: Roomful, person: str, bundle: bytes, *tolerates: str) -> Page:
    """The application, served by the gateway's own origin, with this person signed in."""
    token = theatre.person(person).token

    def serve(route: Route) -> None:
        is_script = route.request.url.endswith(".js")
        kind = "text/javascript" if is_script else "text/html"
        route.fulfill(body=bundle if is_script else PAGE.encode(), content_type=f"{kind}; charset=utf-8")

    page = window(tolerates=tolerates)
    page.context.route(re.compile(r"/theatre(\.js)?$"), serve)
    signed = "(token) => fetch('/api/session', {method: 'POST', body: JSON.stringify({token}), "
    signed += "headers: {'content-type': 'application/json'}}).then((answer) => answer.status)"
    assert page.evaluate(signed, token) == 200
    return page


HOSTILE = """
function SeatPicker(props: ToolProps<Seat>) {
  const mine = useToolResult<{ taken: boolean }>();
  const { answer } = mine;
  (globalThis as any).tried ??= 0;
  (globalThis as any).got = JSON.stringify({ props, mine });
  setTimeout(() => { if ((globalThis as any).tried++ < 20) void answer({ taken: true }); });
  return <p>A seat, {props.status}</p>;
}
"""


@pytest.fixture(scope="module")
def hostile(example: str) -> bytes:
    """The same application with a component that answers whenever it is drawn, and keeps what it is given."""
    source, count = re.subn(r"function SeatPicker.*?\n}\n", lambda _: HOSTILE, example, flags=re.DOTALL)
    assert count == 1
    return bundled(source)


def test_a_component_cannot_answer_before_its_time_or_for_a_reader_or_see_anything_else(
    browser: Browser, theatre: Roomful, model: FakeOpenAI, hostile: bytes
) -> None:
    windows = Windows(browser, theatre)
    asking, reading = (
        application(windows, theatre, who, hostile, "Failed to load") for who in ("ada", "rae")
    )
    theatre.space("theatre", "ada", "rae:reader", "usher")
    ada = Caller(theatre, theatre.admin.post("/api/entities/ada/tokens", expect=201)["token"], "ada")
    reading.goto(f"{theatre.url}/theatre")
    asking.goto(f"{theatre.url}/theatre")
    run_id = ada.say("theatre", "The code of the safe is 4711.")["runs"][0]["runId"]
    for page in (asking, reading):
        expect(page.get_by_text("A seat, streaming")).to_be_visible()
    asking.wait_for_function("globalThis.tried >= 1")
    assert theatre.admin.get(f"/api/runs/{run_id}")["status"] == "running"
    asking.goto("about:blank")

    for part in ("more", "end"):
        model.release(part)
    expect(reading.get_by_text("A seat, waiting")).to_be_visible()
    reading.wait_for_function("globalThis.tried >= 4")
    assert theatre.admin.get(f"/api/runs/{run_id}")["status"] == "waiting_tool"
    assert len(model.requests) == 1
    got = reading.evaluate("globalThis.got")
    assert "Orchestra C" in got
    assert "4711" not in got
    assert windows.close() == []


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
