"""What a call writes is stored while it is written: whoever reads from the store alone is a moment behind."""

import contextlib
import sqlite3

import msgspec
import pytest

from roomful.domain.messages import Message, ToolCallPart
from tests.budget.counted import CARD
from tests.servers.fake_openai import Answer, FakeOpenAI, call, text
from tests.servers.roomful import Roomful, openai
from tests.servers.watched import wait_until

SIZE = 8
WRITTEN = {"title": "abcdefgh" * 40}


def _stored(house: Roomful) -> str:
    """What is stored of the text that the agent's card has."""
    with contextlib.closing(sqlite3.connect(house.folder / "roomful.db")) as db:
        rows = db.execute("SELECT body FROM messages WHERE run_id IS NOT NULL").fetchall()
    messages = [msgspec.json.decode(body, type=Message) for (body,) in rows]
    parts = [part for message in messages for part in message.parts if isinstance(part, ToolCallPart)]
    return parts[0].args["title"] if parts and parts[0].args else ""


@pytest.mark.parametrize("is_watched", [False, True])
def test_what_a_call_has_written_is_stored_while_it_goes_on(house: Roomful, is_watched: bool) -> None:
    with FakeOpenAI([Answer(call("card", WRITTEN, size=SIZE), held=True), Answer(text("So."))]) as model:
        ada = house.person("ada")
        space_id = house.space("room", "ada", house.agent("helper", openai(model.base_url), CARD))
        with ada.listen(space_id, args="ops") if is_watched else contextlib.nullcontext():
            ada.say(space_id, "go")
            for least in (6, 16, 26):
                model.release(times=10)
                wait_until(lambda characters=least * SIZE: len(_stored(house)) >= characters)
                assert WRITTEN["title"].startswith(_stored(house))
            model.release(times=40)
            wait_until(lambda: _stored(house) == WRITTEN["title"])
