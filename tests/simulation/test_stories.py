"""What histories have shown, as plain stories."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from roomful.client.sse import FrameReader
from roomful.domain.agents import ModelRef
from roomful.domain.changes import Change
from roomful.domain.deltas import AssistantMessage, CallOpened, CallPiece, ModelRequest, TextPiece
from roomful.domain.ports import Hear
from roomful.domain.run_changes import SaveRun
from roomful.domain.runs import Run
from tests.simulation.history import empty_database, tools
from tests.simulation.house import ADMIN_KEY, Houses, Machine
from tests.simulation.loop import SimLoop
from tests.simulation.outside import SeededEgress, SeededModels
from tests.simulation.people import Answer, Connection, ask

ENDS = ("run.completed", "run.canceled", "run.failed")


class OneForm(SeededModels):
    """Thinks for a while, asks with a form, and is content with the answer."""

    async def ask(self, request: ModelRequest, hear: Hear) -> None:
        await asyncio.sleep(5)
        if any(isinstance(message, AssistantMessage) for message in request.messages):
            hear([TextPiece("Thanks.")])
        else:
            hear([CallOpened(0, "form"), CallPiece(0, '{"targetSpaceId":"room","q":"Well?"}')])

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


class HalfAForm(SeededModels):
    """Stops in the middle of a form for long."""

    async def ask(self, request: ModelRequest, hear: Hear) -> None:
        hear([CallOpened(0, "form"), CallPiece(0, '{"targetSpaceId":"room","q":"W')])
        await asyncio.sleep(10)
        hear([CallPiece(0, 'ell?"}')])

    def find(self, ref: ModelRef) -> "HalfAForm":
        return self


class HalfAMention(SeededModels):
    """Stops for long before the end of a text that names somebody."""

    async def ask(self, request: ModelRequest, hear: Hear) -> None:
        hear([CallOpened(0, "sendSpaceMessage"), CallPiece(0, '{"spaceId":"room","text":"Hi @ada')])
        await asyncio.sleep(10)
        hear([CallPiece(0, '!"}')])

    def find(self, ref: ModelRef) -> "HalfAMention":
        return self


@contextlib.contextmanager
def living(
    folder: Path, model: type[SeededModels], kind: type[Houses] = Houses, *, shared: bool = False
) -> Iterator[Houses]:
    """Houses with one agent, Bot, whose model this is."""
    loop = SimLoop(random.Random("lags"))
    empty_database(folder / "roomful.db")
    agent: dict[str, Any] = {"id": "bot", "name": "Bot", "model": "seeded:x", "tools": tools()}
    chance = random.Random("story")
    models, egress = model(chance, ["room"], ["bot"]), SeededEgress(chance)
    houses = kind(loop, folder, "story", shared=shared, models=models, egress=egress, agents=[agent])
    try:
        yield houses
    finally:
        loop.run(houses.bury(), until=500)
        loop.close()


@pytest.mark.parametrize("seconds", [2, 10], ids=["at work", "waiting"])
@pytest.mark.parametrize("after", range(5))
def test_a_run_whose_cancel_fails_is_not_left_behind(tmp_path: Path, seconds: float, after: int) -> None:
    with living(tmp_path, OneForm, FailingHouse) as houses:
        assert isinstance(houses, FailingHouse)
        loop, [machine] = houses.loop, houses.machines

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

        assert loop.run(story(), until=200) in ("canceled", "waiting_tool")


@pytest.mark.parametrize("what", ["is canceled", "is out of time", "is canceled and out of time"])
def test_what_happens_to_a_run_while_its_end_is_stored_comes_too_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    with living(tmp_path, OneForm) as houses:
        loop, [machine] = houses.loop, houses.machines
        houses.agents[0]["limits"] = {"runSeconds": 6}

        async def story() -> tuple[str, list[str]]:
            gateway = await machine.boot()
            ada = await gateway.person("ada")
            await gateway.space("room", "ada", "bot")
            assert machine.door is not None
            stream = Connection(loop, machine.door, "GET", "/api/spaces/room/stream", ada)
            path = "/api/spaces/room/messages"
            [run] = (await ask(loop, machine.door, "POST", path, ada, {"text": "Ask me"})).json["runs"]
            path = f"/api/runs/{run['runId']}"
            await asyncio.sleep(8)
            store, commit = gateway.house.store, gateway.house.store.commit
            canceling: list[asyncio.Future[Run]] = []

            def committing(changes: Sequence[Change], *more: Any, **named: Any) -> Awaitable[list[Any]]:
                if any(isinstance(one, SaveRun) and one.run.status == "completed" for one in changes):
                    assert machine.hand is not None
                    machine.hand.slow_by = 2 if "out of time" in what else 0
                    if "canceled" in what:
                        canceling.append(asyncio.ensure_future(gateway.house.worker.cancel(run["runId"])))
                return commit(changes, *more, **named)

            monkeypatch.setattr(store, "commit", committing)
            [card] = (await ask(loop, machine.door, "GET", path, ada)).json["pendingToolCalls"]
            body = {"toolCallId": card["toolCallId"], "result": 1}
            await ask(loop, machine.door, "POST", f"{path}/tool-results", ada, body)
            await asyncio.sleep(20)
            assert [(await run).status for run in canceling] == ["completed"] * ("canceled" in what)
            stored = (await ask(loop, machine.door, "GET", path, ada)).json["status"]
            stream.cut()
            await machine.stop()
            told = [frame.name for frame in FrameReader().feed(stream.received)]
            return stored, [name for name in told if name in ENDS]

        assert loop.run(story(), until=200) == ("completed", ["run.completed"])


@pytest.mark.parametrize(
    ("lonely", "dies"),
    [(0, False), (0, True), (1, False)],
    ids=["who drives", "who drives and dies", "who cancels"],
)
@pytest.mark.parametrize("reader_at", [1, 2], ids=["read where it is canceled", "read at a third"])
def test_what_was_canceled_elsewhere_does_not_grow_again(
    tmp_path: Path, lonely: int, dies: bool, reader_at: int
) -> None:
    """A run is canceled while one of the two that it concerns is out of reach, and the one who drives it says
    what grows before it knows."""
    with living(tmp_path, HalfAForm, shared=True) as houses:
        loop = houses.loop
        houses.machines.append(Machine(houses, 2))
        drives, cancels, _ = houses.machines

        async def story() -> list[Any]:
            gateways = [await machine.boot() for machine in houses.machines]
            ada = await gateways[0].person("ada")
            await gateways[0].space("room", "ada", "bot")
            door, link = houses.machines[reader_at].door, houses.machines[lonely].link
            assert door is not None
            assert link is not None
            stream = Connection(loop, door, "GET", "/api/spaces/room/stream", ada)
            path = "/api/spaces/room/messages"
            posted = await ask(loop, drives.door, "POST", path, ada, {"text": "Ask me"})
            await asyncio.sleep(2)
            link.cut()
            await asyncio.sleep(1)
            run_id = posted.json["runs"][0]["runId"]
            await ask(loop, cancels.door, "POST", f"/api/runs/{run_id}/cancel", ada)
            link.join()
            await asyncio.sleep(1)
            if dies:
                drives.crash()
            await asyncio.sleep(30)
            page = await ask(loop, door, "GET", path, ada)
            stream.cut()
            for machine in houses.machines[dies:]:
                await machine.stop()
            return page.json["messages"]

        [_, message] = loop.run(story(), until=200)
        assert (message["status"], message["parts"][0]["status"]) == ("final", "canceled")


@pytest.mark.parametrize("model", [HalfAForm, HalfAMention])
@pytest.mark.parametrize("is_away", [False, True], ids=["the store is there", "the store is away"])
def test_what_was_canceled_behind_its_driver_s_back_has_ended_there_too(
    tmp_path: Path, model: type[SeededModels], is_away: bool
) -> None:
    """It goes on speaking, and what it says then is not stored."""
    with living(tmp_path, model, shared=True) as houses:
        loop, [drives, cancels] = houses.loop, houses.machines

        async def story() -> list[Any]:
            gateway = await drives.boot()
            await cancels.boot()
            ada = await gateway.person("ada")
            await gateway.space("room", "ada", "bot")
            assert drives.link is not None
            path = "/api/spaces/room/messages"
            posted = await ask(loop, drives.door, "POST", path, ada, {"text": "Ask me"})
            await asyncio.sleep(8)
            drives.link.cut()
            if is_away:
                await asyncio.sleep(1.5)
                houses.down_until = loop.time() + 1.5
                await asyncio.sleep(1.55)
            run_id = posted.json["runs"][0]["runId"]
            canceled = await ask(loop, cancels.door, "POST", f"/api/runs/{run_id}/cancel", ada)
            assert canceled.json["status"] == "canceled"
            await asyncio.sleep(30)
            page = await ask(loop, drives.door, "GET", path, ada)
            for machine in houses.machines:
                await machine.stop()
            return page.json["messages"]

        [_, message] = loop.run(story(), until=200)
        assert (message["status"], message["parts"][0]["status"]) == ("final", "canceled")
