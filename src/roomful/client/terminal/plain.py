"""Talking in a space through pipes: a line in is a message, what comes of it goes out as plain text."""

import asyncio
import threading
from collections.abc import Callable
from typing import BinaryIO

from roomful.client.client import Client
from roomful.client.terminal.drawing import short_value
from roomful.client.terminal.harmless import harmless, one_line
from roomful.domain.events import RunChanged, SpaceEvent
from roomful.domain.fold import SpaceView
from roomful.domain.messages import UNSETTLED, Message, ToolCallPart
from roomful.domain.runs import WAITING
from roomful.domain.shape import UNSET

Write = Callable[[str], None]
LONGEST_VALUE = 200


class PlainText:
    """Messages as they grow, as text that only ever goes on: what was written is not written again, even if
    it is told again."""

    def __init__(self, write: Write, names: dict[str, str]) -> None:
        self._write = write
        self._names = names
        self._lengths: dict[str, int] = {}
        self._cards: set[tuple[str, str]] = set()
        self._part = ""

    def show(self, message: Message) -> None:
        name = one_line(self._names.get(message.entity_id, message.entity_id))
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                self._card(name, part)
                continue
            known = self._lengths.get(part.id, 0)
            if len(part.text) < known:  # the model had to begin again
                known = self._lengths[part.id] = 0
                self.end_line()
            new = part.text[known:]
            if part.status == "streaming" and new.endswith("\r"):
                new = new[:-1]  # perhaps the first half of a line's end
            if new:
                self._lengths[part.id] = known + len(new)
                self._begin(part.id, f"{name}: ")
                self._write(harmless(new))

    def end_line(self) -> None:
        if self._part:
            self._part = ""
            self._write("\n")

    def line(self, text: str) -> None:
        self.end_line()
        self._write(f"{text}\n")

    def _begin(self, part_id: str, prefix: str) -> None:
        if self._part != part_id:
            self.end_line()
            self._write(prefix)
            self._part = part_id

    def _card(self, name: str, part: ToolCallPart) -> None:
        if part.status in UNSETTLED or (part.id, part.status) in self._cards:
            return
        self._cards.add((part.id, part.status))
        words = [f"{name}: [{one_line(part.tool_name)}] {part.status}"]
        if part.args is not UNSET:
            words.append(short_value(part.args, LONGEST_VALUE))
        if part.result is not UNSET and part.result is not None:
            words.append(f"→ {short_value(part.result, LONGEST_VALUE)}")
        if part.error is not UNSET:
            words.append(f"! {one_line(part.error)}")
        self.line(" ".join(words))


class Talk:
    """The lines of a pipe, one after the other; each is answered before the next is said."""

    def __init__(
        self, client: Client, space_id: str, names: dict[str, str], write: Write, warn: Write
    ) -> None:
        self._client = client
        self._space_id = space_id
        self._names = names
        self._text = PlainText(write, names)
        self._warn = warn
        self._has_failed = False

    async def say(self, line: str) -> None:
        view = SpaceView()
        mine = ""
        runs: dict[str, RunChanged] = {}
        async for event in self._client.ask(self._space_id, line):
            view.apply(event)
            self._note(event, runs)
            for message in view.messages():
                mine = mine or message.id
                if message.id != mine:
                    self._text.show(message)
        self._text.end_line()
        for run in runs.values():
            self._report(run)

    def _note(self, event: SpaceEvent, runs: dict[str, RunChanged]) -> None:
        if isinstance(event, RunChanged):
            runs[event.run_id] = event

    def _report(self, run: RunChanged) -> None:
        name = one_line(self._names.get(run.entity_id, run.entity_id))
        if run.status == "failed":
            words = run.error.message if run.error is not UNSET else "the run failed"
            self._warn(f"roomful: {name} failed: {one_line(words)}\n")
            self._has_failed = self._has_failed or run.root_run_id is UNSET
        elif run.status in WAITING:
            for pending in run.pending_tool_calls or ():
                if pending.asks_people:
                    tool = one_line(pending.tool_name)
                    self._warn(
                        f"roomful: {name} waits for an answer to {tool}: roomful chat {self._space_id}\n"
                    )

    @property
    def exit_code(self) -> int:
        return 1 if self._has_failed else 0


async def talk(client: Client, space_id: str, source: BinaryIO, write: Write, warn: Write) -> int:
    names = {member.entity_id: member.name for member in await client.members(space_id)}
    talking = Talk(client, space_id, names, write, warn)
    lines = _lines(source)
    while (line := await lines.get()) is not None:
        if text := line.decode(errors="replace").strip():
            await talking.say(text)
    return talking.exit_code


def _lines(source: BinaryIO) -> "asyncio.Queue[bytes | None]":
    """Read in a thread that the program's end does not wait for; only so far ahead."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[bytes | None] = asyncio.Queue(1)

    def read() -> None:
        while True:
            line = source.readline() or None
            try:
                asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()
            except (RuntimeError, asyncio.CancelledError):
                return  # nobody listens any more
            if line is None:
                return

    threading.Thread(target=read, name="lines", daemon=True).start()
    return lines
