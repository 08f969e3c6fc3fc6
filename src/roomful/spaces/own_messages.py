"""A run's own messages that are not final yet, as they stand. In each space one of them at most takes new
parts; one that a mention has closed stays here until all its parts are settled."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial

import msgspec

from roomful.domain.fold import SpaceView
from roomful.domain.messages import (
    UNSETTLED,
    Message,
    Part,
    as_seen_by,
    part_for_one,
    plain_step,
)
from roomful.domain.runs import RunStatus
from roomful.spaces.announcer import copy_of

MOST_PARTS = 500
"""Of one message. What a run says beyond them is in another one."""


class OwnMessages:
    def __init__(self) -> None:
        self.views: defaultdict[str, SpaceView] = defaultdict(
            partial(SpaceView, open_only=True, is_writers=True)
        )
        self._current: dict[str, str] = {}
        self._spaces: dict[str, str] = {}
        self.seqs: dict[str, int] = {}

    def take_up(self, messages: Sequence[Message]) -> None:
        """Those of a run that was left. One that mentions somebody was closed by that."""
        for message in sorted(messages, key=lambda message: message.seq):
            self.adopt(message)
            self.seqs[message.id] = message.seq
            if not message.mentions:
                self._current[message.space_id] = message.id

    def adopt(self, message: Message) -> None:
        self.views[message.space_id].adopt(message)
        self._spaces[message.id] = message.space_id

    def current(self, space_id: str) -> str | None:
        """The message that takes new parts here."""
        return self._current.get(space_id)

    def is_full(self, message_id: str) -> bool:
        message = self.message(message_id)
        return message is not None and len(message.parts) >= MOST_PARTS

    def begin(self, space_id: str, message_id: str) -> None:
        self._current[space_id] = message_id
        self._spaces[message_id] = space_id

    def close(self, message_id: str) -> Message | None:
        """It takes no new parts from now on."""
        space_id = self._spaces.get(message_id, "")
        if self._current.get(space_id) == message_id:
            del self._current[space_id]
        return self.message(message_id)

    def drop(self, message_id: str) -> None:
        """The message is final, or gone."""
        self.close(message_id)
        self._spaces.pop(message_id, None)

    def message(self, message_id: str) -> Message | None:
        space_id = self._spaces.get(message_id)
        return self.views[space_id].message(message_id) if space_id is not None else None

    def copy(self, message_id: str) -> Message | None:
        message = self.message(message_id)
        return copy_of(message) if message is not None else None

    def copies(self, *space_ids: str) -> list[Message]:
        return [copy_of(message) for message in self if message.space_id in space_ids]

    def holder(self, space_id: str, part_id: str) -> Message | None:
        for message in self:
            if message.space_id == space_id and any(part.id == part_id for part in message.parts):
                return message
        return None

    def part(self, space_id: str, part_id: str) -> Part | None:
        message = self.holder(space_id, part_id)
        return next((part for part in message.parts if part.id == part_id), None) if message else None

    @property
    def space_ids(self) -> list[str]:
        return list(dict.fromkeys(self._spaces.values()))

    def __iter__(self) -> Iterator[Message]:
        for message_id, space_id in list(self._spaces.items()):
            message = self.views[space_id].message(message_id)
            if message is not None:
                yield message


def final_copy(own: Message, status: RunStatus, now: str) -> Message:
    """The message as it is when the run has ended so, or has closed it."""
    message = copy_of(own)
    message.status = "final"
    message.updated_at = now
    for part in message.parts:
        if part.status in UNSETTLED or (status == "canceled" and part.status == "waiting"):
            part.status = "canceled"
    return message


def is_unsettled(message: Message) -> bool:
    return any(part.status in UNSETTLED or part.status == "waiting" for part in message.parts)


def by_audience(message: Message) -> list[tuple[Message, str | None]]:
    """The message as everybody sees it, and for each member who has parts of their own, those alone."""
    public = as_seen_by(message, None)
    seen: list[tuple[Message, str | None]] = [(public, None)] if public.parts or not message.parts else []
    for entity_id in dict.fromkeys(one for part in message.parts if (one := part_for_one(part))):
        own = [part for part in message.parts if part_for_one(part) == entity_id]
        seen.append((msgspec.structs.replace(message, parts=own), entity_id))
    return seen


def is_of_step(part: Part, step: int) -> bool:
    """Whether it was begun by an answer that is asked for once more."""
    return part.status == "streaming" or (part.status == "complete" and plain_step(part) == step)
