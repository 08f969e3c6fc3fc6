"""Chunks become deltas, wherever the reads cut the bytes."""

import itertools
import json
import sys
from collections.abc import Sequence
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roomful.domain.deltas import CallOpened, CallPiece, ModelDelta, ReasoningPiece, TextPiece, UsageReport
from roomful.domain.runs import Usage
from roomful.models.answer import Answer as Joined
from tests.models.asking import Said, joined
from tests.models.openai_answers import (
    Answer,
    call,
    chunk,
    comment,
    delta,
    error,
    interleave,
    reasoning,
    text,
    usage,
)

TOOLS = ["showCard", "show", "sendText"]

STORY = Answer(
    [
        comment("ping"),
        *reasoning("Überlegen…"),
        *text("Ja 👍, ", size=3),
        *interleave(
            call("showCard", {"a": "größer 🚀 \n\t\u0000"}, size=5, index=0, id="a"),
            call("show", {"b": ["ü", "é"]}, size=3, index=3, id="a"),
        ),
        usage(11, 7),
    ]
)


def read(parts: Sequence[bytes], tools: Sequence[str] = TOOLS) -> tuple[list[ModelDelta], str]:
    answer = Joined("openai:fake", tools)
    deltas: list[ModelDelta] = []
    for part in parts:
        if not answer.ended:
            more = answer.more(part)
            deltas += answer.feed(part) if more is None else [more]
    if not answer.ended:
        deltas += answer.finish()
    return deltas, answer.fault.code if answer.fault else ""


def said(*pieces: bytes, tools: Sequence[str] = TOOLS) -> Said:
    return joined(*read([b"".join(pieces), b"data: [DONE]\n\n"], tools))


def call_delta(**fields: object) -> bytes:
    return delta({"tool_calls": [fields]})


def test_one_read_gives_each_piece_once_and_joined() -> None:
    story = Answer(
        [*reasoning("Hm"), *text("Well, "), *text("yes"), *call("showCard", {"a": "b"}), usage(3, 4)]
    )

    assert read([story.content()]) == (
        [
            ReasoningPiece("Hm"),
            TextPiece("Well, yes"),
            CallOpened(0, "showCard", "call_0"),
            CallPiece(0, '{"a": "b"}'),
            UsageReport(Usage(3, 4)),
        ],
        "",
    )


@settings(deadline=None)
@given(st.data())
def test_any_split_of_the_bytes_gives_the_same_answer(data: st.DataObject) -> None:
    newline = data.draw(st.sampled_from(["\n", "\r\n"]))
    content = Answer(STORY.pieces, newline=newline).content()
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=12).map(sorted))
    edges = [0, *cuts, len(content)]
    parts = [content[a:b] for a, b in itertools.pairwise(edges)]

    assert joined(*read(parts)) == joined(*read([content]))


def test_byte_by_byte_is_the_same_answer() -> None:
    content = STORY.content()

    assert joined(*read([content[at : at + 1] for at in range(len(content))])) == Said(
        text="Ja 👍, ",
        reasoning="Überlegen…",
        calls={
            0: ("showCard", json.dumps({"a": "größer 🚀 \n\t\u0000"}, ensure_ascii=False)),
            1: ("show", '{"b": ["ü", "é"]}'),
        },
        usage=Usage(11, 7),
    )


def test_every_cut_ends_as_cut_until_the_finish_reason_is_complete() -> None:
    content = STORY.content()
    whole = joined(*read([content]))
    last = content.index(b'"stop"') + len(b'"stop"}]}')

    for at in range(len(content)):
        got = joined(*read([content[:at]]))
        assert got.fault == ("model_cut" if at < last else ""), at
        assert whole.text.startswith(got.text), at
        assert whole.calls.get(0, ("", ""))[1].startswith(got.calls.get(0, ("", ""))[1]), at


def test_a_name_opens_a_call_at_once_unless_it_may_go_on() -> None:
    whole = call_delta(index=0, id="a", function={"name": "showCard", "arguments": ""})
    begun = call_delta(index=0, id="a", function={"name": "show", "arguments": ""})

    assert Joined("m", TOOLS).feed(whole) == [CallOpened(0, "showCard", "a")]
    assert Joined("m", TOOLS).feed(begun) == []


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        pytest.param(
            [
                call_delta(index=0, id="a", function={"name": "show", "arguments": ""}),
                call_delta(index=0, function={"name": "Card", "arguments": ""}),
                call_delta(index=0, function={"arguments": "{}"}),
            ],
            {0: ("showCard", "{}")},
            id="name in fragments",
        ),
        pytest.param(
            [
                call_delta(index=0, id="a", function={"name": "showCard", "arguments": "{"}),
                call_delta(index=0, id="a", function={"name": "showCard", "arguments": "}"}),
            ],
            {0: ("showCard", "{}")},
            id="id and name repeated",
        ),
        pytest.param(
            [
                call_delta(index=0, id="a", function={"name": "showCard", "arguments": "{"}),
                call_delta(index=0, id="b", function={"arguments": "}"}),
            ],
            {0: ("showCard", "{}")},
            id="a new id without a name goes on",
        ),
        pytest.param(
            [
                call_delta(index=0, id="a", function={"name": "showCard", "arguments": "{}"}),
                call_delta(index=0, id="b", function={"name": "showCard", "arguments": "[]"}),
            ],
            {0: ("showCard", "{}"), 1: ("showCard", "[]")},
            id="index reused with a new id",
        ),
        pytest.param(
            [
                call_delta(id="a", function={"name": "showCard", "arguments": "{"}),
                call_delta(id="b", function={"name": "showCard", "arguments": "["}),
                call_delta(id="a", function={"arguments": "}"}),
                call_delta(id="b", function={"arguments": "]"}),
            ],
            {0: ("showCard", "{}"), 1: ("showCard", "[]")},
            id="no index, ids",
        ),
        pytest.param(
            [
                call_delta(id="a", function={"name": "showCard", "arguments": "{"}),
                call_delta(function={"arguments": "}"}),
                call_delta(id="b", function={"name": "showCard", "arguments": "["}),
                call_delta(function={"arguments": "]"}),
            ],
            {0: ("showCard", "{}"), 1: ("showCard", "[]")},
            id="no index, each id once",
        ),
        pytest.param(
            [
                call_delta(function={"name": "showCard", "arguments": "{"}),
                call_delta(function={"arguments": "}"}),
                call_delta(function={"name": "showCard", "arguments": "[]"}),
            ],
            {0: ("showCard", "{}"), 1: ("showCard", "[]")},
            id="neither index nor id",
        ),
        pytest.param(
            [
                call_delta(index=0, id="same", function={"name": "showCard", "arguments": "{}"}),
                call_delta(index=1, id="same", function={"name": "showCard", "arguments": "[]"}),
            ],
            {0: ("showCard", "{}"), 1: ("showCard", "[]")},
            id="same id twice",
        ),
        pytest.param(
            [
                call_delta(index=7, id="b", function={"name": "showCard", "arguments": "{"}),
                call_delta(index=2, id="a", function={"name": "show", "arguments": "["}),
                call_delta(index=7, function={"arguments": "}"}),
                call_delta(index=2, function={"arguments": "]"}),
            ],
            {0: ("showCard", "{}"), 1: ("show", "[]")},
            id="indexes out of order",
        ),
        pytest.param(
            [
                call_delta(index=0, id="a", function={"arguments": '{"a"'}),
                call_delta(index=0, function={"name": "showCard", "arguments": ":1}"}),
            ],
            {0: ("showCard", '{"a":1}')},
            id="arguments before the name",
        ),
        pytest.param(
            [call_delta(index=0, id="a", function={"name": "showCard", "arguments": {"a": [1]}})],
            {0: ("showCard", '{"a":[1]}')},
            id="arguments as an object",
        ),
        pytest.param(
            [call_delta(index=0, id="a", function={"name": "nobodyKnows", "arguments": None})],
            {0: ("nobodyKnows", "")},
            id="unknown tool without arguments",
        ),
    ],
)
def test_fragments_find_their_call(pieces: list[bytes], calls: dict[int, tuple[str, str]]) -> None:
    assert said(*pieces) == Said(calls=calls)


def test_a_call_without_a_name_is_garbage() -> None:
    assert said(call_delta(index=0, id="a", function={"arguments": "{}"})) == Said(fault="model_garbage")


@pytest.mark.parametrize(
    "line",
    [
        b"data: {}\n",
        b'data: {"choices": null, "usage": null, "error": null}\n',
        b'data:{"choices":[{"delta":null}]}\n',
        b'data:{"choices":[{"delta":{"content":null,"tool_calls":null,"reasoning":null}}]}\r\n',
        b'data:{"choices":[{"delta":{"tool_calls":[]},"finish_reason":""}]}\n\n',
        b"data:\n",
        b"event: message\n",
        b"id: 5\nretry: 10\n",
        b":\n",
        b"\r\n",
    ],
)
def test_what_says_nothing_is_nothing(line: bytes) -> None:
    assert said(line, *text("x")) == Said(text="x")


def test_a_byte_order_mark_is_no_garbage() -> None:
    assert said(b"\xef\xbb\xbf", *text("x")) == Said(text="x")


def test_reasoning_has_two_names() -> None:
    assert said(*reasoning("a"), *reasoning("b", field_name="reasoning")) == Said(reasoning="ab")


def test_the_last_usage_counts_once() -> None:
    assert said(usage(1, 1), *text("x"), usage(1, 2)) == Said(text="x", usage=Usage(1, 2))


def test_an_emoji_cut_into_two_surrogates_is_put_together() -> None:
    halves = [
        b'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n',
        b'data: {"choices":[{"delta":{"content":"\\ude80b"}}]}\n',
    ]

    assert said(*halves) == Said(text="a🚀b")
    assert joined(*read([*halves, b"data: [DONE]\n"])) == Said(text="a🚀b")


def test_a_lone_surrogate_and_broken_utf8_are_replaced() -> None:
    lone = b'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n'
    broken = b'data: {"choices":[{"delta":{"reasoning":"b\xff"}}]}\n'

    assert said(lone, broken) == Said(text="a\ufffd", reasoning="b\ufffd")


def test_deltas_after_the_finish_reason_count_and_after_done_do_not() -> None:
    end = Answer([*text("a")]).content().removesuffix(b"data: [DONE]\n\n")

    assert said(end, *text("b")) == Said(text="ab")
    assert joined(*read([end, b"data: [DONE]\n\n", *text("b")])) == Said(text="a")
    assert joined(*read([end + b"data: [DONE]\n\n" + text("b")[0] + b"<html>\n"])) == Said(text="a")


def test_garbage_after_a_whole_answer_does_no_harm() -> None:
    end = Answer([*call("showCard", "{}"), usage(1, 2)], done=False).content()

    whole = Said(calls={0: ("showCard", "{}")}, usage=Usage(1, 2))
    assert joined(*read([end + b"\x00\x01garbage\nmore"])) == whole
    assert joined(*read([end, b"\x00\x01garbage\n", b"more"])) == whole


@pytest.mark.parametrize(
    "content",
    [
        b"<!doctype html>\n<html></html>\n",
        b"<html>no newline</html>",
        b'{"choices": [{"message": {"content": "not streamed"}}]}\n',
        b"data: {broken\n\n",
        b"data: [1, 2]\n\n",
        b'data: {"choices": [{"delta": {"content": 5}}]}\n\n',
        b'data: {"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n\n",
        b"\x16\x03\x01\x00 not text at all\n",
    ],
    ids=["html", "html line", "json", "broken", "array", "type", "deep", "binary"],
)
def test_what_no_model_server_sends_is_garbage(content: bytes) -> None:
    assert joined(*read([*text("x"), content])) == Said(text="x", fault="model_garbage")


@pytest.mark.parametrize(
    "line", [error("too many", code=429), b'{"error": "overloaded"}\n', b'{"error": "x"}']
)
def test_an_error_in_the_stream_ends_it_after_what_was_said(line: bytes) -> None:
    assert joined(*read([b"".join(text("x")) + line])) == Said(text="x", fault="model_error")


def test_ten_mib_of_arguments_are_read_and_more_are_refused() -> None:
    mib = 1024 * 1024
    most = call("showCard", "x" * (10 * mib), size=mib)
    more = [*most, call_delta(index=0, function={"arguments": "x"})]

    assert len(said(*most).calls[0][1]) == 10 * mib
    assert said(*more).fault == "model_too_large"
    assert joined(*read(more)).fault == "model_too_large"


def test_sixteen_mib_of_anything_are_the_end() -> None:
    piece = delta({"content": "x" * 1024 * 1024})

    assert joined(*read([piece] * 16)).fault == "model_cut"
    assert joined(*read([piece] * 17)).fault == "model_too_large"
    assert joined(*read([b"data: " + b"x" * 1024 * 1024] * 33)).fault == "model_too_large"


def test_a_line_in_very_many_reads_takes_linear_time() -> None:
    content = b"".join(call("showCard", "x" * 400_000, size=400_000))
    parts = [content[at : at + 8] for at in range(0, len(content), 8)]

    assert (
        len(joined(*read([*parts, chunk({"choices": [{"finish_reason": "stop"}]})])).calls[0][1]) == 400_000
    )


def more_of_a_call(text: str, **fields: object) -> bytes:
    return delta({"tool_calls": [{"index": 0, "function": {"arguments": text}}], **fields})


def _steps(answer: Joined, data: bytes) -> tuple[object, list[str]]:
    """What it brings, and through which functions that went."""
    steps: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            steps.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        more = answer.more(data)
    finally:
        sys.setprofile(None)
    return more, steps


def begun() -> Joined:
    answer = Joined("openai:fake", TOOLS)
    answer.feed(b"".join(call("show", {"b": "and so on"}, size=4)[:3]))
    return answer


def test_more_of_a_call_or_a_text_is_taken_in_one_step() -> None:
    """As nearly all that a model says is: what is around it in each chunk was seen before."""
    answer = begun()
    assert answer.more(more_of_a_call(" and on")) == CallPiece(0, " and on")
    for said in (" and so", "  ", ' \\ "q"\n', "größer 🚀", "index", "{}"):
        assert _steps(answer, more_of_a_call(said)) == (CallPiece(0, said), ["more"])

    answer = begun()
    assert answer.more(*text("Ja", size=2)) == TextPiece("Ja")
    assert _steps(answer, *text("Nein", size=4)) == (TextPiece("Nein"), ["more"])


def test_a_server_whose_chunks_have_nothing_in_common_is_not_looked_at_for_long() -> None:
    answer = begun()
    steps: list[str] = []
    for number in range(10):
        said = f" word {number}"
        more, steps = _steps(answer, more_of_a_call(said, obfuscation="x" * (number + 1)))
        assert more == CallPiece(0, said)
    assert steps == ["more", "_only"]


@pytest.mark.parametrize("first", ["0", "a", "arguments", "null", "fake", "chatcmpl-1", "data", ":", "}"])
def test_a_text_that_stands_elsewhere_in_its_chunk_too_is_told_apart(first: str) -> None:
    answer = begun()
    for said in (first, "b", first, "c"):
        assert answer.more(more_of_a_call(said)) == CallPiece(0, said)


def test_what_looks_like_more_of_a_call_and_brings_more_than_that_is_read_whole() -> None:
    answer = begun()
    assert answer.more(more_of_a_call("and on")) == CallPiece(0, "and on")
    before, _, behind = more_of_a_call("@").rpartition(b"@")
    tokens = b'"usage":{"prompt_tokens":3,"completion_tokens":4}'
    both = before + b'x"}}]},"finish_reason":null}],' + tokens + b',"z":[{"z":{"z":[{"z":{"z":"' + behind
    assert answer.more(both) is None
    assert answer.feed(both) == [CallPiece(0, "x")]
    assert answer.more(before + b"a\nb" + behind) is None
    assert answer.more(before + b"\xff" + behind) is None
    assert answer.feed(b"data: [DONE]\n\n") == [UsageReport(Usage(3, 4))]


def test_more_of_another_call_with_the_same_index_is_its_own() -> None:
    answer = begun()
    assert answer.more(more_of_a_call("and on")) == CallPiece(0, "and on")
    assert answer.more(more_of_a_call("and on")) == CallPiece(0, "and on")
    answer.feed(call_delta(index=0, id="b", function={"name": "show", "arguments": "{"}))
    assert answer.more(more_of_a_call("and on")) == CallPiece(1, "and on")
    assert answer.more(more_of_a_call("and on")) == CallPiece(1, "and on")
