"""Talking in a space at a terminal: what happens there above, the line that is typed below."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from roomful.client.client import Client
from roomful.client.following import Happening, LiveSpace, WaitingCard
from roomful.client.terminal.commands import is_command, obey
from roomful.client.terminal.drawing import Ink
from roomful.client.terminal.filling import Filling
from roomful.client.terminal.harmless import head_of, one_line, wrap
from roomful.client.terminal.line import INTERRUPT, LEAVE, Keys, Line, draw_line
from roomful.client.terminal.screen import Screen
from roomful.client.terminal.scroll import Scroll
from roomful.domain.answers import Snapshot
from roomful.domain.errors import RoomfulError
from roomful.domain.events import RunChanged
from roomful.domain.runs import WAITING
from roomful.domain.shape import UNSET

FRAME = 0.03
"""Seconds between two drawings: many deltas are one."""
SHOWN_AT_FIRST = 20
MOST_MISSED = 200
MOST_TO_DO = 100


class Session:
    def __init__(self, client: Client, space_id: str, me: str, screen: Screen, ink: Ink) -> None:
        self.client = client
        self.space_id = space_id
        self.space: LiveSpace | None = None
        self._me = me
        self._screen = screen
        self._ink = ink
        self._scroll = Scroll(ink)
        self._keys = Keys()
        self._line = Line()
        self._stays: list[str] = []
        self._filling = Filling(client, lambda words: self.say(ink("yellow", words)), self.name)
        self._is_lost = False
        self._is_catching_up = False
        self._is_leaving = False
        self._exit = 0
        self._changed = asyncio.Event()
        self._to_do: asyncio.Queue[Coroutine[Any, Any, None]] = asyncio.Queue(MOST_TO_DO)
        self._following: asyncio.Task[None] | None = None

    async def run(self) -> int:
        """Until somebody leaves, or the space is not there any more."""
        doing = asyncio.create_task(self._do())
        doing.add_done_callback(lambda _: self.leave())
        self._following = asyncio.create_task(self._follow(self.space_id))
        try:
            while not self._is_leaving:
                await self._changed.wait()
                self._changed.clear()
                self._draw()
                await asyncio.sleep(FRAME)
        finally:
            self._is_leaving = True
            self._draw()
            doing.cancel()
            self._following.cancel()
            ended = await asyncio.gather(doing, self._following, return_exceptions=True)
        for error in ended:
            if isinstance(error, Exception):
                raise error
        return self._exit

    # What happens.

    async def _follow(self, space_id: str) -> None:
        try:
            async with self.client.follow(space_id, on_connection=self._connection) as space:
                self._begin(space)
                async for event in space:
                    if isinstance(event, Snapshot):
                        await self._fill_gap(event)
                    self._happened(event)
                    self.redraw()
        except RoomfulError as error:
            self.say(self._ink("red", one_line(error.detail)))
            self._exit = 1
            self.leave()

    def _begin(self, space: LiveSpace) -> None:
        self.space = space
        self.say(self._ink("dim", f"── {space.space_id} ── /help lists commands"))
        self._scroll.skip(space.messages()[:-SHOWN_AT_FIRST])

    async def _fill_gap(self, snapshot: Snapshot) -> None:
        """More was said while nobody listened than the snapshot holds. Nothing is drawn until it is there:
        what was said first is shown first."""
        missing = snapshot.messages[0].seq - self._scroll.last_seq - 1 if snapshot.messages else 0
        if snapshot.has_more and missing > 0 and self._scroll.last_seq:
            self._is_catching_up = True
            try:
                page = await self.client.messages(
                    self.space_id, before=snapshot.messages[0].seq, limit=min(missing, MOST_MISSED)
                )
            finally:
                self._is_catching_up = False
            stays, _ = self._scroll.take(page.messages, self._names(), self._screen.columns)
            self._stays += stays

    def _happened(self, event: Happening) -> None:
        if not isinstance(event, RunChanged) or event.root_run_id is not UNSET:
            return
        if event.status == "failed":
            words = event.error.message if event.error is not UNSET else "the run failed"
            self.say(self._ink("red", f"{self.name(event.entity_id)} failed: {one_line(words)}"))
        elif event.status == "canceled":
            self.say(self._ink("dim", f"{self.name(event.entity_id)} was stopped"))

    def _connection(self, is_there: bool) -> None:
        self._is_lost = not is_there
        self.redraw()

    # What is done.

    async def _do(self) -> None:
        """One after the other, in the order in which it was typed."""
        while True:
            doing = await self._to_do.get()
            try:
                await doing
            except RoomfulError as error:
                self.say(self._ink("red", one_line(error.detail)))
            self.redraw()

    def type(self, data: bytes) -> None:
        """What came from the keyboard; nothing at all means that it is gone."""
        if not data:
            self.leave()
        for key in self._keys.feed(data):
            if key == INTERRUPT:
                self._interrupt()
            elif key == LEAVE and not self._line.text:
                self.leave()
            elif (said := self._line.press(key)) is not None:
                self._said(said)
        self.redraw()

    def _interrupt(self) -> None:
        if self._filling.card is not None:
            self._filling.leave()
            self._line.clear()
            self.say(self._ink("dim", "left unanswered; /answer asks again"))
        elif self._line.text:
            self._line.clear()
        else:
            self.say(self._ink("dim", "/stop stops who is at work, Ctrl-D leaves"))

    def _said(self, said: str) -> None:
        if is_command(said):
            self._later(obey(self, said))
        elif self._filling.question is not None:
            if (filled := self._filling.answer(said)) is not None:
                self._later(self._filling.send(*filled))
        elif said.startswith("/"):
            self.say(f"there is no {one_line(said.split()[0])}; /help lists what there is")
        elif said.strip():
            self._later(self._post(said))

    def _later(self, doing: Coroutine[Any, Any, None]) -> None:
        try:
            self._to_do.put_nowait(doing)
        except asyncio.QueueFull:
            doing.close()
            self.say(self._ink("red", "too much waits to be sent; this was not"))

    async def _post(self, text: str) -> None:
        try:
            await self.client.post(self.space_id, text)
        except RoomfulError:
            self.say(self._ink("red", f"not sent: {one_line(text)}"))
            raise

    def cards(self) -> Sequence[WaitingCard]:
        cards = self.space.waiting() if self.space is not None else []
        return [card for card in cards if card.part.target_entity_id in (UNSET, self._me)]

    def begin_form(self, card: WaitingCard) -> None:
        self._filling.begin(card)
        self.redraw()

    # What is seen.

    def say(self, *lines: str) -> None:
        self._stays += lines
        self.redraw()

    def redraw(self) -> None:
        self._changed.set()

    def leave(self) -> None:
        self._is_leaving = True
        self.redraw()

    async def switch(self, space_id: str) -> None:
        await self.client.space(space_id)
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
        if self._filling.card is not None:
            self._filling.leave()
        self.space, self.space_id = None, space_id
        self._scroll, self._is_lost = Scroll(self._ink), False
        self._following = asyncio.create_task(self._follow(space_id))

    def name(self, entity_id: str) -> str:
        return one_line(self._names().get(entity_id, entity_id))

    def _names(self) -> dict[str, str]:
        members = self.space.members.values() if self.space is not None else ()
        return {member.entity_id: member.name for member in members}

    def _draw(self) -> None:
        if self._is_catching_up and not self._is_leaving:
            return
        messages = self.space.messages() if self.space is not None else []
        self._filling.look_after(self.cards(), messages, is_typing=bool(self._line.text))
        columns = self._screen.columns
        said, self._stays = self._stays, []
        stays, live = self._scroll.take(messages, self._names(), columns)
        stays = [line for text in said for line in _lines(text, columns)] + stays
        if self._is_leaving:
            self._screen.leave([*stays, *live])
            return
        live += [head_of(line, columns) for line in self._notes()]
        self._screen.draw(stays, live, *draw_line(self._prompt(), self._line, columns))

    def _notes(self) -> list[str]:
        notes: list[str] = []
        if self.space is not None:
            at_work = [
                self.name(run.entity_id) for run in self.space.runs.values() if run.status not in WAITING
            ]
            notes += [f"{', '.join(dict.fromkeys(at_work))} at work… (/stop)"] if at_work else []
        for number, card in enumerate(self.cards(), 1):
            asked = self._filling.card
            if card.run is not None and (asked is None or card.part.id != asked.part.id):
                notes.append(f"{number}) {one_line(card.part.tool_name)} waits: /answer {number}")
        if self._is_lost:
            notes.append("the connection is lost; trying again…")
        return notes

    def _prompt(self) -> str:
        question = self._filling.question
        return f"{question.prompt}: " if question is not None else f"{self.space_id}> "


def _lines(text: str, columns: int) -> list[str]:
    """Painted lines fit already."""
    return [text] if "\x1b" in text else wrap(text, columns)
