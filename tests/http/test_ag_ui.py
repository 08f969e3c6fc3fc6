"""AG-UI, spoken with the real client."""

from typing import Any

from tests.clients.node import Node
from tests.servers.fake_openai import Answer, FakeOpenAI, hold, text
from tests.servers.roomful import Caller, Roomful, openai


def client(who: Caller, agent_id: str, thread_id: str) -> Node:
    return Node("ag_ui.mjs", url=who.house.url, token=who.token, agentId=agent_id, threadId=thread_id)


def types(node: Node) -> list[str]:
    return [event["type"] for event in node.noted("event")]


def test_a_text_is_told_as_it_is_written(house: Roomful, model: FakeOpenAI) -> None:
    ada = house.person("ada")
    house.agent("echo", openai(model.base_url), speaks="text")
    model.answer(Answer([*text("Hello "), hold(), *text("world.")]))
    with client(ada, "echo", "our-thread") as node:
        sending = node.begin("send", text="hi", id="m1")
        node.wait_for("messages", lambda messages: messages[-1].get("content") == "Hello ")
        model.release()
        done: dict[str, Any] = sending.result(30)

        [asked, said] = done["messages"]
        assert asked == {"id": "m1", "role": "user", "content": "hi"}
        assert said == {
            "id": said["id"],
            "role": "assistant",
            "content": "Hello world.",
            "metadata": {"roomful": {"entityId": "echo"}},
        }
        [started, *_, finished] = node.noted("event")
        assert started["type"] == "RUN_STARTED"
        assert started["threadId"] == finished["threadId"] == "our-thread"
        assert started["runId"] == finished["runId"]
        assert finished["outcome"] == {"type": "success"}
        assert node.noted("warning") == []
        assert [message["parts"][0]["id"] for message in ada.messages("our-thread")][1] == said["id"]
        run = ada.get(f"/api/runs/{started['metadata']['roomful']['runId']}")
        assert run["status"] == "completed"
    with client(ada, "echo", "our-thread") as node:
        assert node.call("replay")["messages"] == done["messages"]
        assert types(node) == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
