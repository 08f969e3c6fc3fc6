"""An agent of the OpenAI Agents SDK, outside the gateway, talks with people in a Roomful space.

    pip install 'roomful[agents-sdk]'
    roomful serve --bus redis://localhost:6379/0     # with an agent of the kind `agent`, id scout, in a space
    AGENT_NAME=scout python examples/11_agent_outside.py

It waits on its own topic, chat:scout, for whoever mentions it, and answers by `chat_send` alone, into the
conversation it was asked in. Its model is a script, so there is no key. It goes on until it is stopped.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from roomful.agents_sdk import chat_send, get_bus
from roomful.bus import MessageEnvelope, chat_topic


class Parrot(Model):
    """Asked something, it calls `chat_send` with an answer; told what became of that, it is done."""

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        last = input if isinstance(input, str) else input[-1].get("content")
        output = answers(*json.loads(last)) if last else says("I answered.")
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def answers(conversation_id: str, sender: str, content: str) -> ResponseFunctionToolCall:
    arguments = {
        "recipient": f"chat:{conversation_id}",
        "content": f"You said: {content}",
        "conversation_id": None,
    }
    return ResponseFunctionToolCall(
        type="function_call", call_id="call-1", name="chat_send", arguments=json.dumps(arguments)
    )


def says(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(
        id="said", type="message", role="assistant", status="completed", content=[content]
    )


async def main() -> None:
    set_tracing_disabled(True)
    topic, bus = chat_topic(os.environ["AGENT_NAME"]), get_bus()
    agent = Agent(name="Scout", instructions="Answer.", tools=[chat_send], model=Parrot())
    seen = bus.read(topic, limit=1)
    last_id = seen[-1].id if seen else "0-0"
    print(f"waiting on {topic}", flush=True)
    while True:
        for message in await asyncio.to_thread(bus.read_blocking, topic, last_id):
            last_id = message.id
            letter = MessageEnvelope.model_validate(message.payload)
            question = json.dumps([letter.conversation_id, letter.sender, letter.content])
            result = await Runner.run(agent, question)
            print(f"{letter.sender}: {letter.content} -> {result.final_output}", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
