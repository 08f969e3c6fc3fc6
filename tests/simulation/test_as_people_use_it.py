"""The API against a plain model of it: what people do in any order, and what each of them then sees. Whoever
comes back to a stream at any earlier place has in the end what a page shows."""

import asyncio
import json
import random
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tests.http.test_delegation import same
from tests.servers.roomful import Event, fold
from tests.simulation.history import empty_database, tools
from tests.simulation.house import ADMIN_KEY, Houses
from tests.simulation.loop import SimLoop
from tests.simulation.outside import SeededEgress
from tests.simulation.people import Answer, Connection, ask
from tests.simulation.test_stories import OneForm

T = TypeVar("T")
SPACES, PEOPLE = ("room", "hall"), ("ada", "bob")
FOR_EVER = 1e9
TRIES = 3
"""The agent may say something between the last word of a stream and the page."""
spaces, people, any_place = st.sampled_from(SPACES), st.sampled_from(PEOPLE), st.integers(0, 30)
texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8).filter(str.strip)


@dataclass
class Said:
    id: str
    who: str
    text: str
    is_deleted: bool = False


@dataclass
class Room:
    members: set[str] = field(default_factory=lambda: set(PEOPLE))
    said: list[Said] = field(default_factory=list[Said])


class Using(RuleBasedStateMachine):
    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.loop = SimLoop(random.Random("lags"))
        empty_database(Path(self.folder.name, "roomful.db"))
        agent = {"id": "bot", "name": "Bot", "model": "seeded:x", "tools": tools()}
        self.houses = Houses(
            self.loop,
            Path(self.folder.name),
            "people",
            shared=False,
            models=OneForm(random.Random("model"), SPACES, ["bot"]),
            egress=SeededEgress(random.Random("outside")),
            agents=[agent],
        )
        self.rooms = {id: Room() for id in SPACES}
        self.heard: dict[tuple[str, str], list[Event]] = {}
        self.sent: dict[tuple[str, str], str] = {}
        self.runs: dict[str, str] = {}
        self.tokens: dict[str, str] = {"admin": ADMIN_KEY}
        self._run(self._furnish())

    async def _furnish(self) -> None:
        gateway = await self.houses.machines[0].boot()
        for name in PEOPLE:
            self.tokens[name] = await gateway.person(name)
        for id in SPACES:
            await gateway.space(id, *PEOPLE, "bot")

    def teardown(self) -> None:
        if hasattr(self, "houses"):
            self._run(self.houses.machines[0].stop())
            self._run(self.houses.bury())
            self.loop.close()
            self.folder.cleanup()

    def _run(self, doing: Coroutine[Any, Any, T]) -> T:
        return self.loop.run(doing, until=FOR_EVER)

    def ask(self, who: str, method: str, path: str, body: Any = None) -> Answer:
        door = self.houses.machines[0].door
        return self._run(ask(self.loop, door, method, path, self.tokens[who], body))

    @rule(who=people, at=spaces, text=texts, key=st.integers(0, 3))
    def post(self, who: str, at: str, text: str, key: int) -> None:
        """Who repeats a request is told the same; another one under its key is refused."""
        room, client_id = self.rooms[at], f"{who}-{len(self.rooms[at].said) - key}"
        body = {"text": text, "clientMessageId": client_id}
        given = self.ask(who, "POST", f"/api/spaces/{at}/messages", body)
        if who not in room.members:
            assert given.status == 404
        elif self.sent.get((at, client_id), text) != text:
            assert given.status == 409
        else:
            assert given.status == 201
            id = given.json["message"]["id"]
            if (at, client_id) in self.sent:
                assert id in [one.id for one in room.said]
            else:
                room.said.append(Said(id, who, text))
                self.sent[at, client_id] = text

    @rule(who=people, at=spaces)
    def wake_the_agent(self, who: str, at: str) -> None:
        given = self.ask(who, "POST", f"/api/spaces/{at}/messages", {"text": "Well?", "mentions": ["bot"]})
        if who in self.rooms[at].members:
            assert given.status == 201
            self.rooms[at].said.append(Said(given.json["message"]["id"], who, "Well?"))
            [begun] = given.json["runs"]
            self.runs[begun["runId"]] = "begun"

    @rule(seconds=st.integers(1, 8))
    def wait(self, seconds: int) -> None:
        self._run(asyncio.sleep(seconds))

    @rule(who=people, at=spaces, place=any_place, text=texts)
    def edit(self, who: str, at: str, place: int, text: str) -> None:
        if (said := self._said(at, place)) is None:
            return
        given = self.ask(who, "PATCH", f"/api/spaces/{at}/messages/{said.id}", {"text": text})
        if who not in self.rooms[at].members:
            assert given.status == 404
        elif who != said.who:
            assert given.status == 403
        elif said.is_deleted:
            assert given.status == 409
        else:
            assert given.status == 200
            said.text = text

    @rule(who=people, at=spaces, place=any_place)
    def delete(self, who: str, at: str, place: int) -> None:
        if (said := self._said(at, place)) is None:
            return
        given = self.ask(who, "DELETE", f"/api/spaces/{at}/messages/{said.id}")
        if who not in self.rooms[at].members:
            assert given.status == 404
        elif who != said.who:
            assert given.status == 403
        else:
            assert given.status == 204
            said.is_deleted = True

    @rule(who=people, at=spaces, place=any_place)
    def mark_read(self, who: str, at: str, place: int) -> None:
        if (said := self._said(at, place)) is not None:
            given = self.ask(who, "POST", f"/api/spaces/{at}/read", {"messageId": said.id})
            assert given.status == (204 if who in self.rooms[at].members else 404)

    @rule(who=people, at=spaces)
    def join_or_leave(self, who: str, at: str) -> None:
        members = self.rooms[at].members
        path = f"/api/spaces/{at}/members"
        if who in members:
            assert self.ask("admin", "DELETE", f"{path}/{who}").status == 204
            members.remove(who)
        else:
            assert self.ask("admin", "POST", path, {"entityId": who}).status == 201
            members.add(who)

    @rule(who=people)
    def answer(self, who: str) -> None:
        waiting = self.ask(who, "GET", "/api/runs?status=waiting_tool").json["runs"]
        asked = [(run["id"], one["toolCallId"]) for run in waiting for one in run["pendingToolCalls"]]
        for run_id, call_id in asked[:1]:
            body = {"toolCallId": call_id, "result": {"by": who}}
            path = f"/api/runs/{run_id}/tool-results"
            if (status := self.ask(who, "POST", path, body).status) == 200:
                assert self.ask(who, "POST", path, body).status == 409
            else:
                assert status in (403, 404), status

    @rule(who=people)
    def cancel(self, who: str) -> None:
        active = self.ask(who, "GET", "/api/runs?status=running,waiting_tool").json["runs"]
        for run in active[:1]:
            given = self.ask(who, "POST", f"/api/runs/{run['id']}/cancel")
            assert given.status in (200, 403)
            if given.status == 200:
                assert given.json["status"] in ("canceled", "completed")
                self.runs[run["id"]] = given.json["status"]

    @rule(who=people, at=spaces, place=any_place)
    def come_back_to_the_stream(self, who: str, at: str, place: int) -> None:
        heard = self.heard.setdefault((who, at), [])
        del heard[place + 1 :]
        if who not in self.rooms[at].members:
            return
        problem: tuple[Any, Any] = ((), ())
        for _ in range(TRIES):
            heard += self._run(self._listen(who, at, heard[-1].id if heard else None))
            state = fold(heard)
            page = self.ask(who, "GET", f"/api/spaces/{at}/messages?limit=200").json["messages"]
            first = state[0]["seq"] if state else 1
            shown = [one for one in page if one["seq"] >= first]
            if state == shown:
                return
            problem = (state, shown)
        same(*problem)

    async def _listen(self, who: str, at: str, last: str | None) -> list[Event]:
        door = self.houses.machines[0].door
        assert door is not None
        headers = {"last-event-id": last} if last else {}
        path = f"/api/spaces/{at}/stream"
        stream = Connection(self.loop, door, "GET", path, self.tokens[who], headers=headers)
        await asyncio.sleep(1)
        stream.cut()
        frames = stream.received.decode().split("\n\n")[:-1]
        fields = [dict(line.split(": ", 1) for line in frame.splitlines()) for frame in frames]
        return [Event(one["id"], one["event"], json.loads(one["data"])) for one in fields if "data" in one]

    def _said(self, at: str, place: int) -> Said | None:
        said = self.rooms[at].said
        return said[place % len(said)] if said else None

    @invariant()
    def everybody_sees_what_was_said(self) -> None:
        for at, room in self.rooms.items() if hasattr(self, "rooms") else ():
            for who in PEOPLE:
                given = self.ask(who, "GET", f"/api/spaces/{at}/messages?limit=200")
                assert given.status == (200 if who in room.members else 404)
            page = self.ask("admin", "GET", f"/api/spaces/{at}/messages?limit=200").json["messages"]
            assert [one["seq"] for one in page] == list(range(1, len(page) + 1))
            shown = {one["id"]: one for one in page if one["entityId"] != "bot"}
            assert list(shown) == [one.id for one in room.said]
            for said in room.said:
                words = [part["text"] for part in shown[said.id]["parts"]]
                assert words == ([] if said.is_deleted else [said.text])
                assert bool(shown[said.id].get("deleted")) == said.is_deleted

    @invariant()
    def what_was_canceled_stays_so(self) -> None:
        for run_id, status in self.runs.items() if hasattr(self, "runs") else ():
            if status != "begun":
                assert self.ask("admin", "GET", f"/api/runs/{run_id}").json["status"] == status


def _use(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        Using,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )


def test_people_see_what_the_model_sees() -> None:
    _use(examples=25, steps=40)


@pytest.mark.long
def test_people_see_what_the_model_sees_for_long() -> None:
    _use(examples=300, steps=60)
