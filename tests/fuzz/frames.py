"""Server-sent events, out and in: whatever the cuts, readers have the frames that were written."""

import json
import re
from random import Random
from typing import Any, NamedTuple

from roomful.client.sse import Frame, FrameReader
from roomful.domain.shape import encode_json
from roomful.domain.wire import one_frame
from roomful.models.answer import Answer
from roomful.web.sse import HEARTBEAT
from tests.fuzz import grammar
from tests.fuzz.engine import target
from tests.servers.roomful import read_events

NEWLINES = (b"\n", b"\n", b"\n", b"\r\n", b"\r")


class Sent(NamedTuple):
    data: bytes
    pieces: list[bytes]
    frames: list[Frame] | None
    """What was written, unless it was damaged on its way."""


def sent(chance: Random) -> Sent:
    frames: list[Frame] = []
    out = b"\xef\xbb\xbf" if chance.random() < 0.05 else b""
    for number in range(chance.randint(0, 5)):
        if chance.random() < 0.2:
            out += HEARTBEAT
        position = f"ep.{number}" if chance.random() < 0.8 else None
        name, data = chance.choice(("text-delta", "snapshot", "read")), encode_json(grammar.value(chance))
        out += one_frame(name, data, position)
        frames.append(Frame(position, name, data))
    out = out.replace(b"\n", chance.choice(NEWLINES))
    is_damaged = chance.random() < 0.4
    if is_damaged:
        out = grammar.damaged_bytes(chance, out)
    return Sent(out, grammar.cut(chance, out), None if is_damaged else frames)


def frames_in(data: bytes) -> list[Frame]:
    """By the words of the specification, with the whole stream at hand."""
    frames: list[Frame] = []
    lines = re.split(rb"\r\n|\n|\r", data.removeprefix(b"\xef\xbb\xbf"))
    position, name, said = None, "", list[bytes]()
    for line in lines[:-1]:
        field, _, value = line.partition(b":")
        value = value[1:] if value[:1] == b" " else value
        if line == b"":
            frames += [Frame(position, name, b"\n".join(said))] if said else []
            position, name, said = None, "", []
        elif field == b"data":
            said.append(value)
        elif field == b"event":
            name = value.decode(errors="replace")
        elif field == b"id" and b"\0" not in value:
            position = value.decode(errors="replace")
    return frames


def check_frames(given: Sent) -> str:
    reader = FrameReader()
    read = [frame for piece in given.pieces for frame in reader.feed(piece)]
    assert read == frames_in(given.data)
    if given.frames is None:
        return "damaged"
    assert read == given.frames
    lines = re.split(r"\r\n|\n|\r", given.data.decode("utf-8-sig"))
    heard = [(event.name, event.data) for event in read_events(iter(lines))]
    assert heard == [(frame.name, json.loads(frame.data)) for frame in read]
    return "whole"


# What a model's server sends.


class Answered(NamedTuple):
    data: bytes
    pieces: list[bytes]
    text: str | None
    calls: dict[int, tuple[str, str]]
    """By index: name and arguments, unless it was damaged."""


def answered(chance: Random) -> Answered:
    text, calls = "", dict[int, tuple[str, str]]()
    newline = chance.choice(("\n", "\n", "\r\n"))
    lines: list[str] = []
    for _ in range(chance.randint(0, 8)):
        delta: dict[str, Any] = {}
        if chance.random() < 0.5:
            delta["content"] = grammar.text(chance, halves=False).replace("\x00", "")
            text += delta["content"]
        else:
            index = chance.randint(0, 2)
            if index not in calls:
                calls[index] = (chance.choice(("say", "draw")), "")
                function: dict[str, Any] = {"name": calls[index][0], "arguments": ""}
                delta["tool_calls"] = [{"index": index, "id": f"c{index}", "function": function}]
            else:
                piece = grammar.text(chance, halves=False)
                calls[index] = (calls[index][0], calls[index][1] + piece)
                delta["tool_calls"] = [{"index": index, "function": {"arguments": piece}}]
        chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        lines.append(f"data: {json.dumps(chunk, ensure_ascii=chance.random() < 0.5)}{newline}{newline}")
        if chance.random() < 0.1:
            lines.append(f": comment{newline}event: x{newline}id: 5{newline}")
    end = '{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3}}'
    lines += [f"data: {end}{newline}{newline}", f"data: [DONE]{newline}{newline}"]
    data = "".join(lines).encode()
    is_damaged = chance.random() < 0.5
    if is_damaged:
        data = grammar.damaged_bytes(chance, data)
    return Answered(data, grammar.cut(chance, data), None if is_damaged else text, calls)


def read_answer(pieces: list[bytes]) -> tuple[str, list[tuple[str, str, str]], str | None]:
    """The text, the calls with their arguments, and the fault."""
    answer = Answer("openai:x", ("say", "draw"))
    deltas: list[Any] = []
    for piece in pieces:
        if not answer.ended:
            deltas += answer.feed(piece)
    if not answer.ended:
        deltas += answer.finish()
    assert answer.ended
    text, calls = "", dict[int, list[str]]()
    for delta in deltas:
        match type(delta).__name__:
            case "TextPiece":
                text += delta.text
            case "CallOpened":
                assert delta.index not in calls
                calls[delta.index] = [delta.name, delta.provider_id, ""]
            case "CallPiece":
                calls[delta.index][2] += delta.arguments
            case _:
                pass
    fault = answer.fault
    assert fault is None or (fault.code and fault.message)
    return text, [(name, id, args) for name, id, args in calls.values()], fault and fault.code


def check_answer(given: Answered) -> str:
    read = read_answer(given.pieces)
    assert read == read_answer([given.data]), "the cuts matter"
    assert not re.search("[\ud800-\udfff]", read[0] + "".join(args for _, _, args in read[1]))
    if given.text is None:
        return "damaged" if read[2] is None else "failed"
    calls = [(name, f"c{index}", args) for index, (name, args) in given.calls.items()]
    assert (read[0], sorted(read[1]), read[2]) == (given.text, sorted(calls), None)
    return "whole"


TARGETS = (
    target("frames", sent, check_frames, ("whole", "damaged"), short=1500, long=200_000),
    target("answer", answered, check_answer, ("whole", "damaged", "failed"), short=1200, long=100_000),
)
