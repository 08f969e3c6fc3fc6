"""A run is canceled at whatever moment, here and at another gateway, while the store answers late, and while
somebody answers its card. Nothing of it stays alive, for those who follow and for those who come later."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from roomful.client.sse import FrameReader
from roomful.domain.agents import ModelRef
from roomful.domain.changes import Change
from roomful.domain.deltas import AssistantMessage, CallOpened, CallPiece, ModelDelta, ModelRequest, TextPiece
from roomful.domain.ports import Hear
from roomful.domain.run_changes import SaveCalls
from tests.http.test_delegation import FORM, SEARCH, delegate
from tests.http.test_inside import ALIVE, statuses
from tests.simulation.house import ADMIN_KEY, Houses
from tests.simulation.outside import SeededModels
from tests.simulation.people import Answer, Connection, ask
from tests.simulation.test_order import seen
from tests.simulation.test_stories import ENDS, living

ASKING = delegate("one", SEARCH, delegate("two", FORM))
ORDER = {**SEARCH, "name": "order", "approval": True, "visibility": "full"}
Happens = Callable[[str, str, int], Awaitable[None]]
"""With a room, its run, and a moment in milliseconds."""


class Asking(SeededModels):
    """The boss asks one, who looks and asks two, who asks a person."""

    def find(self, ref: ModelRef) -> "Asking":
        return self

    async def ask(self, request: ModelRequest, hear: Hear) -> None:
        await asyncio.sleep(0.01)
        if any(isinstance(message, AssistantMessage) for message in request.messages):
            hear([TextPiece("done")])
            return
        for piece in self._said(_who(request)):
            hear(piece)
            await asyncio.sleep(0.005)

    def _said(self, who: str) -> list[list[ModelDelta]]:
        return {
            "boss": [_call(0, "ask_one", prompt="do one")],
            "one": [
                [TextPiece("I ask. ")],
                _call(0, "search", query="x"),
                _call(1, "ask_two", prompt="do two"),
            ],
            "two": [[TextPiece("Let me see. ")], _call(0, "form", q="?")],
        }[who]


class Ordering(Asking):
    """Orders something, for which somebody has to agree."""

    def _said(self, who: str) -> list[list[ModelDelta]]:
        return [_call(0, "order", query="x")]


def _who(request: ModelRequest) -> str:
    return str(request.messages[0]).split("You are ")[1].split(".")[0]


def _call(index: int, name: str, **args: str) -> list[ModelDelta]:
    return [CallOpened(index, name), CallPiece(index, json.dumps(args))]


class Scene:
    """The same begins in one room after the other, and is canceled in each at another moment."""

    def __init__(self, houses: Houses, tool: dict[str, Any], *, reads: int = 0) -> None:
        houses.agents[0].update(instructions="You are boss.", tools=[tool])
        self._houses = houses
        self._reads = reads
        self._ada = ""

    def play(self, happens: Happens, moments: Iterable[int]) -> list[str]:
        """What is alive when `happens` is over."""
        machines = self._houses.machines

        async def story() -> list[str]:
            gateways = [await machine.boot() for machine in machines]
            self._ada = await gateways[0].person("ada")
            alive: list[str] = []
            for moment in moments:
                await gateways[0].space(room := f"room{moment}", "ada", "bot")
                alive += [f"{moment}: {what}" for what in await self._in(room, happens, moment)]
            for machine in machines:
                await machine.stop()
            return alive + self._houses.loop.errors

        return self._houses.loop.run(story(), until=100_000)

    async def _in(self, room: str, happens: Happens, moment: int) -> list[str]:
        door = self._houses.machines[self._reads].door
        assert door is not None
        stream = Connection(self._houses.loop, door, "GET", f"/api/spaces/{room}/stream", self._ada)
        await asyncio.sleep(0.5)
        posted = await self.ask(0, "POST", f"/api/spaces/{room}/messages", {"text": "go"})
        run_id = posted.json["runs"][0]["runId"]
        await happens(room, run_id, moment)
        await asyncio.sleep(3)
        messages = await self.messages(room)
        runs = (await ask(self._houses.loop, door, "GET", "/api/runs?limit=20", ADMIN_KEY)).json["runs"]
        stream.cut()
        found = {
            "runs": ALIVE & {run["status"] for run in runs if run["rootRunId"] == run_id},
            "messages": ALIVE & set(statuses(messages)),
            "messages as they were told": ALIVE & set(statuses(seen(stream)[0])),
            "runs as they were told": told_alive(stream),
        }
        assert seen(stream)[0] == messages, moment
        return [f"{where} {what}" for where, what in found.items() if what]

    async def ask(self, at: int, method: str, path: str, body: Any = None) -> Answer:
        return await ask(self._houses.loop, self._houses.machines[at].door, method, path, self._ada, body)

    async def messages(self, room: str) -> list[dict[str, Any]]:
        return (await self.ask(self._reads, "GET", f"/api/spaces/{room}/messages")).json["messages"]

    async def cancel(self, at: int, run_id: str) -> None:
        assert (await self.ask(at, "POST", f"/api/runs/{run_id}/cancel")).status == 200

    async def approve(self, at: int, room: str) -> None:
        [_, message] = await self.messages(room)
        [card] = message["parts"]
        body = {"toolCallId": card["toolCallId"], "result": {"approved": True}}
        answer = await self.ask(at, "POST", f"/api/runs/{card['runId']}/tool-results", body)
        assert answer.status in (200, 409)


def told_alive(stream: Connection) -> set[str]:
    """The runs that have not ended as far as somebody knows who was told this."""
    alive: set[str] = set()
    for frame in FrameReader().feed(stream.received):
        data = json.loads(frame.data)
        if frame.name == "snapshot":
            alive = {run["id"] for run in data["runs"]}
        elif frame.name in ENDS:
            alive.discard(data["runId"])
        elif frame.name.startswith("run."):
            alive.add(data["runId"])
    return alive


def test_a_cancel_at_whatever_moment_leaves_nothing_alive(tmp_path: Path) -> None:
    with living(tmp_path, Asking) as houses:
        scene = Scene(houses, ASKING)

        async def happens(room: str, run_id: str, moment: int) -> None:
            await asyncio.sleep(moment / 1000)
            await scene.cancel(0, run_id)

        assert scene.play(happens, range(0, 200, 2)) == []


def test_a_cancel_elsewhere_at_whatever_moment_leaves_nothing_alive(tmp_path: Path) -> None:
    """Who drives it knows late what it stored."""
    with living(tmp_path, Asking, shared=True) as houses:
        scene = Scene(houses, ASKING)

        async def happens(room: str, run_id: str, moment: int) -> None:
            hand = houses.machines[0].hand
            assert hand is not None
            hand.slow_by = 1
            await asyncio.sleep(moment / 1000)
            await scene.cancel(1, run_id)
            await asyncio.sleep(2)
            hand.slow_by = 0

        assert scene.play(happens, range(0, 6000, 40)) == []


def test_two_cancels_at_once_at_whatever_moment_leave_nothing_alive(tmp_path: Path) -> None:
    with living(tmp_path, Asking, shared=True) as houses:
        scene = Scene(houses, ASKING)

        async def happens(room: str, run_id: str, moment: int) -> None:
            await asyncio.sleep(moment / 1000)
            await asyncio.gather(scene.cancel(0, run_id), scene.cancel(1, run_id))

        assert scene.play(happens, range(240)) == []


@pytest.mark.parametrize(
    ("answers", "cancels", "late"),
    [(0, 0, False), (0, 1, False), (1, 0, False), (0, 1, True)],
    ids=["one gateway", "canceled elsewhere", "answered elsewhere", "the link is late"],
)
def test_a_cancel_while_its_card_is_approved_leaves_nothing_alive(
    tmp_path: Path, answers: int, cancels: int, late: bool
) -> None:
    with living(tmp_path, Ordering, shared=True) as houses:
        scene = Scene(houses, ORDER, reads=cancels)

        async def happens(room: str, run_id: str, moment: int) -> None:
            await asyncio.sleep(2)
            link = houses.machines[cancels].link
            assert link is not None
            link.slow_by = 0.2 if late else 0
            approving = asyncio.ensure_future(scene.approve(answers, room))
            await asyncio.sleep(moment / 1000)
            await scene.cancel(cancels, run_id)
            await approving
            await asyncio.sleep(2)
            link.slow_by = 0

        assert scene.play(happens, range(80)) == []


def test_what_a_sub_agent_stored_last_is_not_told_after_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who drives it knows that it is canceled before it knows what it stored."""
    with living(tmp_path, Asking, shared=True) as houses:
        scene = Scene(houses, ASKING)

        async def happens(room: str, run_id: str, moment: int) -> None:
            [drives, _] = houses.machines
            assert drives.gateway is not None
            assert drives.hand is not None
            hand, store, is_late = drives.hand, drives.gateway.house.store, asyncio.Event()
            commit = store.commit

            def committing(changes: Sequence[Change], *more: Any, **named: Any) -> Awaitable[list[Any]]:
                made = [call for change in changes if isinstance(change, SaveCalls) for call in change.calls]
                if any(call.tool_name == "ask_two" for call in made):
                    hand.slow_by = 2
                    is_late.set()
                return commit(changes, *more, **named)

            with monkeypatch.context() as patched:
                patched.setattr(store, "commit", committing)
                await is_late.wait()
                await asyncio.sleep(moment / 1000)
                await scene.cancel(1, run_id)
                await asyncio.sleep(3)
                hand.slow_by = 0

        assert scene.play(happens, [100]) == []
