"""What histories have shown, as plain stories."""

import asyncio
import random
from collections.abc import AsyncGenerator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from roomful.domain.agents import ModelRef
from roomful.domain.deltas import AssistantMessage, CallOpened, CallPiece, ModelDelta, ModelRequest, TextPiece
from tests.simulation.history import empty_database, tools
from tests.simulation.house import ADMIN_KEY, Houses
from tests.simulation.loop import SimLoop
from tests.simulation.outside import SeededEgress, SeededModels
from tests.simulation.people import Answer, ask


class OneForm(SeededModels):
    """Thinks for a while, asks with a form, and is content with the answer."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelDelta], None]:
        await asyncio.sleep(5)
        if any(isinstance(message, AssistantMessage) for message in request.messages):
            yield [TextPiece("Thanks.")]
        else:
            yield [CallOpened(0, "form"), CallPiece(0, '{"targetSpaceId":"room","q":"Well?"}')]

    def find(self, ref: ModelRef) -> "OneForm":
        return self


class FailingHouse(Houses):
    """Its disk refuses two commits, `after` so many more."""

    after: int | None = None

    def faults(self) -> Iterator[str]:
        while True:
            if self.after is not None:
                self.after -= 1
            yield "refused" if self.after in (-1, -2) else ""


@pytest.mark.parametrize("seconds", [2, 10], ids=["at work", "waiting"])
@pytest.mark.parametrize("after", range(5))
def test_a_run_whose_cancel_fails_is_not_left_behind(tmp_path: Path, seconds: float, after: int) -> None:
    loop = SimLoop(random.Random("lags"))
    empty_database(tmp_path / "roomful.db")
    agent: dict[str, Any] = {"id": "bot", "name": "Bot", "model": "seeded:x", "tools": tools()}
    chance = random.Random("story")
    models, egress = OneForm(chance, ["room"], ["bot"]), SeededEgress(chance)
    houses = FailingHouse(loop, tmp_path, "story", shared=False, models=models, egress=egress, agents=[agent])
    [machine] = houses.machines

    async def say(method: str, path: str, token: str, body: Any = None) -> Answer:
        return await ask(loop, machine.door, method, path, token, body)

    async def story() -> str:
        gateway = await machine.boot()
        ada = await gateway.person("ada")
        await gateway.space("room", "ada", "bot")
        posted = await say("POST", "/api/spaces/room/messages", ada, {"text": "Ask me"})
        [run] = posted.json["runs"]
        await asyncio.sleep(seconds)
        houses.after = after
        canceled = await say("POST", f"/api/runs/{run['runId']}/cancel", ada)
        assert canceled.status in (200, 503)
        await asyncio.sleep(30)
        told = await say("GET", f"/api/runs/{run['runId']}", ADMIN_KEY)
        assert canceled.status == 503 or told.json["status"] == "canceled"
        await machine.stop()
        return told.json["status"]

    try:
        assert loop.run(story(), until=200) in ("canceled", "waiting_tool")
    finally:
        loop.run(houses.bury(), until=500)
        loop.close()
