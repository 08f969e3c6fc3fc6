"""The one way out: whatever is announced is folded into what readers now see, then handed to the bus."""

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache, partial
from typing import Protocol

import msgspec

from roomful.domain.arguments import Growth
from roomful.domain.events import (
    WORDS,
    Announce,
    Announcement,
    CallCompleted,
    CallFailed,
    CallInput,
    CallReady,
    CallStarted,
    MessageChanged,
    PartReset,
    Position,
    SubagentCall,
    SubagentEnded,
    SubagentText,
    TextDelta,
    TextEnded,
    TextStarted,
)
from roomful.domain.fold import SpaceView
from roomful.domain.messages import Message, Part
from roomful.domain.ports import Bus
from roomful.domain.runs import Run
from roomful.spaces.lane import Straight

STARTS = (TextStarted, CallStarted)
_PER_SPACE = (CallStarted, CallInput, CallReady, CallCompleted, CallFailed)
"""On a run's own stream these are told once and whole, not once per space."""
GROWTH = (TextDelta, CallInput, TextEnded, SubagentCall, SubagentText, SubagentEnded)
"""These say only what is new, to somebody who has all that was before."""
UNSTORED = (TextStarted, CallStarted, PartReset, *GROWTH)
"""What a run may say before it is stored, and so also after another process took the run from its driver."""
SETTLING = (MessageChanged, CallReady, CallCompleted, CallFailed)
"""What others may say of a message that grows here: its card was answered."""
NAMES_KEPT = 1000


@lru_cache(NAMES_KEPT)
def space_channel(space_id: str) -> str:
    return f"space:{space_id}"


@lru_cache(NAMES_KEPT)
def run_channel(run_id: str) -> str:
    return f"run:{run_id}"


def person_channel(entity_id: str) -> str:
    return f"person:{entity_id}"


class Company(Protocol):
    """Other processes, whose readers see what grows here."""

    def took_up(self, message: Message) -> None: ...
    def let_go(self, space_id: str, message_id: str) -> None: ...
    def disowned(self, space_id: str, message_id: str) -> None: ...
    def watches(self, run_id: str) -> bool:
        """Whether somebody watches the run in another process."""
        ...


class Announcer:
    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._views: dict[str, SpaceView] = {}
        self._own: set[str] = set()
        """The messages that grow because of a run that is driven here."""
        self._listeners: list[tuple[Announce, Collection[object]]] = []
        self._listened: list[Collection[object]] = []
        """What words are told for: if all of these are empty, nobody but readers hears them."""
        self._company: Company | None = None
        self.on_growing: Callable[[str, bool], None] | None = None
        """Called when the first message of a space grows here, and when none does any more."""

    def also_tell(self, listener: Announce, *, words_for: Collection[object] = ("everybody",)) -> None:
        """Called with everything that is announced from here on, after its readers here. While `words_for` is
        empty, words that a run says are left out."""
        self._listeners.append((listener, words_for))
        self._listened.append(words_for)

    def share_with(self, company: Company) -> None:
        self._company = company

    def __call__(self, announcements: list[Announcement]) -> None:
        for announcement in announcements:
            if announcement.space_id:
                self._fold(announcement, is_own=True)
                self._bus.publish(space_channel(announcement.space_id), (announcement,))
            if announcement.run_id is not None and is_for_run(announcement):
                self._tell_run(announcement.run_id, announcement)
        for listener, _ in self._listeners:
            listener(announcements)

    def word(self, announcement: Announcement) -> None:
        """The same for one more word of a part that grows, which is by far the most of what is said."""
        event, space_id = announcement.event, announcement.space_id
        if (view := self._views.get(space_id)) is not None:
            view.apply(event)
        self._bus.publish(space_channel(space_id), (announcement,))
        if announcement.run_id is not None and isinstance(event, TextDelta):
            self._tell_run(announcement.run_id, announcement)
        for listener, words_for in self._listeners:
            if words_for:
                listener([announcement])

    def straight(self, space_id: str, growth: Growth) -> Straight | None:
        """For who goes on with one argument, as long as one reader hears it and nobody else."""
        view = self._views.get(space_id)
        if view is None or any(self._listened):
            return None
        lane = self._bus.lane(space_channel(space_id), growth)
        return Straight(lane, view.growing, self._listened) if lane is not None else None

    def adopt(self, message: Message) -> None:
        """A message that was parked grows again: readers see it from memory as of now."""
        self._adopt(message, is_own=True)
        if self._company is not None:
            self._company.took_up(message)

    def forget(self, space_id: str, message_id: str) -> None:
        """The row holds everything; nothing is kept in memory."""
        self._forget(space_id, message_id)
        if self._company is not None:
            self._company.let_go(space_id, message_id)

    def disown(self, run: Run) -> None:
        """Another process took the run while its messages grew here, also those that it had closed and could
        not store. What was said last may never be stored, so that its readers begin anew."""
        growing = [message for view in self._views.values() for message in view.messages()]
        for message in growing:
            if message.run_id == run.id and message.id in self._own:
                self._forget(message.space_id, message.id)
                if self._company is not None:
                    self._company.disowned(message.space_id, message.id)
        self._bus.renew(list(map(space_channel, run.shown_in)))

    def begin_anew(self, space_ids: Sequence[str]) -> None:
        """What another process said last was perhaps not heard here, and what comes now builds on it."""
        if self._company is not None:
            self._bus.renew(list(map(space_channel, space_ids)))

    def lose(self, space_id: str, message_id: str) -> None:
        """The message grows elsewhere, or has ended there."""
        if message_id in self._own:
            self._forget(space_id, message_id)

    def amend(self, space_id: str, message: Message, parts: Sequence[Part]) -> None:
        """Parts of a growing message became known that were announced elsewhere."""
        if (view := self._views.get(space_id)) is not None:
            known = msgspec.structs.replace(message, parts=list(parts))
            view.apply(MessageChanged(space_id=space_id, message=known))

    def growing(self, space_id: str) -> dict[str, Message]:
        """The messages that still grow, as of now."""
        view = self._views.get(space_id)
        return {message.id: message for message in view.messages()} if view else {}

    def growing_at(self, space_id: str) -> list[tuple[int, str]]:
        """The `seq` and id of each of them; what they hold is not looked at."""
        view = self._views.get(space_id)
        return view.places() if view is not None else []

    def one_growing(self, space_id: str, message_id: str) -> Message | None:
        view = self._views.get(space_id)
        return view.message(message_id) if view is not None else None

    def position(self, space_id: str) -> Position:
        return self._bus.position(space_channel(space_id))

    async def follows(self, space_id: str) -> None:
        """Returns when whatever is announced in this space from now on, anywhere, is heard here."""
        await self._bus.follows(space_channel(space_id))

    def is_run_followed(self, run_id: str) -> bool:
        if self._company is not None and self._company.watches(run_id):
            return True
        return self._bus.is_followed(run_channel(run_id))

    def whether_followed(self, run_id: str) -> Callable[[], bool]:
        """The same, for who asks at every word."""
        if self._company is not None:
            return partial(self.is_run_followed, run_id)
        return partial(self._bus.is_followed, run_channel(run_id))

    # What other processes announced.

    def hear(self, announcement: Announcement, *, in_step: bool) -> None:
        """`in_step` when everything is known here that its sender announced before."""
        event, view = announcement.event, self._views.get(announcement.space_id)
        if not in_step and isinstance(event, GROWTH):
            return
        if isinstance(event, TextDelta | TextEnded | CallInput) and (
            view is None or not view.is_growing(event)
        ):
            return
        if isinstance(event, CallInput) and view is not None:
            view.follow_arguments(event)
        if in_step or (isinstance(event, SETTLING) and message_of(event) in self._own):
            self._fold(announcement, is_own=False)
        self.tell_readers(announcement)

    def hear_of_run(self, run_id: str, announcement: Announcement) -> None:
        self._tell_run(run_id, announcement)

    def hear_growing(self, message: Message, *, in_step: bool = True) -> None:
        """The message grows in another process."""
        if in_step:
            self._adopt(message, is_own=False)
        else:
            self.lose(message.space_id, message.id)

    def hears_growing(self, space_id: str, message_id: str) -> bool:
        view = self._views.get(space_id)
        return view is not None and view.message(message_id) is not None and message_id not in self._own

    def hear_still(self, space_id: str, message_id: str) -> None:
        if message_id not in self._own:
            self._forget(space_id, message_id)

    def forget_heard(self, space_ids: Sequence[str]) -> None:
        """Nobody says any more what grows in other processes, and readers begin anew."""
        for space_id in space_ids:
            for message in self._views[space_id].messages() if space_id in self._views else ():
                self.hear_still(space_id, message.id)

    def own_growing(self, space_id: str) -> list[Message]:
        view = self._views.get(space_id)
        return [one for one in view.messages() if one.id in self._own] if view is not None else []

    def tell_readers(self, announcement: Announcement) -> None:
        """What was announced elsewhere, or is found to be stored."""
        self._bus.publish(space_channel(announcement.space_id), (announcement,))

    # Inside.

    def _fold(self, announcement: Announcement, *, is_own: bool) -> None:
        event, space_id = announcement.event, announcement.space_id
        view = self._views.get(space_id)
        if isinstance(event, WORDS):
            if view is not None:
                view.apply(event)
            return
        if announcement.opens and isinstance(event, MessageChanged):
            self._adopt(event.message, is_own=is_own)
            return
        if isinstance(event, STARTS):
            view = view or self._view(space_id)
            if is_own:
                self._own.add(event.message_id)
        if view is None:
            return
        view.apply(event)
        if isinstance(event, MessageChanged) and event.message.status == "final":
            self._own.discard(event.message.id)
            self._leave(space_id, view)

    def _adopt(self, message: Message, *, is_own: bool) -> None:
        """Whoever drove it before may have announced what never was stored: its readers begin anew."""
        view = self._view(message.space_id)
        known = view.message(message.id)
        if known is not None and known != message:
            self._bus.renew([space_channel(message.space_id)])
        view.adopt(copy_of(message))
        if is_own:
            self._own.add(message.id)
        else:
            self._own.discard(message.id)

    def _forget(self, space_id: str, message_id: str) -> None:
        self._own.discard(message_id)
        if (view := self._views.get(space_id)) is not None:
            view.forget(message_id)
            self._leave(space_id, view)

    def _view(self, space_id: str) -> SpaceView:
        if (view := self._views.get(space_id)) is None:
            view = self._views[space_id] = SpaceView(open_only=True)
            if self.on_growing is not None:
                self.on_growing(space_id, True)
        return view

    def _leave(self, space_id: str, view: SpaceView) -> None:
        if view.is_empty and self._views.pop(space_id, None) is not None and self.on_growing is not None:
            self.on_growing(space_id, False)

    def _tell_run(self, run_id: str, announcement: Announcement) -> None:
        if self._bus.is_followed(run_channel(run_id)):
            self._bus.publish(run_channel(run_id), (announcement,))


def message_of(event: MessageChanged | CallReady | CallCompleted | CallFailed) -> str:
    return event.message.id if isinstance(event, MessageChanged) else event.message_id


def is_for_run(announcement: Announcement) -> bool:
    """Whether a run's own stream tells it too."""
    return not announcement.space_id or not isinstance(announcement.event, _PER_SPACE)


def copy_of(message: Message) -> Message:
    """The message as it stands, safe from what is said later."""
    parts = [msgspec.structs.replace(part) for part in message.parts]
    return msgspec.structs.replace(message, parts=parts)
