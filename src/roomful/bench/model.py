"""A model server that says what its model's name tells it to, in a process of its own.

The name is `KIND-CALLSxDELTAS` with options: `calls-1x200` is one call whose arguments come in 200 deltas,
`spaces-3x66` three calls that go to three spaces, `ask-1x20` a form, `delegate-5x1` five delegations.
`-every5` leaves 5 ms between deltas, `-stamped` puts the time into each. Once the calls have their results
it says a few words and ends. It speaks Chat Completions, streamed.
"""

import asyncio
import itertools
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, cast

import msgspec

from roomful.bench import marks, wire
from roomful.bench.serving import serve

TOOLS: Final = {"calls": "show_card", "spaces": "show_card", "ask": "ask_person", "delegate": "ask_helper"}
WORDS: Final = ("That ", "is ", "all ", "for ", "now.")
SPACE: Final = "room-{}"
_ID: Final = b"#the-id-of-this#"


class Script(msgspec.Struct, frozen=True):
    kind: str
    calls: int
    deltas: int
    seconds_between: float = 0.0
    is_stamped: bool = False


def parse(name: str) -> Script:
    kind, sizes, *options = name.split("-")
    calls, _, deltas = sizes.partition("x")
    every = next((option for option in options if option.startswith("every")), "every0")
    pause = float(every.removeprefix("every")) / 1000
    return Script(kind, int(calls), int(deltas), pause, "stamped" in options)


class Asked(msgspec.Struct):
    model: str
    messages: list[dict[str, Any]]

    @property
    def has_results(self) -> bool:
        return self.messages[-1]["role"] == "tool"


@lru_cache(64)
def _rendered(name: str, has_results: bool) -> tuple[bytes, ...]:
    deltas = _words() if has_results else _calls(parse(name))
    events = [_event(name, delta) for delta in deltas]
    events.append(_event(name, {}, "stop" if has_results else "tool_calls"))
    return *map(wire.chunk, events), wire.chunk(wire.frame(b"[DONE]")) + wire.LAST_CHUNK


def _event(name: str, delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {"id": _ID.decode(), "object": "chat.completion.chunk", "created": 1, "model": name}
    return wire.frame(msgspec.json.encode(body | {"choices": [choice]}))


def _words() -> Iterator[dict[str, Any]]:
    for word in WORDS:
        yield {"content": word}


def _calls(script: Script) -> Iterator[dict[str, Any]]:
    for index in range(script.calls):
        function = {"name": TOOLS[script.kind], "arguments": ""}
        named = {"index": index, "id": f"{_ID.decode()}{index}", "type": "function", "function": function}
        yield {"tool_calls": [named]}
        for piece in _arguments(script, index):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _arguments(script: Script, index: int) -> Iterator[str]:
    first, last = index * script.deltas, (index + 1) * script.deltas - 1
    target = f'"targetSpaceId":"{SPACE.format(index)}",' if script.kind == "spaces" else ""
    for number in range(first, last + 1):
        before = f'{{{target}"text":"' if number == first else ""
        yield before + marks.delta(number) + ('"}' if number == last else "")


class Model(asyncio.Protocol):
    """One connection; its requests are answered one after the other."""

    _numbers = itertools.count()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._data = b""
        self._answering: asyncio.Task[None] | None = None
        self._room = asyncio.Event()
        self._room.set()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answering is not None:
            self._answering.cancel()

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (taken := wire.take_request(self._data)) is not None:
            asked, self._data = taken
            self._answering = asyncio.ensure_future(self._answer(msgspec.json.decode(asked.body, type=Asked)))

    async def _answer(self, asked: Asked) -> None:
        script = parse(asked.model)
        own_id = b"%016d" % next(self._numbers)
        loop = asyncio.get_running_loop()
        due = loop.time()
        self._transport.write(wire.STREAM)
        for piece in _rendered(asked.model, asked.has_results):
            piece = piece.replace(_ID, own_id)
            if script.is_stamped:
                piece = piece.replace(marks.UNSENT.encode(), marks.now())
            self._transport.write(piece)
            due += script.seconds_between
            await asyncio.sleep(max(0.0, due - loop.time()) if script.seconds_between else 0)
            await self._room.wait()


if __name__ == "__main__":
    serve(Model)
