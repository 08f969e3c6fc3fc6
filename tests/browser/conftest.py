"""The demo in a real browser. Each window is somebody else's, with a session of its own:

def test_both_see_it(window: Windows) -> None:
    ada, grace = window("ada", "finance"), window("grace", "finance", dark=True)
    ada.get_by_role("textbox", name="Message").fill("Hello")
    ada.get_by_role("button", name="Send").click()
    expect(grace.get_by_role("log", name="Messages")).to_contain_text("Hello")
"""

import json
import os
import platform
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.lab import Lab, furnish
from tests.browser.line import Line
from tests.browser.windows import Windows
from tests.clients.node import NODE
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.roomful import PATIENCE, Roomful

FOLDER = Path(__file__).parent
# Two cores that also run the gateway and other tests: a page may take its time.
expect.set_options(timeout=PATIENCE * 1000 / 2)


@pytest.fixture(scope="session")
def chromium() -> dict[str, Any]:
    """What starts it. ROOMFUL_CHROMIUM names another one, for machines that cannot run the one of npm."""
    if own := os.environ.get("ROOMFUL_CHROMIUM"):
        return {"executable_path": own}
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        pytest.skip("name a Chromium of this machine in ROOMFUL_CHROMIUM")
    assert (FOLDER / "node_modules").is_dir(), "make test brings the browser"
    said = subprocess.run([NODE, FOLDER / "chromium.mjs"], stdout=subprocess.PIPE, check=True, timeout=60)
    where = json.loads(said.stdout)
    return {"executable_path": where["executable"], "env": {**os.environ, **where["environment"]}}


@pytest.fixture(scope="module")
def browser(chromium: dict[str, Any]) -> Iterator[Browser]:
    """Not for the whole session: as long as it is there, no other test of the process could run a loop."""
    # A name that is looked up would be a request that leaves the gateway.
    args = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(args=args, **chromium)
        yield browser
        browser.close()


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Roomful]:
    """A fresh demo, in a process of its own."""
    with Roomful(tmp_path, "--demo") as house:
        yield house


@pytest.fixture(scope="module")
def shared_demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roomful]:
    """One demo for a module whose tests do not mind what others said before; it names it `demo`."""
    with Roomful(tmp_path_factory.mktemp("demo"), "--demo") as house:
        yield house


@pytest.fixture(scope="module")
def lab(shared_demo: Roomful) -> Iterator[Lab]:
    """A space of the shared demo, with agents that say what a test wants."""
    with FakeOpenAI() as first, FakeOpenAI() as second:
        lab = Lab(first, second)
        furnish(shared_demo, lab)
        yield lab


@pytest.fixture
def line(demo: Roomful) -> Iterator[Line]:
    """A way to the demo that can be cut."""
    with Line(demo) as line:
        yield line


@pytest.fixture
def window(browser: Browser, demo: Roomful) -> Iterator[Windows]:
    """Opens windows on the demo; at the end, nothing may have gone wrong in any of them."""
    windows = Windows(browser, demo)
    yield windows
    assert windows.close() == []
