"""The Chat Completions wire: a request as bytes, an answer as server-sent lines of one chunk each."""

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from roomful.domain.deltas import (
    AssistantMessage,
    ModelMessage,
    ModelRequest,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from roomful.domain.shape import Json, encode_json
from roomful.models import faults

LINE_LIMIT = 32 * 1024 * 1024
WIRE_LIMIT = 256 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"
_FIELD = re.compile(rb":|(event|id|retry|data)(:|\r?$)")
_FIELD_STARTS = (b"data:", b"event:", b"id:", b"retry:", _BOM + b"data:")
_CONTENT_PARTS = frozenset({"text", "image_url", "input_audio", "file"})


class FunctionPiece(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class CallDelta(msgspec.Struct, gc=False):
    index: int | None = None
    id: str | None = None
    function: FunctionPiece | None = None


class Delta(msgspec.Struct, gc=False):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[CallDelta] | None = None


class Choice(msgspec.Struct, gc=False):
    delta: Delta | None = None
    finish_reason: str | None = None


class Tokens(msgspec.Struct, gc=False):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Chunk(msgspec.Struct, gc=False):
    choices: list[Choice] | None = None
    usage: Tokens | None = None
    error: Any = None


decode_chunk = msgspec.json.Decoder(Chunk).decode
decode_text = msgspec.json.Decoder(str).decode
_decode_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class Lines:
    """Turns bytes into chunks, wherever the reads cut them. Raises ModelFailed.

    `done` is set by the `[DONE]` line: nothing after it is read. `lossy` is set once a chunk was not
    proper UTF-8, or held half a surrogate pair: its texts may hold lone surrogates.
    """

    def __init__(self, model: str) -> None:
        self.done = False
        self.lossy = False
        self.held: list[bytes] = []
        """Of a line that is not whole yet."""
        self.size = 0
        """Bytes read so far."""
        self._model = model
        self._held_size = 0

    def feed(self, data: bytes) -> Iterator[Chunk]:
        lines = data.split(b"\n")
        self._count(len(data), grown=len(lines) == 1)
        if len(lines) == 1:
            self.held.append(data)
            return
        if self.held:
            lines[0] = b"".join([*self.held, lines[0]])
            self.held.clear()
        if rest := lines.pop():
            self.held.append(rest)
        for line in lines:
            if line[:5] == b"data:":
                try:
                    yield decode_chunk(line[5:])
                except (ValueError, RecursionError):
                    if (chunk := self._odd(line[5:])) is not None:
                        yield chunk
                    if self.done:
                        return
            elif line and line != b"\r":
                yield from self._other(line)

    def finish(self) -> Iterator[Chunk]:
        """The last line, when nothing ended it."""
        line = b"".join(self.held)
        if line[:5] == b"data:":
            try:
                yield decode_chunk(line[5:])
            except (ValueError, RecursionError):
                self.done = line[5:].strip() == b"[DONE]"
        elif line.strip() and not any(start.startswith(line) for start in _FIELD_STARTS):
            yield from self._other(line)

    def _count(self, size: int, *, grown: bool) -> None:
        self.size += size
        self._held_size = self._held_size + size if grown else 0
        if self._held_size > LINE_LIMIT:
            raise faults.too_large(self._model, f"one line has more than {LINE_LIMIT >> 20} MiB")
        if self.size > WIRE_LIMIT:
            raise faults.too_large(self._model, f"more than {WIRE_LIMIT >> 20} MiB came over the wire")

    def _other(self, line: bytes) -> Iterator[Chunk]:
        """A line that brings no chunk: a comment or another field. Anything else is no server-sent line; some
        servers report an error so."""
        if line.startswith(_BOM):
            yield from self.feed(line.removeprefix(_BOM) + b"\n")
        elif not _FIELD.match(line):
            with contextlib.suppress(ValueError, RecursionError):
                chunk = decode_chunk(line)
                if chunk.error:
                    yield chunk
            said = faults.excerpt(line[:400].decode("utf-8", "replace"))
            raise faults.garbage(self._model, f"a line begins with {said[:60]!r}")

    def _odd(self, payload: bytes) -> Chunk | None:
        """What the strict decoder refused: the end mark, broken text (mended), or garbage."""
        bare = payload.strip()
        if bare == b"[DONE]" or not bare:
            self.done = self.done or bool(bare)
            return None
        try:
            chunk = msgspec.convert(json.loads(bare.decode("utf-8", "replace")), Chunk)
        except msgspec.ValidationError as error:
            raise faults.garbage(self._model, f"in a chunk, {error}") from None
        except (ValueError, RecursionError):
            raise faults.garbage(self._model, "a chunk is not JSON") from None
        self.lossy = True
        return chunk


def encode_request(request: ModelRequest) -> bytes:
    body: dict[str, Json] = {
        "model": request.ref.model,
        "messages": [_message(message) for message in request.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in request.tools
        ]
    return encode_json(body)


def _message(message: ModelMessage) -> dict[str, Json]:
    match message:
        case SystemMessage(text=text):
            return {"role": "system", "content": text}
        case UserMessage(text=text, attachments=()):
            return {"role": "user", "content": text}
        case UserMessage(text=text, attachments=attachments):
            parts = [{"type": "text", "text": text}, *map(_content_part, attachments)]
            return {"role": "user", "content": parts}
        case AssistantMessage(text=text, calls=()):
            return {"role": "assistant", "content": text}
        case AssistantMessage(text=text, calls=calls):
            asked = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json_object(call.arguments)},
                }
                for call in calls
            ]
            return {"role": "assistant", "content": text or None, "tool_calls": asked}
        case ToolMessage(call_id=call_id, content=content):
            return {"role": "tool", "tool_call_id": call_id, "content": content}


def _content_part(attachment: Json) -> Json:
    """Content parts of this wire pass as they are; of anything else the model is told in words."""
    if isinstance(attachment, dict):
        fields = cast(dict[str, Json], attachment)
        if fields.get("type") in _CONTENT_PARTS:
            return fields
    return {"type": "text", "text": f"[attachment {encode_json(attachment).decode()}]"}


def json_object(arguments: str) -> str:
    """Arguments as the model gave them. Many servers parse what they are told of earlier calls and refuse
    the whole request for one broken call, so a broken one is told inside an object."""
    try:
        _decode_object(arguments)
    except (ValueError, RecursionError):
        return encode_json({"malformed": arguments}).decode() if arguments.strip() else "{}"
    return arguments
