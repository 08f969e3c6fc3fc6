"""What the pages about clients show, run in node against a gateway."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.node import FOLDER, NODE
from tests.servers.fake_openai import Answer, FakeOpenAI, text
from tests.servers.roomful import Caller, Roomful, openai

PAGES = Path(__file__).parents[2] / "docs" / "clients"


@pytest.fixture
def model() -> Iterator[FakeOpenAI]:
    with FakeOpenAI([Answer(text("Good day."))]) as model:
        yield model


@pytest.fixture
def ada(tmp_path: Path, model: FakeOpenAI) -> Iterator[Caller]:
    with Roomful(tmp_path) as house:
        house.agent("shop", openai(model.base_url), speaks="text")
        yield house.person("ada")


def shown(page: str) -> list[str]:
    return re.findall(r"```js\n(.*?)```", (PAGES / page).read_text(encoding="utf-8"), re.DOTALL)


def ran(ada: Caller, code: str, then: str) -> Any:
    """What `then` gives after the code, with our address in place of the page's."""
    script = f"const token = {json.dumps(ada.token)};\n{code}\nconsole.log(JSON.stringify({then}));"
    script = script.replace("https://roomful.example", ada.house.url)
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", script], cwd=FOLDER, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_an_ag_ui_client_talks_and_comes_back_as_shown(ada: Caller) -> None:
    talking, coming_back = shown("ag-ui.md")
    said = ran(ada, talking, "agent.messages.map(({ content }) => content)")
    assert said == ["Hello", "Good day."]
    assert ran(ada, coming_back, "again.messages.map(({ content }) => content)") == said


@pytest.mark.parametrize("version", [5, 6, 7])
def test_a_chat_of_the_ai_sdk_sends_and_loads_as_shown(ada: Caller, version: int) -> None:
    [transport] = shown("ai-sdk.md")
    code = transport.replace('from "ai"', f'from "ai{version}"').replace("sdk=6", f"sdk={version}")
    send = """
const messages = [{ id: "m1", role: "user", parts: [{ type: "text", text: "Hello" }] }];
const answer = await transport.sendMessages({ trigger: "submit-message", chatId: "chat-1", messages });
for await (const _ of answer);
const said = (await load("chat-1")).map(({ parts }) => parts.filter(({ type }) => type === "text"));
"""
    then = "said.map((parts) => parts.map(({ text }) => text).join())"
    assert ran(ada, code + send, then) == ["Hello", "Good day."]
    assert ran(ada, code, 'await load("unknown")') == []
