"""A space with one of everything in it, and everybody who could knock at its door."""

import functools
import itertools
import json
from dataclasses import dataclass, field
from typing import Any

from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, call, status, text
from tests.servers.roomful import Caller, Roomful, openai

CALLERS = ("nobody", "forger", "eve", "spy", "clock", "rita", "mem", "bot", "ada", "admin")
"""Nobody has no token and a forger one that nobody gave out. Eve, a spy (her agent) and a clock (a service)
are in other spaces. Rita reads here, Mem and Bot (an agent) write, and Ada owns the space and the agent."""
STRANGERS = ("nobody", "forger", "eve", "spy", "clock")
TOOLS = (
    {
        "name": "pay",
        "description": "Pay.",
        "executionType": "gateway",
        "execution": {"mode": "pass-through"},
        "approval": True,
        "inputSchema": {"type": "object", "properties": {"amount": {"type": "number"}}},
    },
    {
        "name": "ask",
        "description": "Ask.",
        "executionType": "space",
        "execution": {},
        "inputSchema": {"type": "object", "properties": {"question": {"type": "string"}}},
    },
)
NOTES = (
    ("set_goals", {"goals": [{"description": "grow"}]}),
    ("set_plans", {"plans": [{"name": "later", "instruction": "look", "runAfter": "2 days"}]}),
    ("set_memories", {"memories": [{"key": "colour", "value": "blue"}]}),
)
CALLED = {"pay": (("pay", {"amount": 5}),), "ask": (("ask", {"question": "why?"}),), "note": NOTES}
_numbers = itertools.count(1)


def clerk(asked: Asked) -> Answer:
    """Does what the last word that was said to it stands for, and is done."""
    if asked.messages[-1]["role"] == "tool":
        return Answer(text("ok"))
    said = asked.messages[-1]["content"]
    word = said.rstrip().rsplit(" ", 1)[-1] if isinstance(said, str) else ""
    if word == "fail":
        return status(400)
    calls = [
        call(name, args, size=99, index=n, id=f"c{n}") for n, (name, args) in enumerate(CALLED.get(word, ()))
    ]
    return Answer([piece for each in calls for piece in each] or text("ok"))


@dataclass
class Town:
    """Those who are the same in every scene."""

    house: Roomful
    model: FakeOpenAI
    people: dict[str, Caller] = field(default_factory=dict[str, Caller])

    def __post_init__(self) -> None:
        for name in ("eve", "rita", "mem", "ada"):
            self.people[name] = self.house.person(name)
        self.people["clock"] = self.house.person("clock", kind="service")
        self.people["admin"] = self.house.admin
        self.people["nobody"] = Caller(self.house, "")
        self.people["forger"] = Caller(self.house, "rmf_0123456789abcdef0123456789abcdef")
        self.people["spy"] = self.agent("spy", "eve")
        self.house.space("elsewhere", "eve:owner", "spy", "clock", "ada")

    def agent(self, agent_id: str, owner: str) -> Caller:
        config = {"id": agent_id, "name": agent_id, "model": openai(self.model.base_url), "tools": [*TOOLS]}
        self.people[owner].post("/api/agents", {**config, "dialect": "active"}, expect=201)
        made = self.house.admin.post(f"/api/entities/{agent_id}/tokens", expect=201)
        return Caller(self.house, made["token"], agent_id)


class Scene:
    """What is asked for is made when it is asked for; everything has an id of its own."""

    def __init__(self, town: Town) -> None:
        self.town = town
        self.number = next(_numbers)
        self.canary = f"canary{self.number}nobodyelse"
        self.bot = town.agent(f"bot-{self.number}", "ada")
        self.space = f"private-{self.number}"
        self.ada.post("/api/spaces", {"id": self.space, "name": f"Name {self.canary}"}, expect=201)
        for who, role in (("rita", "reader"), ("mem", "member"), (self.agent, "member")):
            self.ada.post(f"/api/spaces/{self.space}/members", {"entityId": who, "role": role}, expect=201)

    @property
    def ada(self) -> Caller:
        return self.town.people["ada"]

    @property
    def agent(self) -> str:
        return self.bot.id

    def caller(self, name: str) -> Caller:
        return self.bot if name == "bot" else self.town.people[name]

    def run_of(self, word: str, until: str) -> dict[str, Any]:
        with self.ada.listen(self.space) as ears:
            [run] = self.ada.say(self.space, f"{self.canary} {word}")["runs"]
            return ears.wait_for(until, runId=run["runId"]).data

    @functools.cached_property
    def message(self) -> str:
        body = {"text": self.canary, "attachments": [self.blob], "mentions": []}
        with self.ada.listen(self.space) as ears:
            posted = self.ada.post(f"/api/spaces/{self.space}/messages", body, expect=201)
            for run in posted["runs"]:
                ears.wait_for("run.completed", runId=run["runId"])
        return posted["message"]["id"]

    @functools.cached_property
    def blob(self) -> str:
        answer = self.ada.request(
            "POST", "/api/blobs", self.canary.encode(), headers={"content-type": "text/plain"}
        )
        return answer.json()["blobId"]

    @functools.cached_property
    def waiting(self) -> dict[str, Any]:
        return self.run_of("ask", "run.waiting_tool")

    @property
    def run(self) -> str:
        return self.waiting["runId"]

    @property
    def card(self) -> str:
        return self.waiting["pendingToolCalls"][0]["toolCallId"]

    @functools.cached_property
    def failed(self) -> str:
        return self.run_of("fail", "run.failed")["runId"]

    @functools.cached_property
    def grant(self) -> str:
        waiting = self.run_of("pay", "run.waiting_tool")
        body = {
            "toolCallId": waiting["pendingToolCalls"][0]["toolCallId"],
            "result": {"approved": True, "remember": "tool"},
        }
        with self.ada.listen(self.space) as ears:
            self.ada.post(f"/api/runs/{waiting['runId']}/tool-results", body)
            ears.wait_for("run.completed", runId=waiting["runId"])
        [grant] = self.ada.get(f"/api/spaces/{self.space}/grants")["grants"]
        return grant["id"]

    @functools.cached_property
    def notes(self) -> dict[str, Any]:
        self.run_of("note", "run.completed")
        kept = {
            what: self.ada.get(f"/api/agents/{self.agent}/{what}")[what][0] for what in ("goals", "plans")
        }
        return {"goal": kept["goals"]["id"], "plan": kept["plans"]["id"]}

    @property
    def goal(self) -> str:
        return self.notes["goal"]

    @property
    def plan(self) -> str:
        return self.notes["plan"]

    @property
    def memory(self) -> str:
        assert self.notes
        return "colour"

    @functools.cached_property
    def invite(self) -> str:
        made = self.ada.post(f"/api/spaces/{self.space}/invites", {}, expect=201)
        return made["url"].rsplit("/", 1)[1]

    @functools.cached_property
    def guest(self) -> str:
        """Somebody who can be erased."""
        return self.town.house.person(f"guest-{self.number}").id

    @functools.cached_property
    def token(self) -> str:
        return self.town.house.admin.post(f"/api/entities/{self.agent}/tokens", expect=201)["id"]

    def state(self) -> str:
        """Everything that could have been changed, as the admin sees it."""
        get = self.town.house.admin.get
        paths = [f"/api/spaces/{self.space}{rest}" for rest in ("", "/members", "/messages", "/grants")]
        paths += [f"/api/agents/{self.agent}{rest}" for rest in ("", "/memories", "/goals", "/plans")]
        paths += [f"/api/runs?spaceId={self.space}", f"/api/entities/{self.agent}/tokens", "/api/spaces"]
        return json.dumps([get(path) for path in paths])
