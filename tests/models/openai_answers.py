"""What a fake OpenAI-compatible server can be told to answer.

Pieces of an answer
    text("Hello", size=4)        content, in fragments of `size` characters
    reasoning("Hm")              reasoning_content
    call("tool", {...} or "raw", size=7, index=0, id="call_0")
                                 the opening chunk and then the fragments; `splits=[3, 1, 9]` chooses their
                                 lengths; id=None and index=None leave the field out
    interleave(call(...), call(..., index=1))      round robin
    usage(10, 5), finish("stop"), error("message", code=..., type=...)
    delta({...}), chunk({...})   anything else inside a chunk's delta, or a whole chunk
    comment("ping"), raw(b"...") anything else on the wire
    hold() or hold("name")       waits until the test calls `server.release()` or `server.release("name")`
    pause(0.01)                  waits so many seconds
    HANG                         says nothing more, and keeps the connection open
    CUT                          ends the connection in the middle

Ways of answering (fields of `Answer`)
    held=True                    a hold() before every piece
    slices=[1, 5]                the bytes of the whole answer in writes of these lengths, the last repeated
    cut_at=17                    the connection ends after that many bytes of the answer
    finish, done                 False leaves out the finish chunk or the [DONE] line
    newline="\\r\\n"              the end of a line

Other answers: `status(429)`, `status(500, "text")`, `html()`, `endless()`.
"""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True)
class Hold:
    name: str


@dataclass(frozen=True)
class Pause:
    seconds: float


Piece: TypeAlias = bytes | Hold | Pause | Literal["hang", "cut"]
HANG: Literal["hang"] = "hang"
CUT: Literal["cut"] = "cut"


@dataclass
class Answer:
    pieces: Iterable[Piece] = ()
    finish: bool = True
    done: bool = True
    held: bool = False
    slices: Sequence[int] = ()
    cut_at: int | None = None
    newline: str = "\n"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    content_type: str = "text/event-stream; charset=utf-8"

    def steps(self) -> Iterator[Piece]:
        """What the server does, one after the other; bytes are one write each."""
        pieces = self._whole()
        if self.slices or self.cut_at is not None:
            pieces = self._cut(pieces)
        for piece in pieces:
            if self.held and isinstance(piece, bytes):
                yield Hold("")
            yield piece

    def content(self) -> bytes:
        """All bytes of an answer that has an end."""
        return b"".join(piece for piece in self._whole() if isinstance(piece, bytes))

    def _whole(self) -> Iterator[Piece]:
        end = self.newline.encode()
        for piece in self.pieces:
            yield piece.replace(b"\n", end) if isinstance(piece, bytes) and end != b"\n" else piece
        if self.status == 200 and self.finish:
            yield finish().replace(b"\n", end)
        if self.status == 200 and self.done:
            yield b"data: [DONE]\n\n".replace(b"\n", end)

    def _cut(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        content = b"".join(piece for piece in pieces if isinstance(piece, bytes))
        content = content[: self.cut_at]
        lengths = itertools.chain(
            self.slices, itertools.repeat(self.slices[-1] if self.slices else len(content))
        )
        at = 0
        while at < len(content):
            length = max(1, next(lengths))
            yield content[at : at + length]
            at += length
        if self.cut_at is not None:
            yield CUT


def chunk(fields: Mapping[str, Any]) -> bytes:
    whole = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "fake", **fields}
    return f"data: {json.dumps(whole, ensure_ascii=False)}\n\n".encode()


def delta(fields: Mapping[str, Any]) -> bytes:
    return chunk({"choices": [{"index": 0, "delta": dict(fields), "finish_reason": None}]})


def text(content: str, size: int = 4) -> list[bytes]:
    return [delta({"content": piece}) for piece in _fragments(content, size)]


def reasoning(content: str, size: int = 4, field_name: str = "reasoning_content") -> list[bytes]:
    return [delta({field_name: piece}) for piece in _fragments(content, size)]


def call(
    name: str | None,
    arguments: Mapping[str, Any] | str,
    *,
    size: int = 7,
    splits: Sequence[int] = (),
    index: int | None = 0,
    id: str | None = "call_0",
) -> list[bytes]:
    place = {} if index is None else {"index": index}
    identity = {} if id is None else {"id": id, "type": "function"}
    naming = {} if name is None else {"name": name}
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    opening = {**place, **identity, "function": {**naming, "arguments": ""}}
    return [
        delta({"tool_calls": [opening]}),
        *(
            delta({"tool_calls": [{**place, "function": {"arguments": piece}}]})
            for piece in _fragments(written, size, splits)
        ),
    ]


def interleave(*calls: Sequence[bytes]) -> list[bytes]:
    rounds = itertools.zip_longest(*calls)
    return [piece for pieces in rounds for piece in pieces if piece is not None]


def usage(input_tokens: int, output_tokens: int) -> bytes:
    return chunk(
        {"choices": [], "usage": {"prompt_tokens": input_tokens, "completion_tokens": output_tokens}}
    )


def finish(reason: str = "stop") -> bytes:
    return chunk({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})


def error(message: str, **fields: Any) -> bytes:
    return f"data: {json.dumps({'error': {'message': message, **fields}})}\n\n".encode()


def comment(words: str) -> bytes:
    return f": {words}\n\n".encode()


def raw(content: bytes) -> bytes:
    return content


def hold(name: str = "") -> Hold:
    return Hold(name)


def pause(seconds: float) -> Pause:
    return Pause(seconds)


def status(code: int, body: str | None = None, **headers: str) -> Answer:
    said = json.dumps({"error": {"message": f"status {code}"}}) if body is None else body
    return Answer([said.encode()], status=code, headers=headers, content_type="application/json")


def html() -> Answer:
    page = b"<!doctype html>\n<html><body>Welcome to the login page</body></html>\n"
    return Answer([page], finish=False, done=False, content_type="text/html")


def endless(piece: bytes | None = None) -> Answer:
    return Answer(itertools.repeat(piece or delta({"content": "again and again " * 4000})))


def _fragments(content: str, size: int, splits: Sequence[int] = ()) -> Iterator[str]:
    lengths = itertools.chain(splits, itertools.repeat(size))
    at = 0
    while at < len(content):
        length = max(1, next(lengths))
        yield content[at : at + length]
        at += length
