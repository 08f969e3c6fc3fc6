"""Asking a model and keeping what it said."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from roomful.domain.agents import ModelRef
from roomful.domain.deltas import (
    CallOpened,
    CallPiece,
    ModelDelta,
    ModelFailed,
    ModelMessage,
    ModelRequest,
    ReasoningPiece,
    TextPiece,
    UsageReport,
    UserMessage,
)
from roomful.domain.ports import Model
from roomful.domain.runs import Usage
from roomful.domain.tools import ModelTool
from roomful.models.openai import OpenAIModel

PATIENCE = 20.0
CARD = ModelTool("showCard", "Shows a card.", {"type": "object", "properties": {"a": {"type": "string"}}})


@dataclass
class Said:
    """An answer put together: what a reader has when the stream is over."""

    text: str = ""
    reasoning: str = ""
    calls: dict[int, tuple[str, str]] = field(default_factory=dict[int, tuple[str, str]])
    usage: Usage | None = None
    fault: str = ""


def joined(deltas: Sequence[ModelDelta], fault: str = "") -> Said:
    said = Said(fault=fault)
    for delta in deltas:
        match delta:
            case TextPiece(text=text):
                said.text += text
            case ReasoningPiece(text=text):
                said.reasoning += text
            case CallOpened(index=index, name=name):
                assert index not in said.calls, "a call opens once"
                said.calls[index] = (name, "")
            case CallPiece(index=index, arguments=arguments):
                name, before = said.calls[index]
                said.calls[index] = (name, before + arguments)
            case UsageReport(usage=usage):
                assert said.usage is None, "usage is reported once"
                said.usage = usage
    return said


def request_to(
    base_url: str | None,
    *messages: ModelMessage,
    name: str = "openai:fake",
    api_key: str | None = None,
    tools: tuple[ModelTool, ...] = (CARD,),
    silence_seconds: float = PATIENCE,
) -> ModelRequest:
    return ModelRequest(
        ref=ModelRef(name, base_url, api_key),
        agent_id="agent",
        messages=messages or (UserMessage("Hello"),),
        tools=tools,
        silence_seconds=silence_seconds,
    )


async def gather(model: Model, request: ModelRequest) -> tuple[list[list[ModelDelta]], ModelFailed | None]:
    batches: list[list[ModelDelta]] = []

    def hear(batch: Sequence[ModelDelta]) -> None:
        assert batch, "a batch holds something"
        batches.append(list(batch))

    try:
        async with asyncio.timeout(PATIENCE):
            await model.ask(request, hear)
    except ModelFailed as fault:
        return batches, fault
    return batches, None


def opened(secret: str) -> str:
    return {"${env.KEY}": "sk-secret-of-the-agent"}.get(secret, secret)


def ask(*requests: ModelRequest, operator_key: str | None = None) -> list[Said]:
    """Each of them after the other, by one adapter."""

    async def run() -> list[Said]:
        model = OpenAIModel(resolve_secret=opened, operator_key=operator_key)
        try:
            return [
                joined([delta for batch in batches for delta in batch], fault.code if fault else "")
                for batches, fault in [await gather(model, request) for request in requests]
            ]
        finally:
            await model.close()

    return asyncio.run(run())


def fault_of(request: ModelRequest, operator_key: str | None = None) -> ModelFailed:
    async def run() -> ModelFailed:
        model = OpenAIModel(resolve_secret=opened, operator_key=operator_key)
        try:
            _, fault = await gather(model, request)
        finally:
            await model.close()
        assert fault is not None
        return fault

    return asyncio.run(run())
