"""Which messages are on the screen for good, and which still change."""

from collections.abc import Iterable, Mapping

from roomful.client.terminal.drawing import Ink, draw_message, draw_part
from roomful.domain.messages import Message, ToolCallPart

_State = tuple[bool, str, tuple[tuple[str, str, str], ...]]


class Scroll:
    """A message that is final is written once and scrolls away; an open one is drawn anew until it is. What
    changes later is told below, where people look."""

    def __init__(self, ink: Ink) -> None:
        self._ink = ink
        self._states: dict[str, _State] = {}
        self.last_seq = 0

    def skip(self, messages: Iterable[Message]) -> None:
        """These count as shown."""
        for message in messages:
            self._note(message)

    def take(
        self, messages: Iterable[Message], names: Mapping[str, str], columns: int
    ) -> tuple[list[str], list[str]]:
        """Lines that stay, and lines to be drawn again."""
        stays: list[str] = []
        live: list[str] = []
        for message in messages:
            before = self._states.get(message.id)
            if before is not None:
                stays += self._changed(before, message, names, columns)
            elif message.status == "final":
                stays += draw_message(message, names, columns, self._ink)
                self._note(message)
            else:
                live += draw_message(message, names, columns, self._ink)
        return stays, live

    def _note(self, message: Message) -> None:
        self._states[message.id] = _state(message)
        self.last_seq = max(self.last_seq, message.seq)

    def _changed(self, before: _State, message: Message, names: Mapping[str, str], columns: int) -> list[str]:
        now = _state(message)
        if now == before:
            return []
        self._note(message)
        if now[:2] != before[:2]:
            head = self._ink("dim", "· changed:" if not message.deleted else "· deleted:")
            return [head, *draw_message(message, names, columns, self._ink)]
        lines: list[str] = []
        for part in message.parts:
            if isinstance(part, ToolCallPart) and _card(part) not in before[2]:
                lines += draw_part(part, names, columns, self._ink)
        return lines


def _state(message: Message) -> _State:
    cards = tuple(_card(part) for part in message.parts if isinstance(part, ToolCallPart))
    return bool(message.deleted), message.text, cards


def _card(part: ToolCallPart) -> tuple[str, str, str]:
    return part.id, part.status, part.answered_at or ""
