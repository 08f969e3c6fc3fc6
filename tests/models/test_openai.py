"""The adapter against a real server."""

import asyncio
import time
from collections.abc import Callable, Sequence

import pytest
import uvloop

from roomful.domain.deltas import (
    AskedCall,
    AssistantMessage,
    CallOpened,
    CallPiece,
    ModelDelta,
    SystemMessage,
    TextPiece,
    ToolMessage,
    UsageReport,
    UserMessage,
)
from roomful.domain.runs import Usage
from roomful.models.openai import OpenAIModel
from tests.models.asking import CARD, PATIENCE, Said, ask, gather, opened, request_to
from tests.servers.fake_openai import (
    HANG,
    Answer,
    Asked,
    FakeOpenAI,
    call,
    comment,
    finish,
    hold,
    interleave,
    reasoning,
    text,
    usage,
)


def test_an_answer_streams_as_it_comes() -> None:
    async def run() -> None:
        pieces = [
            *reasoning("Hm", size=2),
            hold(),
            *text("Hi", size=2),
            hold(),
            *call("showCard", "{}", size=1),
        ]
        with FakeOpenAI([Answer([*pieces, usage(5, 6)])]) as server:
            model = OpenAIModel(resolve_secret=opened)
            heard: asyncio.Queue[Sequence[ModelDelta]] = asyncio.Queue()
            asking = asyncio.create_task(model.ask(request_to(server.base_url), heard.put_nowait))
            async with asyncio.timeout(PATIENCE):
                assert [*await heard.get()] != []
                server.release()
                assert [*await heard.get()] == [TextPiece("Hi")]
                server.release()
                await asking
            rest = [delta for _ in range(heard.qsize()) for delta in heard.get_nowait()]
            assert rest[0] == CallOpened(0, "showCard", "call_0")
            assert "".join(piece.arguments for piece in rest if isinstance(piece, CallPiece)) == "{}"
            assert rest[-1] == UsageReport(Usage(5, 6))
            await model.close()

    asyncio.run(run())


@pytest.mark.parametrize("size", [1, 2, 7, 20])
@pytest.mark.parametrize("slices", [(), (1,), (5, 1, 3), (1000,)])
def test_fragments_of_any_size_in_writes_of_any_size(size: int, slices: tuple[int, ...]) -> None:
    calls = interleave(
        call("showCard", {"a": "größer 🚀"}, size=size, id="a"),
        call("showCard", {"b": "é"}, splits=[1, 2, size], index=1, id="b"),
    )
    answer = Answer([comment("hello"), *text("größer 🚀", size=size), *calls, usage(1, 2)], slices=slices)
    with FakeOpenAI([answer]) as server:
        assert ask(request_to(server.base_url)) == [
            Said(
                text="größer 🚀",
                calls={0: ("showCard", '{"a": "größer 🚀"}'), 1: ("showCard", '{"b": "é"}')},
                usage=Usage(1, 2),
            )
        ]


def test_a_stream_without_an_end_mark_ends_with_its_finish_reason() -> None:
    with FakeOpenAI(
        [Answer(text("whole"), done=False), Answer([*text("whole"), finish("length")], cut_at=10_000)]
    ) as s:
        assert ask(request_to(s.base_url), request_to(s.base_url)) == [Said(text="whole"), Said(text="whole")]


def test_silence_after_a_whole_answer_does_no_harm() -> None:
    with FakeOpenAI([Answer([*text("whole"), finish(), HANG])]) as server:
        assert ask(request_to(server.base_url, silence_seconds=0.2)) == [Said(text="whole")]


def test_a_connection_is_used_again_also_when_the_answer_is_closed_late() -> None:
    whole = [*text("whole"), finish(), b"data: [DONE]\n\n"]

    async def run(server: FakeOpenAI) -> None:
        model = OpenAIModel(resolve_secret=opened)
        for number in range(3):
            assert await gather(model, request_to(server.base_url)) == ([[TextPiece("whole")]], None)
            server.release()
            assert await asyncio.to_thread(server.requests[number].answered.wait, PATIENCE)
        await model.close()

    with FakeOpenAI(lambda _: Answer([b"".join(whole), hold()], finish=False, done=False)) as server:
        asyncio.run(run(server))
        assert server.connections == 1


def test_a_server_that_never_closes_the_answer_does_not_hold_up_the_run() -> None:
    answer = Answer([*text("whole"), finish(), b"data: [DONE]\n\n", HANG])
    with FakeOpenAI([answer]) as server:
        began = time.monotonic()
        assert ask(request_to(server.base_url)) == [Said(text="whole")]
        assert time.monotonic() - began < 5
        assert server.requests[0].gone.wait(PATIENCE)


@pytest.mark.parametrize("at", ["in the middle", "before the first byte"])
def test_the_provider_sees_at_once_that_nobody_listens(at: str) -> None:
    async def run(server: FakeOpenAI) -> float:
        model = OpenAIModel(resolve_secret=opened)
        began = asyncio.Event()
        task = asyncio.create_task(model.ask(request_to(server.base_url), lambda _: began.set()))
        if at == "in the middle":
            await asyncio.wait_for(began.wait(), PATIENCE)
        else:
            await asyncio.to_thread(server.wait_for_requests, 1)
        left = time.monotonic()
        task.cancel()
        await asyncio.wait({task}, timeout=PATIENCE)
        assert await asyncio.to_thread(server.requests[0].gone.wait, PATIENCE)
        await model.close()
        return server.requests[0].gone_at - left

    def seconds() -> float:
        with FakeOpenAI([Answer([*begun, HANG])]) as server:
            return asyncio.run(run(server))

    begun = text("begun") if at == "in the middle" else []
    assert min(seconds() for _ in range(3)) < 0.1


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_a_slow_listener_is_not_a_silent_provider(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def run(server: FakeOpenAI) -> list[Sequence[ModelDelta]]:
        model = OpenAIModel(resolve_secret=opened)
        heard: list[Sequence[ModelDelta]] = []

        def hear(batch: Sequence[ModelDelta]) -> None:
            heard.append(batch)
            if len(heard) == 1:
                server.release()
                time.sleep(0.7)  # nothing else goes on in this loop either

        await model.ask(request_to(server.base_url, silence_seconds=0.3), hear)
        await model.close()
        return heard

    answer = Answer([*text("a"), hold(), *text("b")])
    with FakeOpenAI([answer]) as server, asyncio.Runner(loop_factory=loop) as runner:
        assert runner.run(run(server)) == [[TextPiece("a")], [TextPiece("b")]]


def test_many_answers_at_once_keep_apart() -> None:
    def answer(asked: Asked) -> Answer:
        return Answer(text(asked.messages[-1]["content"] * 20, size=3))

    async def run() -> None:
        with FakeOpenAI(answer) as server:
            model = OpenAIModel(resolve_secret=opened)
            texts = [f"<{number}>" for number in range(150)]
            asked = [gather(model, request_to(server.base_url, UserMessage(text))) for text in texts]
            answers = await asyncio.gather(*asked)
            for expected, (batches, fault) in zip(texts, answers, strict=True):
                heard = [piece.text for batch in batches for piece in batch if isinstance(piece, TextPiece)]
                assert (fault, "".join(heard)) == (None, expected * 20)
            await model.close()

    asyncio.run(run())


def test_the_request_is_what_the_wire_wants() -> None:
    messages = (
        SystemMessage("Be kind."),
        UserMessage("Hi"),
        AssistantMessage("", (AskedCall("call_1", "showCard", '{"a":"b"}'),)),
        ToolMessage("call_1", '{"ok":true}'),
        AssistantMessage("Well", (AskedCall("call_2", "showCard", '{"a"'), AskedCall("call_3", "stop", ""))),
        ToolMessage("call_2", "broken"),
        ToolMessage("call_3", "done"),
        AssistantMessage("Done."),
        UserMessage(
            "Look", ({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}, {"b": 1})
        ),
    )
    with FakeOpenAI([Answer(), Answer()]) as server:
        ask(request_to(server.base_url, *messages), request_to(server.base_url + "/?version=1", tools=()))
        asked, bare = server.requests

    assert asked.path == "/v1/chat/completions"
    assert asked.body == {
        "model": "fake",
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "showCard",
                    "description": "Shows a card.",
                    "parameters": CARD.parameters,
                },
            }
        ],
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": None, "tool_calls": [_told("call_1", "showCard", '{"a":"b"}')]},
            {"role": "tool", "tool_call_id": "call_1", "content": '{"ok":true}'},
            {
                "role": "assistant",
                "content": "Well",
                "tool_calls": [
                    _told("call_2", "showCard", '{"malformed":"{\\"a\\""}'),
                    _told("call_3", "stop", "{}"),
                ],
            },
            {"role": "tool", "tool_call_id": "call_2", "content": "broken"},
            {"role": "tool", "tool_call_id": "call_3", "content": "done"},
            {"role": "assistant", "content": "Done."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look"},
                    {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
                    {"type": "text", "text": '[attachment {"b":1}]'},
                ],
            },
        ],
    }
    assert "tools" not in bare.body
    assert bare.path == "/v1/chat/completions?version=1"


def test_a_very_long_history_is_sent() -> None:
    with FakeOpenAI([Answer(text("ok"))]) as server:
        assert ask(request_to(server.base_url, UserMessage("x" * 3_000_000))) == [Said(text="ok")]
        assert len(server.requests[0].messages[0]["content"]) == 3_000_000


def test_keys_go_where_they_belong() -> None:
    with FakeOpenAI(lambda _: Answer(text("ok"))) as server:
        ask(
            request_to(server.base_url),
            request_to(server.base_url, api_key="${env.KEY}"),
            request_to(server.base_url, api_key="sk-literal\n"),
            operator_key="sk-secret-of-the-operator",
        )
        sent = [asked.headers.get("authorization") for asked in server.requests]

    assert sent == [None, "Bearer sk-secret-of-the-agent", "Bearer sk-literal"]


def _told(call_id: str, name: str, arguments: str) -> dict[str, object]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
