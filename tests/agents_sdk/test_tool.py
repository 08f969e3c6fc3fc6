"""`chat_send` as the SDK and its model see it."""

import asyncio
import importlib
import json
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from agents import FunctionTool
from agents.tool_context import ToolContext

import roomful.agents_sdk
from roomful.agents_sdk import chat_send, set_bus_for_testing
from roomful.bus import Bus, BusMessage, InMemoryBus
from roomful.domain.errors import Unavailable
from tests.requirements import requirement


@pytest.fixture(autouse=True)
def bus(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bus]:
    for name in ("AGENT_NAME", "CHAT_TOOL_CONVERSATION_ID"):
        monkeypatch.delenv(name, raising=False)
    bus = InMemoryBus()
    set_bus_for_testing(bus)
    yield bus
    set_bus_for_testing(None)


def call(context: Any = None, **arguments: Any) -> Any:
    text = json.dumps(arguments)
    place = ToolContext(context=context, tool_name="chat_send", tool_call_id="call-1", tool_arguments=text)

    async def invoke() -> Any:
        return await chat_send.on_invoke_tool(place, text)

    return asyncio.run(invoke())


@requirement("B-03")
def test_the_model_is_offered_a_recipient_a_content_and_a_conversation_or_null() -> None:
    assert isinstance(chat_send, FunctionTool)
    assert chat_send.name == "chat_send"
    schema = chat_send.params_json_schema
    assert {name: given.get("type", given.get("anyOf")) for name, given in schema["properties"].items()} == {
        "recipient": "string",
        "content": "string",
        "conversation_id": [{"type": "string"}, {"type": "null"}],
    }


@requirement("B-03")
def test_a_call_answers_what_send_message_answers(bus: Bus) -> None:
    answer = call(recipient="chat:conv1", content="hello", conversation_id=None)
    [message] = bus.read("chat:conv1")
    assert answer == {"ok": True, "envelope_id": message.payload["id"], "published_to": ["chat:conv1"]}
    assert call(recipient="chat:conv1", content="the field may be left out")["ok"]


@pytest.mark.parametrize("context", [{"conversation_id": "two"}, SimpleNamespace(conversation_id="two")])
@requirement("B-03", "B-05")
def test_the_run_context_tells_the_conversation_unless_the_model_names_one(context: Any) -> None:
    assert call(context, recipient="agent:Dev", content="a")["published_to"] == ["chat:two", "chat:Dev"]
    named = call(context, recipient="agent:Dev", content="a", conversation_id="one")
    assert named["published_to"] == ["chat:one", "chat:Dev"]


@requirement("B-04", "B-05")
def test_the_model_is_told_what_was_wrong() -> None:
    assert call(recipient="room:1", content="a") == (
        "The message was not sent: recipient must be 'chat:{conversation_id}' or 'agent:{Name}'"
    )
    assert call(recipient="agent:Dev", content="a") == (
        "The message was not sent: conversation_id not available for agent recipient"
    )


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Unavailable("The bus does not answer."), "The message was not sent: The bus does not answer."),
        (
            KeyError("secret"),
            "The message was not sent: something went wrong. Do not try again at once.",
        ),
    ],
)
def test_the_model_is_told_that_the_bus_failed_and_nothing_of_unforeseen_errors(
    error: Exception, told: str
) -> None:
    class Failing(InMemoryBus):
        def publish(self, topic: str, message: BusMessage) -> str:
            raise error

    set_bus_for_testing(Failing())
    assert call(recipient="chat:conv1", content="a") == told


def test_without_the_sdk_it_says_which_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "agents", None)
    monkeypatch.delitem(sys.modules, "roomful.agents_sdk.tool")
    with pytest.raises(ImportError, match=r"pip install 'roomful\[agents-sdk\]'"):
        importlib.import_module("roomful.agents_sdk.tool")
    with pytest.raises(AttributeError, match="has no attribute 'chat_receive'"):
        _ = roomful.agents_sdk.chat_receive
