"""The one way out: whatever is announced is folded into what readers now see, then handed to the bus."""

import msgspec

from roomful.domain.events import (
    Announce,
    Announcement,
    CallCompleted,
    CallFailed,
    CallInput,
    CallReady,
    CallStarted,
    MessageChanged,
    Position,
    TextStarted,
)
from roomful.domain.fold import SpaceView
from roomful.domain.messages import Message
from roomful.domain.ports import Bus

_PER_SPACE = (CallStarted, CallInput, CallReady, CallCompleted, CallFailed)
"""On a run's own stream these are told once and whole, not once per space."""


def space_channel(space_id: str) -> str:
    return f"space:{space_id}"


def run_channel(run_id: str) -> str:
    return f"run:{run_id}"


def person_channel(entity_id: str) -> str:
    return f"person:{entity_id}"


class Announcer:
    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._views: dict[str, SpaceView] = {}
        self._listeners: list[Announce] = []

    def also_tell(self, listener: Announce) -> None:
        """Called with everything that is announced from here on, after its readers here."""
        self._listeners.append(listener)

    def __call__(self, announcements: list[Announcement]) -> None:
        for announcement in announcements:
            if announcement.space_id:
                self._fold(announcement)
                self._bus.publish(space_channel(announcement.space_id), (announcement,))
            self._tell_run(announcement)
        for listener in self._listeners:
            listener(announcements)

    def adopt(self, message: Message) -> None:
        """A message that was parked grows again: readers see it from memory as of now."""
        self._view(message.space_id).adopt(copy_of(message))

    def forget(self, space_id: str, message_id: str) -> None:
        """The row holds everything; nothing is kept in memory."""
        if (view := self._views.get(space_id)) is not None:
            view.forget(message_id)
            if not view.messages():
                del self._views[space_id]

    def growing(self, space_id: str) -> tuple[Position, dict[str, Message]]:
        """The stream's position and, as of it, the messages that still grow."""
        view = self._views.get(space_id)
        messages = {message.id: message for message in view.messages()} if view else {}
        return self._bus.position(space_channel(space_id)), messages

    def is_run_followed(self, run_id: str) -> bool:
        return self._bus.is_followed(run_channel(run_id))

    def _fold(self, announcement: Announcement) -> None:
        event = announcement.event
        if announcement.opens and isinstance(event, MessageChanged):
            self.adopt(event.message)
            return
        view = self._views.get(announcement.space_id)
        if view is None:
            if not isinstance(event, TextStarted | CallStarted):
                return
            view = self._view(announcement.space_id)
        view.apply(event)

    def _view(self, space_id: str) -> SpaceView:
        return self._views.setdefault(space_id, SpaceView(open_only=True))

    def _tell_run(self, announcement: Announcement) -> None:
        run_id = announcement.run_id
        if run_id is None or not self._bus.is_followed(run_channel(run_id)):
            return
        if announcement.space_id and isinstance(announcement.event, _PER_SPACE):
            return
        self._bus.publish(run_channel(run_id), (announcement,))


def copy_of(message: Message) -> Message:
    """The message as it stands, safe from what is said later."""
    parts = [msgspec.structs.replace(part) for part in message.parts]
    return msgspec.structs.replace(message, parts=parts)
