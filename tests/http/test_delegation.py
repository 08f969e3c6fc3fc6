"""A sub-agent's work: seen live inside the part that called it, and the same after a reload."""

import json
from typing import Any

import pytest

from tests.requirements import requirement
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, call, text
from tests.servers.roomful import Caller, Listener, Roomful, fold, openai

SEARCH: dict[str, Any] = {
    "name": "search",
    "description": "Find something.",
    "executionType": "basic",
    "execution": {"mode": "static", "output": {"found": ["{{query}}"]}},
    "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}},
}


def delegate(name: str, *tools: Any, **more: Any) -> dict[str, Any]:
    """A tool that calls a sub-agent of this name."""
    config = {"name": name.title(), "instructions": f"You are {name}.", "tools": list(tools), **more}
    return {
        "name": f"ask_{name}",
        "description": f"Ask {name}.",
        "executionType": "ai-agent",
        "visibility": "full",
        "execution": {"agentConfig": config},
    }


class Script:
    """Answers by who is asked: each agent is found by the first line of its instructions."""

    def __init__(self, **answers: list[Answer]) -> None:
        self.answers = answers

    def __call__(self, asked: Asked) -> Answer:
        who = asked.messages[0]["content"].split("You are ")[1].split(".")[0].split(" (")[0].lower()
        return self.answers[who].pop(0)


def checked(listener: Listener, who: Caller, space_id: str) -> list[dict[str, Any]]:
    """What was seen live is what a reload shows; gives it."""
    state = fold(listener.events)
    assert state == who.messages(space_id)
    return state


@pytest.fixture
def ada(house: Roomful) -> Caller:
    return house.person("ada")


@requirement("R-01")
@requirement("R-02")
@requirement("T-06")
def test_a_sub_agents_calls_and_words_are_seen_as_they_happen(house: Roomful, ada: Caller) -> None:
    script = Script(
        boss=[Answer(call("ask_scout", {"prompt": "find it"})), Answer(text("Thanks."))],
        scout=[
            Answer([*text("Looking. "), *call("search", {"query": "x"}, id="dup")]),
            Answer([*call("search", {"query": "y"}, id="dup")]),
            Answer(text("Found x and y.")),
        ],
    )
    with FakeOpenAI(script) as model:
        house.agent("boss", openai(model.base_url), delegate("scout", SEARCH), instructions="You are boss.")
        house.space("room", "ada", "boss")
        with ada.listen("room") as listener:
            ada.say("room", "go")
            listener.wait_for("run.completed")
            [_, message] = checked(listener, ada, "room")
        [part] = message["parts"]
        assert part["status"] == "complete"
        child = part["child"]
        assert child["text"] == "Looking. Found x and y."
        assert part["result"] == {
            "text": child["text"],
            "subAgentThreadId": child["runId"],
            "subAgentResourceId": "boss-ask_scout",
        }
        assert [(one["toolName"], one["args"], one["result"]) for one in child["calls"]] == [
            ("search", {"query": "x"}, {"found": ["x"]}),
            ("search", {"query": "y"}, {"found": ["y"]}),
        ]
        assert len({one["toolCallId"] for one in child["calls"]}) == 2
        assert (child["status"], child["finishReason"], child["name"]) == ("completed", "stop", "Scout")
        told = json.loads(model.requests[-1].messages[-1]["content"])
        assert told == part["result"]
        names = [name for name in listener.names() if name.startswith("subagent.")]
        assert names[0] == "subagent.call" or names[0] == "subagent.text"
        assert names[-1] == "subagent.end"
        assert names.count("subagent.call") == 4
