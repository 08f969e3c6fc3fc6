"""What a provider can do wrong, and how it is told."""

import asyncio
import itertools
import socket

import pytest

from roomful.domain.deltas import ModelFailed
from roomful.domain.errors import Invalid
from roomful.models.openai import OpenAIModel
from tests.models.asking import Said, ask, fault_of, gather, request_to
from tests.servers.fake_openai import (
    CUT,
    HANG,
    Answer,
    FakeOpenAI,
    call,
    delta,
    endless,
    error,
    html,
    pause,
    raw,
    status,
    text,
    usage,
)
from tests.servers.loopback import listening_at

SECRET = "sk-proj-0123456789abcdefghijklmnop"


@pytest.mark.parametrize(
    ("code", "name", "retry"),
    [
        (400, "model_rejected", False),
        (401, "model_refused", False),
        (403, "model_refused", False),
        (404, "model_rejected", False),
        (307, "model_rejected", False),
        (429, "model_rate_limited", True),
        (500, "model_unavailable", True),
        (502, "model_unavailable", True),
        (503, "model_unavailable", True),
        (504, "model_unavailable", True),
        (529, "model_unavailable", True),
    ],
)
def test_a_status_says_whether_to_ask_again(code: int, name: str, retry: bool) -> None:
    with FakeOpenAI([status(code, location="http://127.0.0.1:1/")]) as server:
        fault = fault_of(request_to(server.base_url))

    assert (fault.code, fault.retry) == (name, retry)
    assert str(code) in fault.message
    assert len(server.requests) == 1


@pytest.mark.parametrize("code", [400, 401, 403, 429, 500])
def test_no_secret_and_no_page_gets_into_an_error(code: int) -> None:
    said = f'{{"error": {{"message": "Bad key {SECRET} or sk-proj-0123****mnop\\nsee {"x" * 5000}"}}}}'
    page = f"<html>{SECRET}</html>"
    with FakeOpenAI(
        [status(code, said), status(code, page), status(code, f"plain {SECRET} words")]
    ) as server:
        faults = [fault_of(request_to(server.base_url, api_key=SECRET)) for _ in range(3)]

    for fault in faults:
        assert SECRET not in fault.message
        assert "0123" not in fault.message
        assert "html" not in fault.message
        assert "\n" not in fault.message
        assert len(fault.message) < 400


def test_a_short_key_is_a_secret_too() -> None:
    with FakeOpenAI([status(400, '{"error": "Not with hunter2, the key."}')]) as server:
        fault = fault_of(request_to(server.base_url, api_key="hunter2"))

    assert (
        fault.message == "The provider of openai:fake rejected the request (HTTP 400): Not with ***, the key."
    )


def test_a_refused_key_says_what_to_check() -> None:
    with FakeOpenAI([status(401)]) as server:
        fault = fault_of(request_to(server.base_url))

    assert fault.message == "The provider of openai:fake refused the key (HTTP 401): check the model's apiKey"


def test_an_error_whose_body_never_ends_is_told_in_time() -> None:
    with FakeOpenAI([Answer([raw(b"half"), HANG], status=500)]) as server:
        assert fault_of(request_to(server.base_url)).code == "model_unavailable"


def test_nobody_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    fault = fault_of(request_to(f"http://127.0.0.1:{port}/v1"))

    assert (fault.code, fault.retry) == ("model_unreachable", True)
    assert f"127.0.0.1:{port}" in fault.message


@pytest.mark.parametrize(
    ("reply", "code"),
    [(b"", "model_unreachable"), (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "model_garbage")],
    ids=["closes", "speaks something else"],
)
def test_no_http_server(reply: bytes, code: str) -> None:
    async def run() -> ModelFailed | None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(reply)

        async with listening_at(serve) as port:
            model = OpenAIModel(resolve_secret=str)
            _, fault = await gather(model, request_to(f"http://127.0.0.1:{port}/v1"))
            await model.close()
        return fault

    fault = asyncio.run(run())
    assert fault is not None
    assert fault.code == code


def test_every_cut_of_a_story_is_a_cut() -> None:
    story = [*text("größer"), *call("showCard", {"a": "🚀"}, size=2)]
    content = Answer(story).content()
    whole = content.index(b'"stop"') + len(b'"stop"}]}')
    positions = range(0, len(content), 7)
    with FakeOpenAI([Answer(story, cut_at=at) for at in positions]) as server:
        answers = ask(*[request_to(server.base_url)] * len(positions))

    for at, said in zip(positions, answers, strict=True):
        assert said.fault == ("model_cut" if at < whole else ""), at
        assert "größer".startswith(said.text)
    assert answers[-1] == Said(text="größer", calls={0: ("showCard", '{"a": "🚀"}')})


def test_a_cut_inside_a_character_loses_only_what_was_cut() -> None:
    story = [*text("ab"), delta({"content": "🚀"})]
    inside = Answer(story).content().index("🚀".encode()) + 2
    with FakeOpenAI([Answer(story, cut_at=inside)]) as server:
        assert ask(request_to(server.base_url)) == [Said(text="ab", fault="model_cut")]


def test_a_cut_connection_may_be_asked_again() -> None:
    with FakeOpenAI([Answer([*text("ab"), CUT]), Answer(text("abcd"))]) as server:
        request = request_to(server.base_url)
        assert ask(request, request) == [Said(text="ab", fault="model_cut"), Said(text="abcd")]


@pytest.mark.parametrize("pieces", [[HANG], [*text("ab"), HANG]], ids=["from the start", "in the middle"])
def test_silence_is_told(pieces: list[bytes]) -> None:
    with FakeOpenAI([Answer(pieces)]) as server:
        fault = fault_of(request_to(server.base_url, silence_seconds=0.2))

    assert (fault.code, fault.retry) == ("model_silent", False)
    assert fault.message == "openai:fake said nothing for 0.2 s"


@pytest.mark.parametrize("nothing", [b"\n", b": still here\n\n", b"data: {}\n\n"], ids=str)
@pytest.mark.parametrize("begun", [[], text("ab")], ids=["from the start", "in the middle"])
def test_bytes_that_say_nothing_are_silence(begun: list[bytes], nothing: bytes) -> None:
    drip = itertools.cycle([nothing, pause(0.02)])
    with FakeOpenAI([Answer(itertools.chain(begun, drip))]) as server:
        fault = fault_of(request_to(server.base_url, silence_seconds=0.3))

    assert fault.message == "openai:fake said nothing for 0.3 s"


def test_a_web_page_is_garbage() -> None:
    with FakeOpenAI([html()]) as server:
        fault = fault_of(request_to(server.base_url))

    assert fault.code == "model_garbage"
    assert "<!doctype html>" in fault.message


def test_an_endless_answer_is_too_large() -> None:
    with FakeOpenAI([endless(), endless(call("showCard", "x" * 500_000, size=500_000)[1])]) as server:
        request = request_to(server.base_url)
        codes = [said.fault for said in ask(request, request)]

    assert codes == ["model_too_large", "model_too_large"]


@pytest.mark.parametrize(
    ("fields", "retry"),
    [
        ({"code": 429}, True),
        ({"code": "503"}, True),
        ({"type": "overloaded_error"}, True),
        ({"code": "rate_limit_exceeded"}, True),
        ({"type": "invalid_request_error", "code": None}, False),
        ({}, False),
    ],
)
def test_an_error_inside_the_stream_is_told(fields: dict[str, object], retry: bool) -> None:
    with FakeOpenAI([Answer([*text("ab"), error(f"Not with {SECRET}", **fields)])]) as server:
        fault = fault_of(request_to(server.base_url, api_key=SECRET))

    assert (fault.code, fault.retry) == ("model_error", retry)
    assert fault.message == "The provider of openai:fake broke off: Not with ***"


def test_what_was_said_before_a_fault_was_said() -> None:
    pieces = [*text("ab"), *call("showCard", '{"a"'), error("over"), usage(1, 1)]
    with FakeOpenAI([Answer(pieces)]) as server:
        assert ask(request_to(server.base_url)) == [
            Said(text="ab", calls={0: ("showCard", '{"a"')}, fault="model_error")
        ]


def test_openai_itself_needs_a_key() -> None:
    fault = fault_of(request_to(None))

    assert fault.code == "model_refused"
    assert "needs a key" in fault.message


def test_a_key_that_cannot_be_had_or_sent() -> None:
    def refuse(_: str) -> str:
        raise Invalid("X is not listed in ROOMFUL_TOOL_ENV")

    async def run(request_key: str, model: OpenAIModel) -> str:
        _, fault = await gather(model, request_to("http://127.0.0.1:1/v1", api_key=request_key))
        await model.close()
        assert fault is not None
        return fault.message

    messages = [
        asyncio.run(run("${env.X}", OpenAIModel(resolve_secret=refuse))),
        asyncio.run(run("sk-a\r\nX-Evil: 1", OpenAIModel(resolve_secret=str))),
    ]
    assert messages == [
        "The key of openai:fake cannot be had: X is not listed in ROOMFUL_TOOL_ENV",
        "The key of openai:fake has characters that no key can have",
    ]
