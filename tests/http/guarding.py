"""A guarded room, a vault that not everybody there may read, and an agent that is in both."""

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.servers.fake_openai import Answer, FakeOpenAI, call, text
from tests.servers.inhouse import InHouse
from tests.servers.roomful import PATIENCE, Caller, Listener, Roomful, openai

UNSHOWN = "Something was not shown here: not everybody in this space may read where it comes from."
_numbers = itertools.count(1)


def _noting(name: str, **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"note": {"type": "string"}}}
    return {"name": name, "description": f"To {name}.", "inputSchema": schema, **more}


def _scout(visibility: str, **more: Any) -> dict[str, Any]:
    own = {"id": "scout", "name": "Scout", "instructions": "You are a scout."}
    return {
        "name": f"ask_scout_{visibility.replace('-', '_')}",
        "description": "Ask the scout.",
        "executionType": "ai-agent",
        "visibility": visibility,
        "execution": {"agentConfig": own | more},
        "inputSchema": {"type": "object", "properties": {"prompt": {"type": "string"}}},
    }


_ECHO = {"executionType": "basic", "execution": {"mode": "pass-through"}}
_FORM = {"executionType": "basic", "execution": {"mode": "no-execution"}}
_LEAF = _noting("look", **_ECHO, visibility="full")
_DEEP = {**_scout("full"), "name": "ask_deep"}
TOOLS: dict[str, list[dict[str, Any]]] = {
    "composite": [
        _noting("show", **_ECHO, visibility="full"),
        _noting("tick", **_ECHO, visibility="minimal"),
        _noting("form", **_FORM),
        _noting("board", executionType="basic", execution={"mode": "no-execution", "wait": False}),
        _noting("pay", **_ECHO, visibility="full", approval=True),
        _scout("full", tools=[_LEAF, _DEEP]),
        _scout("hidden"),
    ],
    "active": [
        _noting("show", **_ECHO, visibility="visible"),
        _noting("outcome", **_ECHO, visibility="result-only"),
        _noting("form", **_FORM),
        _noting("pay", **_ECHO, visibility="visible", approval=True),
        _scout("visible"),
        _scout("result-only"),
        _scout("hidden"),
    ],
    "display": [_noting("show", **_ECHO, displayTool=True)],
}
EVERYWHERE = ("text", "show", "form", "pay", "ask_scout", "words")
"""The ways in which a call shows itself; plain words come last, because they end a run."""


@dataclass
class Guarded:
    """Ada in the guarded `room`; Grace, and Rita who only reads, in the `vault`; Ada and Grace at the `desk`.
    The agent is everywhere, beside an idle one, and answers when mentioned. The ids are new each time."""

    house: Roomful
    model: FakeOpenAI
    dialect: str = "composite"
    more: dict[str, Any] = field(default_factory=dict[str, Any])
    flow: str = "guarded"

    def __post_init__(self) -> None:
        number = next(_numbers)
        self.secret = f"c4n4ry-{number}-91bd"
        self.ada, self.grace, self.rita = (
            self.house.person(f"{name}-{number}", name.title()) for name in ("ada", "grace", "rita")
        )
        tools = TOOLS[self.dialect]
        self.agent = self.house.agent(
            f"clerk-{number}",
            openai(self.model.base_url),
            *tools,
            dialect=self.dialect,
            **{"speaks": "both", "instructions": "You are a clerk."} | self.more,
        )
        idle = self.house.agent(f"idle-{number}", openai(self.model.base_url))
        agents = (self.agent, idle)
        self.room = self.house.space(f"room-{number}", f"{self.ada.id}:owner", *agents, flow=self.flow)
        self.vault = self.house.space(f"vault-{number}", self.grace.id, f"{self.rita.id}:reader", *agents)
        self.desk = self.house.space(f"desk-{number}", self.ada.id, self.grace.id, *agents)

    # What the model says.

    def reads(self, space_id: str | None = None) -> Answer:
        name = "read_messages" if self.dialect == "active" else "readSpaceMessages"
        return Answer(call(name, {"spaceId": space_id or self.vault}))

    def enters(self, space_id: str) -> Answer:
        return Answer(call("enter_space", {"spaceId": space_id}))

    def says(self, space_id: str, words: str, **more: Any) -> Answer:
        if self.dialect == "active":
            return Answer(call("send_message", {"text": words, **more}))
        return Answer(call("sendSpaceMessage", {"spaceId": space_id, "text": words, **more}))

    def calls(self, name: str, space_id: str | None = None, /, **args: Any) -> Answer:
        target = {} if self.dialect == "active" else {"targetSpaceId": space_id or self.room}
        return Answer(call(name, {**target, **args}))

    def shows(self, how: str, words: str | None = None) -> Answer:
        """A step that shows the secret in the room, if it may."""
        words = words or self.secret
        if how == "text":
            return self.says(self.room, words)
        if how == "words":
            return Answer(text(words))
        if how.startswith("ask_scout"):
            full = "visible" if self.dialect == "active" else "full"
            return self.calls(how if how != "ask_scout" else f"ask_scout_{full}", prompt=words)
        return self.calls(how, note=words)

    # What people do.

    def begins(self, who: Caller | None = None, space_id: str | None = None) -> str:
        who = who or self.ada
        return who.say(space_id or self.room, f"go @{self.agent}")["runs"][0]["runId"]

    def runs(self, space_id: str, *answers: Answer, who: Caller | None = None) -> str:
        """A whole run that waits for nobody."""
        self.model.answer(*answers, Answer(call("skipResponse", {})) if self.dialect != "active" else _OK)
        with self.grace.listen(space_id) as ears:
            run_id = self.begins(who or self.grace, space_id)
            ears.wait_for("run.completed", runId=run_id)
        return run_id

    @contextlib.contextmanager
    def watching(self) -> Iterator["Watch"]:
        with contextlib.ExitStack() as stack:
            yield Watch(
                self,
                stack.enter_context(self.ada.listen(self.room)),
                stack.enter_context(Listener(self.ada, "/api/stream", None, {"args": "ops"})),
                stack.enter_context(self.house.admin.listen(self.vault)),
            )

    def answers(self, who: Caller, card: dict[str, Any], result: Any, *, expect: int = 200) -> Any:
        body = {"toolCallId": card["toolCallId"], "result": result}
        return who.call("POST", f"/api/runs/{card['runId']}/tool-results", body, expect=expect)

    def told(self, request: int = -1) -> str:
        return self.model.requests[request].messages[-1]["content"]

    def parts(self, who: Caller | None = None, space_id: str | None = None) -> list[dict[str, Any]]:
        """What the agent shows."""
        said = (who or self.ada).messages(space_id or self.room)
        return [part for message in said if message["entityId"] == self.agent for part in message["parts"]]


_OK = Answer(call("get_my_runs", {}))


@dataclass
class Watch:
    """All that Ada can hear and read, and the operator's ears in the vault."""

    play: Guarded
    room: Listener
    all: Listener
    vault: Listener

    def card(self, number: int = 1) -> dict[str, Any]:
        """The so many-th question whether something may be shown in the room, once it waits."""

        def found(events: Sequence[Any]) -> dict[str, Any] | None:
            cards: dict[str, dict[str, Any]] = {}
            for event in events:
                for part in event.data.get("message", {}).get("parts", ()):
                    if part.get("status") == "waiting" and "toSpaceIds" in part.get("approval", {}):
                        cards[part["toolCallId"]] = part
            return [*cards.values()][number - 1] if len(cards) >= number else None

        return self.vault.wait(found)

    def ends(self, run_id: str, status: str = "completed") -> None:
        self.room.wait_for(f"run.{status}", runId=run_id)

    def everything(self, run_id: str | None = None) -> str:
        """All that has reached Ada until now, and all that she can ask for, as one text."""
        play, room = self.play, self.play.room
        for ears in (self.room, self.all):
            count = sum(1 for event in ears.events if self._is_mark(event))
            play.house.admin.post(f"/api/spaces/{room}/members", {"entityId": play.ada.id, "role": "owner"})
            ears.wait(lambda events, count=count: sum(map(self._is_mark, events)) > count)
        asked = [
            play.ada.get(f"/api/spaces/{room}/messages"),
            play.ada.get("/api/runs"),
            play.ada.get("/api/search", params={"q": play.secret}),
            *([play.ada.request("GET", f"/api/runs/{run_id}").text] if run_id else ()),
        ]
        with play.ada.listen(room) as late:
            late.wait_for("snapshot")
            heard = [event.data for ears in (self.room, self.all, late) for event in ears.events]
        return json.dumps([asked, heard])

    def _is_mark(self, event: Any) -> bool:
        return event.name == "member.joined" and event.data.get("spaceId") == self.play.room


def refuse_all(watch: Watch, count: int, check: Callable[[dict[str, Any]], None]) -> None:
    """Grace refuses each question as it comes."""
    for number in range(1, count + 1):
        card = watch.card(number)
        check(card)
        watch.play.answers(watch.play.grace, card, {"approved": False, "reason": f"no {number}"})


__all__ = ["EVERYWHERE", "PATIENCE", "TOOLS", "UNSHOWN", "Guarded", "InHouse", "Watch", "refuse_all"]
