"""A reader whose line is full now and then hears every word once, in whichever words it is told."""

import json
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from roomful.web import connection
from tests.budget.counted import CARD
from tests.servers.fake_openai import Answer, FakeOpenAI, call, text
from tests.servers.inhouse import InHouse
from tests.servers.roomful import openai

SAID = "".join(f"word {number}, " for number in range(60))


class Choppy(connection.Flow):
    """Full two times out of three, whenever somebody asks."""

    def __init__(self, transport: Any) -> None:
        self._turns = cycle([False, True, True])
        super().__init__(transport)

    @property
    def write_paused(self) -> bool:
        return next(self._turns)

    @write_paused.setter
    def write_paused(self, value: bool) -> None:
        assert not value


def _heard(told: dict[str, Any], data: str) -> str:
    if "ops" in told:
        return "".join(value for _, _, value in told["ops"])
    return told.get("delta", "") if "offset" in told or "text-delta" in data else ""


@pytest.mark.parametrize("way", ["post", "call", "chat"])
def test_no_word_is_lost_or_told_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    monkeypatch.setattr(connection, "Flow", Choppy)
    chunks = call("card", {"title": SAID}, size=9) if way == "call" else text(SAID, size=9)
    answers = [Answer(chunks, held=True), Answer(text(""))]
    with FakeOpenAI(answers) as model, InHouse(tmp_path) as house:
        ada = house.person("ada")
        agent = house.agent("helper", openai(model.base_url), CARD, speaks="both")
        space_id = house.space("room", "ada", agent)
        headers = {"authorization": f"Bearer {ada.token}", "accept": "text/event-stream"}
        if way != "chat":
            path, body = f"/api/spaces/{space_id}/messages?args=ops", {"text": "go"}
        else:
            said = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "go"}]}
            path, body = "/api/chat", {"id": space_id, "messages": [said], "trigger": "submit-message"}
        heard: list[str] = []
        model.release(times=4)
        with house.client.stream("POST", house.url + path, headers=headers, json=body) as stream:
            for line in stream.iter_lines():
                model.release(times=1)
                data = line.removeprefix("data: ")
                if data != line and data.startswith("{"):
                    heard.append(_heard(json.loads(data), data))
    assert "".join(heard) == SAID
