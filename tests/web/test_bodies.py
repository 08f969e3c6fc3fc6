"""Bodies are bounded, and what is wrong with one is said."""

import asyncio
import tracemalloc
from typing import Any

import msgspec
import pytest
from starlette.datastructures import Headers

from roomful.domain.errors import Invalid, TooLarge
from roomful.web.ask import Body
from roomful.web.bodies import BODY_LIMIT, Gone, decode_body, read_body
from roomful.web.problems import Refused


class Note(Body):
    text: str
    more: Any = None


def refusal(data: bytes) -> tuple[bool, str]:
    with pytest.raises(Invalid) as caught:
        decode_body(data, Note)
    return caught.value.malformed, caught.value.detail


def read(*pieces: bytes | None, **headers: str) -> bytes:
    """None hangs up."""
    left = list(pieces)

    async def receive() -> Any:
        piece = left.pop(0)
        if piece is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": piece, "more_body": bool(left)}

    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return asyncio.run(read_body(Headers(given), receive))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b'{"text": "hi"}', "hi", id="plain"),
        pytest.param('{"text": "añ😀"}'.encode(), "añ😀", id="utf-8"),
        pytest.param(rb'{"text": "a\ud83d\ude00b"}', "a😀b", id="escaped pair"),
        pytest.param(rb'{"text": "a\ud800b"}', "a�b", id="lone surrogate"),
        pytest.param(rb'{"text": "\udfff\ud800"}', "��", id="pair the wrong way round"),
        pytest.param(rb'{"text": "a\u0000b"}', "a�b", id="nul"),
        pytest.param(rb'{"text": "a\\u0000b"}', r"a\u0000b", id="no escape at all"),
    ],
)
def test_texts_are_taken_and_cleaned(data: bytes, text: str) -> None:
    assert decode_body(data, Note) == Note(text)


def test_poison_deep_inside_is_cleaned_too() -> None:
    data = rb'{"text": "", "more": {"k\u0000": ["\ud800", {"a": 1.5}]}}'

    assert decode_body(data, Note) == Note("", {"k�": ["�", {"a": 1.5}]})


@pytest.mark.parametrize(
    ("data", "malformed", "words"),
    [
        pytest.param(b"", True, "empty", id="empty"),
        pytest.param(b"{", True, "JSON", id="cut"),
        pytest.param(b'{"text": "\xff"}', True, "JSON", id="not utf-8"),
        pytest.param(b"\xef\xbb\xbf{}", True, "JSON", id="byte order mark"),
        pytest.param(b'{"text": "", "more": NaN}', True, "JSON", id="nan"),
        pytest.param(rb'{"text": "\u0000", "more": NaN}', True, "NaN", id="nan and poison"),
        pytest.param(rb'{"text": "\u0000", "more": 1e999}', True, "range", id="infinite and poison"),
        pytest.param(b'{"text": "", "more": ' + b"9" * 5000 + b"}", False, "range", id="endless number"),
        pytest.param(b"[]", False, "object", id="array"),
        pytest.param(b"{}", False, "text", id="missing"),
        pytest.param(b'{"text": 5}', False, "$.text", id="wrong type"),
        pytest.param(b'{"text": "", "colour": 1}', False, "colour", id="unknown"),
        pytest.param(rb'{"text": "\u0000", "colour": 1}', False, "colour", id="unknown and poison"),
    ],
)
def test_what_is_wrong_is_named(data: bytes, malformed: bool, words: str) -> None:
    assert refusal(data)[0] == malformed
    assert words in refusal(data)[1]


@pytest.mark.parametrize(
    "opening",
    [
        pytest.param(b"[", id="lists"),
        pytest.param(b'{"a":', id="objects"),
        pytest.param(rb'["\ud800",', id="lists of poison"),
    ],
)
def test_nesting_is_bounded(opening: bytes) -> None:
    assert refusal(b'{"text": "", "more": ' + opening * 100_000)[0]


def test_brackets_in_a_text_do_not_nest() -> None:
    text = '[{"' * 10_000

    assert decode_body(msgspec.json.encode({"text": text}), Note) == Note(text)


def nested(depth: int) -> bytes:
    return b'{"text": "", "more": ' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"," + b'"text": ""}'


def test_as_deep_as_allowed_is_allowed_and_no_deeper() -> None:
    assert decode_body(nested(64), Note).text == ""
    assert "64 deep" in refusal(nested(65))[1]


def test_a_body_comes_in_pieces() -> None:
    assert read(b'{"text"', b': "hi"}', content_type="application/json; charset=utf-8") == b'{"text": "hi"}'


def test_a_body_that_says_it_is_too_large_is_not_read() -> None:
    with pytest.raises(TooLarge):
        read(content_length=str(BODY_LIMIT + 1))


def test_a_body_that_becomes_too_large_is_left() -> None:
    with pytest.raises(TooLarge):
        read(b"x" * BODY_LIMIT, b"x")


def test_a_client_that_hangs_up_is_gone() -> None:
    with pytest.raises(Gone):
        read(b"{", None)


@pytest.mark.parametrize(
    "headers",
    [
        {"content_type": "text/plain"},
        {"content_type": "multipart/form-data; boundary=x"},
        {"content_type": "application/json", "content_encoding": "gzip"},
    ],
)
def test_only_plain_json_is_taken(headers: dict[str, str]) -> None:
    with pytest.raises(Refused) as caught:
        read(b"{}", **headers)

    assert caught.value.status == 415


def test_looking_for_the_nesting_of_a_long_string_takes_no_memory() -> None:
    data = b'{"text": "' + b"x" * 1_000_000 + b'", "more": [' + b"[]," * 100 + b"0]}"
    tracemalloc.start()
    try:
        decode_body(data, Note)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 4 * len(data)
