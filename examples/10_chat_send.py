"""An agent of the OpenAI Agents SDK, in a process of its own, takes part by `chat_send` alone.

    pip install 'roomful[agents-sdk]'
    python examples/10_chat_send.py

Its model is a script, so there is no key and no network. With REDIS_URL set the message goes to that server,
for others to read; without, to a bus in this process. Either way what was published is printed.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from roomful.agents_sdk import chat_send, get_bus, set_bus_for_testing
from roomful.bus import InMemoryBus


class ScriptedModel(Model):
    """Says what it was given to say, one answer after the other."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)

    async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
        return ModelResponse(output=[self._answers.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def says(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(
        id="said", type="message", role="assistant", status="completed", content=[content]
    )


def calls(name: str, **arguments: Any) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        type="function_call", call_id="call-1", name=name, arguments=json.dumps(arguments)
    )


async def main() -> None:
    set_tracing_disabled(True)
    os.environ.setdefault("AGENT_NAME", "Scout")
    if "REDIS_URL" not in os.environ:
        set_bus_for_testing(InMemoryBus())

    agent = Agent(
        name="Scout",
        instructions="Report what you find to Planner.",
        tools=[chat_send],
        model=ScriptedModel(
            calls("chat_send", recipient="agent:Planner", content="The pass is open.", conversation_id=None),
            says("I told Planner."),
        ),
    )
    result = await Runner.run(agent, "Is the pass open?", context={"conversation_id": "expedition"})

    for topic in ("chat:expedition", "chat:Planner"):
        message = get_bus().read(topic, limit=1)[0]
        print(topic, json.dumps(message.payload))
    print(result.final_output)


if __name__ == "__main__":
    asyncio.run(main())
