"""The clients' pages: what they show works."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from roomful.client.terminal.commands import COMMANDS
from tests.client.watching import client_of
from tests.servers.fake_openai import Answer, FakeOpenAI, call, text
from tests.servers.roomful import Roomful, openai

PAGES = Path(__file__).parent.parent.parent / "docs" / "clients"


def _blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (PAGES / page).read_text(encoding="utf-8"), re.DOTALL)


def _pay(house: Roomful, model: FakeOpenAI, space_id: str) -> None:
    pay = {
        "name": "pay",
        "description": "Pay.",
        "executionType": "basic",
        "execution": {"mode": "pass-through"},
        "approval": True,
        "inputSchema": {"type": "object"},
    }
    house.agent("helper", openai(model.base_url), pay, speaks="text")
    house.admin.post(f"/api/spaces/{space_id}/members", {"entityId": "helper"}, expect=201)


def test_the_python_page_works_as_shown(
    house: Roomful, model: FakeOpenAI, capsys: pytest.CaptureFixture[str]
) -> None:
    ada = house.person("ada")
    names: dict[str, Any] = {}
    for block in _blocks("python.md", "python"):
        exec(block, names)
    asyncio.run(names["main"](house.url, ada.token))
    assert capsys.readouterr().out.splitlines() == [
        "1 []",
        "['ada'] ['hello']",
        "smartSpace.message 2",
    ]
    _pay(house, model, "finance")
    model.answer(Answer(call("pay", {"amount": 5})), Answer(text("Paid.")))

    async def approve() -> None:
        async with client_of(ada) as client:
            asked = [event async for event in client.ask("finance", "pay")]
            assert asked
            await names["approve_everything"](client, "finance")

    asyncio.run(approve())
    assert model.wait_for_requests(2)[1].messages[-1]["content"] == '{"amount":5}'


def test_the_terminal_page_works_as_shown(house: Roomful, model: FakeOpenAI, tmp_path: Path) -> None:
    ada = house.person("ada")
    house.space("finance", "ada")
    _pay(house, model, "finance")
    model.answer(Answer(text("A star.")))
    _, shown = _blocks("terminal.md", "sh")
    command = tmp_path / "roomful"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m roomful.cli "$@"\n')
    command.chmod(0o755)
    here = {"ROOMFUL_URL": house.url, "ROOMFUL_TOKEN": ada.token, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-c", shown], capture_output=True, encoding="utf-8", env={**os.environ, **here}, cwd=tmp_path
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "Helper: A star.\n", "")


def test_the_terminal_page_has_every_command() -> None:
    page = (PAGES / "terminal.md").read_text(encoding="utf-8")
    assert [command.usage for command in COMMANDS.values() if f"`{command.usage}`" not in page] == []
