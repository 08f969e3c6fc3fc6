"""What the tests of AG-UI share: real clients, and what they heard."""

from typing import Any

from tests.clients.node import Node
from tests.servers.roomful import Caller

FORM: dict[str, Any] = {
    "name": "form",
    "description": "Ask the people.",
    "executionType": "basic",
    "execution": {"mode": "no-execution"},
    "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}},
}


def client(who: Caller, agent_id: str, thread_id: str) -> Node:
    return Node("ag_ui.mjs", url=who.house.url, token=who.token, agentId=agent_id, threadId=thread_id)


def replayed(who: Caller, agent_id: str, thread_id: str, query: str = "") -> list[dict[str, Any]]:
    """The thread as somebody has it who opens it now, until its run ends or waits."""
    with client(who, agent_id, thread_id) as node:
        messages = node.call("replay", query=query)["messages"]
        assert node.noted("warning") == []
        return messages


def events(node: Node, *types: str) -> list[dict[str, Any]]:
    """All of these types; all at all when none is named."""
    return [event for event in node.noted("event") if not types or event["type"] in types]


def types(node: Node) -> list[str]:
    """Each once, where it repeats itself."""
    heard = [event["type"] for event in node.noted("event")]
    return [type for at, type in enumerate(heard) if at == 0 or heard[at - 1] != type]


def run_id(node: Node) -> str:
    return node.wait_for("event", lambda event: event["type"] == "RUN_STARTED")["metadata"]["roomful"][
        "runId"
    ]


def flat(messages: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """What a reader of the list sees: words, calls with their arguments, results."""
    seen: list[tuple[Any, ...]] = []
    for message in messages:
        if message.get("content") is not None:
            seen.append((message["role"], message["content"]))
        functions = [call["function"] for call in message.get("toolCalls", [])]
        seen += [("call", function["name"], function["arguments"]) for function in functions]
    return seen
