"""Other providers, through pydantic-ai."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence

import pytest

pytest.importorskip("pydantic_ai")

from pydantic_ai import exceptions
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.test import TestModel as CallEverything
from pydantic_ai.providers.openai import OpenAIProvider

from roomful.domain import deltas
from roomful.domain.agents import ModelRef
from roomful.domain.deltas import (
    AskedCall,
    AssistantMessage,
    CallOpened,
    CallPiece,
    ModelDelta,
    ReasoningPiece,
    SystemMessage,
    TextPiece,
    ToolMessage,
    UsageReport,
    UserMessage,
)
from roomful.domain.errors import Invalid
from roomful.domain.runs import Usage
from roomful.models import ModelShelf
from roomful.models.pydantic_ai import PydanticAIModel
from tests.models.asking import PATIENCE, Said, gather, joined, opened, request_to
from tests.servers.fake_openai import HANG, Answer, FakeOpenAI, call, interleave, status, text, usage

Deltas = AsyncIterator[str | dict[int, DeltaToolCall] | dict[int, DeltaThinkingPart]]


def heard(
    model: Model, *messages: deltas.ModelMessage, silence_seconds: float = PATIENCE
) -> tuple[list[ModelDelta], str]:
    async def run() -> tuple[list[ModelDelta], str]:
        asked = PydanticAIModel(model)
        request = request_to(None, *messages, name="other:fake", silence_seconds=silence_seconds)
        batches, fault = await gather(asked, request)
        await asked.close()
        return [delta for batch in batches for delta in batch], fault.code if fault else ""

    return asyncio.run(run())


def chat(server: FakeOpenAI) -> OpenAIChatModel:
    return OpenAIChatModel("fake", provider=OpenAIProvider(base_url=server.base_url, api_key="none"))


def test_fragments_pass_one_to_one() -> None:
    async def answer(messages: list[ModelMessage], info: AgentInfo) -> Deltas:
        yield {0: DeltaThinkingPart(content="Hm")}
        yield "Well"
        yield ", yes"
        yield {1: DeltaToolCall("showCard", '{"a"', tool_call_id="x")}
        yield {1: DeltaToolCall(json_args=":")}
        yield {2: DeltaToolCall("showCard", tool_call_id="x2")}
        yield {1: DeltaToolCall(json_args='"b"}')}
        yield {2: DeltaToolCall(json_args="{}")}

    got, fault = heard(FunctionModel(stream_function=answer))

    assert fault == ""
    assert isinstance(got.pop(), UsageReport)
    assert got == [
        ReasoningPiece("Hm"),
        TextPiece("Well"),
        TextPiece(", yes"),
        CallOpened(0, "showCard", "x"),
        CallPiece(0, '{"a"'),
        CallPiece(0, ":"),
        CallOpened(1, "showCard", "x2"),
        CallPiece(0, '"b"}'),
        CallPiece(1, "{}"),
    ]


def test_arguments_that_come_whole_are_one_piece() -> None:
    got, fault = heard(CallEverything())

    assert fault == ""
    name, arguments = joined(got).calls[0]
    assert (name, sorted(json.loads(arguments))) == ("showCard", [])


def test_the_history_keeps_its_order_and_our_ids() -> None:
    seen: list[ModelMessage] = []

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> Deltas:
        seen.extend(messages)
        assert [tool.name for tool in info.function_tools] == ["showCard"]
        yield "ok"

    heard(
        FunctionModel(stream_function=answer),
        SystemMessage("Be kind."),
        UserMessage("Hi"),
        AssistantMessage("Well", (AskedCall("call_1", "showCard", '{"a"'),)),
        ToolMessage("call_1", "broken"),
        UserMessage("And?", ({"b": 1},)),
    )

    parts = [[(type(part), part) for part in message.parts] for message in seen]
    kinds = [[kind for kind, _ in each] for each in parts]
    assert [type(message) for message in seen] == [ModelRequest, ModelResponse, ModelRequest]
    assert kinds == [
        [SystemPromptPart, UserPromptPart],
        [TextPart, ToolCallPart],
        [ToolReturnPart, UserPromptPart],
    ]
    asked, returned, told = parts[1][1][1], parts[2][0][1], parts[2][1][1]
    assert isinstance(asked, ToolCallPart)
    assert isinstance(returned, ToolReturnPart)
    assert isinstance(told, UserPromptPart)
    assert (asked.tool_call_id, asked.args) == ("call_1", '{"malformed":"{\\"a\\""}')
    assert (returned.tool_name, returned.tool_call_id, returned.content) == ("showCard", "call_1", "broken")
    assert told.content == ["And?", '[attachment {"b":1}]']


def test_a_real_provider_streams_calls_and_usage() -> None:
    calls = interleave(
        call("showCard", {"a": "ü"}, size=2, id="a"), call("showCard", {"b": 1}, size=5, index=1, id="b")
    )
    with FakeOpenAI([Answer([*text("hello"), *calls, usage(5, 6)])]) as server:
        assert joined(*heard(chat(server))) == Said(
            text="hello",
            calls={0: ("showCard", '{"a": "ü"}'), 1: ("showCard", '{"b": 1}')},
            usage=Usage(5, 6),
        )


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        (401, "model_refused"),
        (400, "model_rejected"),
        (429, "model_rate_limited"),
        (503, "model_unavailable"),
    ],
)
def test_a_refusal_is_told_and_not_repeated(code: int, fault: str) -> None:
    with FakeOpenAI([status(code)]) as server:
        assert heard(chat(server)) == ([], fault)
        assert len(server.requests) == 1


def test_nobody_there() -> None:
    with FakeOpenAI() as server:
        model = chat(server)

    assert heard(model) == ([], "model_unreachable")


def test_a_cut_is_told() -> None:
    with FakeOpenAI([Answer(text("hello"), cut_at=300)]) as server:
        assert heard(chat(server))[1] == "model_cut"


def test_silence_is_told() -> None:
    with FakeOpenAI([Answer([HANG]), Answer([*text("hell"), HANG])]) as server:
        assert heard(chat(server), silence_seconds=0.3) == ([], "model_silent")
        assert heard(chat(server), silence_seconds=0.3) == ([TextPiece("hell")], "model_silent")


def test_canceling_ends_the_request() -> None:
    async def run(server: FakeOpenAI) -> None:
        model = PydanticAIModel(chat(server))
        heard: asyncio.Queue[Sequence[ModelDelta]] = asyncio.Queue()
        asking = asyncio.create_task(model.ask(request_to(None), heard.put_nowait))
        async with asyncio.timeout(PATIENCE):
            assert await heard.get() == [TextPiece("hell")]
            asking.cancel()
            assert await asyncio.to_thread(server.requests[0].gone.wait, PATIENCE)
        await model.close()

    with FakeOpenAI([Answer([*text("hell"), HANG])]) as server:
        asyncio.run(run(server))


def test_nonsense_is_garbage() -> None:
    async def answer(messages: list[ModelMessage], info: AgentInfo) -> Deltas:
        yield "x"
        raise exceptions.UnexpectedModelBehavior("no sense")

    assert joined(*heard(FunctionModel(stream_function=answer))) == Said(text="x", fault="model_garbage")


def test_the_shelf_builds_and_keeps_a_model() -> None:
    shelf = ModelShelf(resolve_secret=opened, operator_keys={"deepseek": "sk-operator"})
    own = ModelRef("deepseek:deepseek-chat", None, "${env.KEY}")

    assert isinstance(shelf.find(own), PydanticAIModel)
    assert shelf.find(own) is shelf.find(own)
    assert shelf.find(own) is not shelf.find(ModelRef("deepseek:deepseek-chat"))
    asyncio.run(shelf.warm())
    asyncio.run(shelf.close())


def test_every_model_is_closed_with_the_shelf_also_one_that_had_to_make_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed: list[object] = []

    async def close(model: PydanticAIModel) -> None:
        closed.append(model)

    monkeypatch.setattr(PydanticAIModel, "close", close)
    shelf = ModelShelf(resolve_secret=str)
    refs = [ModelRef("deepseek:deepseek-chat", None, f"sk-{number}") for number in range(66)]
    found = [shelf.find(ref) for ref in refs]
    assert shelf.find(refs[-1]) is found[-1]
    assert (again := shelf.find(refs[0])) is not found[0]

    asyncio.run(shelf.close())
    assert closed == [*found, again]


@pytest.mark.parametrize(
    ("ref", "problem"),
    [
        (ModelRef("nobody:knows"), "'nobody:knows' cannot be had"),
        (ModelRef("deepseek:x", "http://127.0.0.1:1/v1", "sk-x"), "a baseUrl is for openai:NAME"),
        (ModelRef("anthropic:claude-sonnet-4-5"), "'anthropic:claude-sonnet-4-5'"),
    ],
    ids=["unknown", "baseUrl", "not installed or no key"],
)
def test_what_cannot_be_had_is_said(monkeypatch: pytest.MonkeyPatch, ref: ModelRef, problem: str) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)

    with pytest.raises(Invalid, match=problem):
        ModelShelf(resolve_secret=opened).find(ref)
