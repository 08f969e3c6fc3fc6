"""Frames are found wherever the bytes were cut, and only whole ones."""

import pytest

from roomful.client.sse import Frame, FrameReader
from roomful.domain.errors import TooLarge

SAID = (
    b"\xef\xbb\xbf: hello\n\n"
    b'id: e.1\nevent: text-delta\ndata: {"delta":"gr\xc3\xbc\xc3\x9fe \xf0\x9f\x98\x80"}\n\n'
    b"event:bare\ndata\ndata:one\ndata:  two\nretry: 7\nnew-field\n\n"
    b": still here\n\n"
    b"id: no\0thing\nevent: x\ndata: 1\n\n"
    b"event: without-data\n\n"
    b"id: e.2\ndata: never ended\n"
)
FRAMES = [
    Frame("e.1", "text-delta", '{"delta":"grüße 😀"}'.encode()),
    Frame(None, "bare", b"\none\n two"),
    Frame(None, "x", b"1"),
]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
def test_frames_are_the_same_wherever_they_are_cut(newline: bytes) -> None:
    said = SAID.replace(b"\n", newline)
    for size in range(1, len(said) + 1):
        reader = FrameReader()
        frames: list[Frame] = []
        for at in range(0, len(said), size):
            frames += reader.feed(said[at : at + size])
        assert frames == FRAMES, size


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
def test_a_frame_is_there_with_its_last_byte(newline: bytes) -> None:
    said = b"data: 1" + newline + newline
    reader = FrameReader()
    assert [reader.feed(said[at : at + 1]) for at in range(len(said))][-len(newline)] == [
        Frame(None, "", b"1")
    ]


@pytest.mark.parametrize("piece", [b"x" * 50, b"data: 1\n" * 5], ids=["a line", "many lines"])
def test_a_frame_without_end_is_not_kept(piece: bytes) -> None:
    reader = FrameReader(largest=200)
    with pytest.raises(TooLarge):
        any(reader.feed(piece) for _ in range(100))


def test_many_frames_may_be_larger_than_one() -> None:
    reader = FrameReader(largest=200)
    assert len([frame for _ in range(100) for frame in reader.feed(b"data: 12345\n\n: comment\n\n")]) == 100
