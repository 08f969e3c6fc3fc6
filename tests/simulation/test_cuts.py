"""A stream cut at every byte: whoever comes back with the last id that arrived whole misses nothing and hears
nothing twice."""

import asyncio
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from roomful.client.sse import Frame, FrameReader
from roomful.domain.agents import ModelRef
from roomful.domain.deltas import AssistantMessage, CallOpened, CallPiece, ModelRequest, TextPiece
from roomful.domain.ports import Hear
from tests.servers.roomful import Event, fold
from tests.simulation.history import empty_database, tools
from tests.simulation.house import Houses
from tests.simulation.loop import SimLoop
from tests.simulation.outside import SeededEgress, SeededModels
from tests.simulation.people import Connection, ask

WORDS = "Grüße 日本 🙂 e\u0301 \u2028 ende"


class Talker(SeededModels):
    """Says a few words of several bytes each, in small pieces, beside a note."""

    async def ask(self, request: ModelRequest, hear: Hear) -> None:
        if any(isinstance(message, AssistantMessage) for message in request.messages):
            return
        said = json.dumps({"spaceId": "room", "text": WORDS}, ensure_ascii=False)
        noted = json.dumps({"targetSpaceId": "room", "q": WORDS}, ensure_ascii=False)
        for index, name, args in ((0, "sendSpaceMessage", said), (1, "note", noted)):
            hear([CallOpened(index, name)])
            for at in range(0, len(args), 4):
                hear([CallPiece(index, args[at : at + 4])])
                await asyncio.sleep(0.01)
        hear([TextPiece("done")])

    def find(self, ref: ModelRef) -> "Talker":
        return self


@pytest.mark.parametrize("query", ["", "?args=ops"], ids=["plain", "ops"])
def test_a_stream_cut_at_any_byte_goes_on_without_loss(tmp_path: Path, query: str) -> None:
    loop = SimLoop(random.Random("lags"))
    empty_database(tmp_path / "roomful.db")
    chance = random.Random("story")
    houses = Houses(
        loop,
        tmp_path,
        "cuts",
        shared=False,
        models=Talker(chance, ["room"], ["bot"]),
        egress=SeededEgress(chance),
        agents=[{"id": "bot", "name": "Bot", "model": "seeded:x", "tools": tools()}],
    )
    [machine] = houses.machines

    async def listen(token: str, last: str | None) -> bytes:
        assert machine.door is not None
        headers = {"last-event-id": last} if last else {}
        path = f"/api/spaces/room/stream{query}"
        stream = Connection(loop, machine.door, "GET", path, token, headers=headers)
        await asyncio.sleep(0.2 if last else 5)
        stream.cut()
        return stream.received

    async def story() -> int:
        gateway = await machine.boot()
        ada = await gateway.person("ada")
        await gateway.space("room", "ada", "bot")
        listening = loop.create_task(listen(ada, None))
        await asyncio.sleep(0.5)
        await ask(loop, machine.door, "POST", "/api/spaces/room/messages", ada, {"text": WORDS})
        whole = await listening
        page = (await ask(loop, machine.door, "GET", "/api/spaces/room/messages", ada)).json["messages"]
        told = _events(FrameReader().feed(whole))
        assert fold(told) == page
        known: dict[str | None, list[Event]] = {}
        for cut in range(len(whole)):
            arrived = _events(FrameReader().feed(whole[:cut]))
            last = arrived[-1].id if arrived else None
            if last not in known:
                known[last] = _events(FrameReader().feed(await listen(ada, last)))
            if last is not None:
                assert [event.id for event in arrived + known[last]] == [event.id for event in told], cut
            assert fold(arrived + known[last]) == page, cut
        await machine.stop()
        return len(known)

    try:
        assert loop.run(story(), until=10_000) > 20
    finally:
        loop.run(houses.bury(), until=20_000)
        loop.close()


def _events(frames: Sequence[Frame]) -> list[Any]:
    return [Event(frame.id, frame.name, json.loads(frame.data)) for frame in frames]
