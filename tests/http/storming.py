"""Random graphs of agents that never stop addressing each other, whatever they are told.

voices = Voices()
with FakeOpenAI(voices) as model, InHouse(folder) as house:
    Storm(seed).rage(house, model, voices, listens=True)    # the same seed is the same graph
"""

import json
import random
import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from tests.http.test_delegation import same
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, call, text
from tests.servers.inhouse import InHouse
from tests.servers.roomful import PATIENCE, Caller, fold, openai

ACTIVE = "queued,running,waiting_tool,waiting_reply"
UNSETTLED = {"streaming", "ready", "running"}
WAYS = ("mention", "mention", "mention", "at id", "at name", "speech", "hand off", "delegate")


@dataclass
class Player:
    """One agent: whom it addresses, and how."""

    id: str
    way: str
    neighbours: list[str]
    noise: list[str]
    """Itself, and some that do not exist."""
    on_busy: str
    visibility: str

    @property
    def name(self) -> str:
        return self.id.upper()

    @property
    def followed(self) -> list[str]:
        """Whom it leads to: one can be called or take over, any number be addressed."""
        if self.way == "silence":
            return []
        return self.neighbours[:1] if self.way in ("hand off", "delegate") else self.neighbours

    def answer(self, space_id: str, asked: Asked) -> Answer:
        """It acts when it is woken and when it is told something new; the outcome of its act ends it."""
        last = asked.messages[-1]
        if self.way == "silence":
            return Answer(text("I am done."))
        if last["role"] == "user":
            is_called = "with a call; no space is active" in asked.messages[0]["content"]
            return self._act(space_id, "mention" if is_called and self.way == "speech" else self.way)
        if self.way == "hand off" and "handedTo" not in last["content"] and "you cannot" in last["content"]:
            return self._act(space_id, "mention")
        return Answer(text("I am done."))

    def _act(self, space_id: str, way: str) -> Answer:
        whom = [*self.neighbours, *self.noise]
        if way == "hand off":
            return Answer(call("delegateToAgent", {"targetAgentEntityId": self.neighbours[0]}))
        if way == "delegate":
            return Answer(call("ask", {"prompt": "go on"}, size=40))
        if way == "speech":
            return Answer(text("Go on " + " ".join(f"@{one}" for one in whom), size=40))
        args: dict[str, Any] = {"spaceId": space_id, "text": "Go on."}
        if way == "mention":
            args["mention"] = whom if len(whom) > 1 else whom[0]
        else:
            names = whom if way == "at id" else [one.upper() for one in whom]
            args["text"] = "Go on " + ", ".join(f"@{one}" for one in names)
        return Answer(call("sendSpaceMessage", args, size=40))


@dataclass
class Figures:
    seed: int
    runs: int = 0
    depth: int = 0
    seconds: float = 0.0
    bounds: set[str] = field(default_factory=set[str])


class Storm:
    def __init__(self, seed: int, *, steers: bool = False, **limits: int) -> None:
        dice = random.Random(seed)
        count = dice.randint(2, 20)
        self.seed = seed
        self.limits = limits
        self.space_id = f"sky{seed}"
        self.runs_per_root = limits.get("runsPerRoot", 32)
        self.depth = limits.get("depth", 8)
        ids = [f"s{seed}a{n}" for n in range(count)]
        ways = WAYS if dice.random() < 0.5 else ("mention", "at id", "at name", "speech")
        silent = dice.choice((0.0, 0.2, 0.5))
        busy = ("parallel", "queue", "steer") if steers else ("parallel", "parallel", "queue")
        self.players = {
            one: Player(
                id=one,
                way="silence" if dice.random() < silent else dice.choice(ways),
                neighbours=dice.sample(others, min(len(others), dice.randint(1, 4))),
                noise=[who for who in (one, f"s{seed}nobody") if dice.random() < 0.2],
                on_busy=dice.choice(busy),
                visibility=dice.choice(("full", "minimal", "hidden")),
            )
            for one in ids
            if (others := [other for other in ids if other != one])
        }
        self.first = next((one for one in ids if self.players[one].way != "silence"), ids[0])

    def prepare(self, house: InHouse, model: FakeOpenAI) -> Caller:
        ada = house.person(f"ada{self.seed}")
        for player in self.players.values():
            ask = {
                "name": "ask",
                "description": "Ask another agent.",
                "executionType": "ai-agent",
                "visibility": player.visibility,
                "execution": {"agentId": player.neighbours[0]},
            }
            house.agent(
                player.id,
                openai(model.base_url),
                ask,
                name=player.name,
                instructions=f"You are {player.id}.",
                speaks="both" if player.way == "speech" else "tools",
                onBusy=player.on_busy,
                limits=self.limits,
            )
        house.space(self.space_id, ada.id, *self.players)
        return ada

    def rage(self, house: InHouse, model: FakeOpenAI, voices: "Voices", *, listens: bool) -> Figures:
        """One message, and what comes of it. Asserts that it ended well inside the bounds."""
        voices.storm = self
        ada = self.prepare(house, model)
        began = time.monotonic()
        with ada.listen(self.space_id) if listens else nullcontext() as listener:
            root = ada.say(self.space_id, "Go on.", mentions=[self.first])["runs"][0]["runId"]
            calm(house)
            seconds = time.monotonic() - began
            read = ada.get(f"/api/spaces/{self.space_id}/messages", params={"limit": 200})
            if listener is not None:
                last = position(read["position"])
                listener.wait(lambda events: any(position(event.id) >= last for event in events))
                same(fold(listener.events), read["messages"], f"seed {self.seed}")
        return self._checked(house, read["messages"], root, seconds)

    def _checked(self, house: InHouse, messages: list[dict[str, Any]], root: str, seconds: float) -> Figures:
        runs = [
            run
            for run in house.admin.get("/api/runs", params={"limit": 200})["runs"]
            if run["agentId"] in self.players
        ]
        where = f"seed {self.seed}"
        assert {run["rootRunId"] for run in runs} == {root}, where
        assert all("endedAt" in run for run in runs), where
        assert len({run["id"] for run in runs}) == len(runs) <= self.runs_per_root, where
        assert max(run["depth"] for run in runs) <= self.depth, where
        assert not {part["status"] for message in messages for part in message["parts"]} & UNSETTLED, where
        assert {message["status"] for message in messages} == {"final"}, where
        seen = bounds_seen(messages)
        assert seen or not self.has_cycle(), where
        return Figures(self.seed, len(runs), max(run["depth"] for run in runs), seconds, seen)

    def has_cycle(self) -> bool:
        """Whether whoever is woken first can be led back to somebody who was there before."""
        done: set[str] = set()

        def leads_back(one: str, path: frozenset[str]) -> bool:
            if one in path:
                return True
            if one in done:
                return False
            done.add(one)
            return any(leads_back(other, path | {one}) for other in self.players[one].followed)

        return leads_back(self.first, frozenset())


class Voices:
    """Answers for everybody in the storm that rages."""

    def __init__(self) -> None:
        self.storm: Storm | None = None

    def __call__(self, asked: Asked) -> Answer:
        assert self.storm is not None
        who = asked.messages[0]["content"].removeprefix("You are ").partition(".")[0]
        return self.storm.players[who].answer(self.storm.space_id, asked)


def calm(house: InHouse) -> None:
    """Returns when no run is active, and none is about to begin."""
    deadline = time.monotonic() + 4 * PATIENCE
    while time.monotonic() < deadline:
        if not _active(house):
            house.look()
            if not _active(house):
                return
        time.sleep(0.01)
    raise AssertionError(f"the storm goes on: {_active(house)}")


def _active(house: InHouse) -> list[dict[str, Any]]:
    return house.admin.get("/api/runs", params={"status": ACTIVE, "limit": 5})["runs"]


def position(event_id: str | None) -> int:
    """Where in its stream an event stands."""
    return int(event_id.rpartition(".")[2]) if event_id else 0


def bounds_seen(messages: list[dict[str, Any]]) -> set[str]:
    """The names of the limits that these messages say were hit."""
    parts = [part for message in messages for part in message["parts"] if part["type"] == "tool_call"]
    said = " ".join(json.dumps(part) for part in parts)
    return {word.partition(")")[0] for word in said.split("(limits.")[1:]}
