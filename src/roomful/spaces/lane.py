"""More of one argument, said in one step: the way to its reader is found once, not for every word."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from roomful.domain.arguments import Arguments, Growth
from roomful.domain.events import Announcement, CallInput
from roomful.domain.fold import Growing
from roomful.domain.ports import Lane
from roomful.spaces.outbox import Outbox


class Straight(NamedTuple):
    """The way out of a space, if just one reader hears what is said there."""

    lane: Lane
    growing: Mapping[str, Growing]
    """What readers who come now would see."""
    also_heard: Collection[Collection[object]]
    """Unless all of these are empty, others want words too."""


class CallLane:
    """Says what `Voice.say_more` says, whenever there is nothing more to do about it."""

    __slots__ = ("_also_heard", "_growing", "_growth", "_lane", "_out", "_space_id", "_unsaved")

    def __init__(
        self, growth: Growth, space_id: str, way: Straight, out: Outbox, unsaved: Mapping[str, None]
    ) -> None:
        self._growth = growth
        self._space_id = space_id
        self._lane, self._growing, self._also_heard = way
        self._out = out
        self._unsaved = unsaved

    def say(self, text: str, so_far: Arguments) -> bool:
        """False: nothing was said, and the longer way is to be taken."""
        growth, space_id = self._growth, self._space_id
        growing = self._growing.get(growth.call_id)
        if (
            growing is None
            or not self._out.is_clear
            or space_id not in self._unsaved
            or any(self._also_heard)
        ):
            return False
        mark = so_far.mark
        event = CallInput(growth.call_id, (("append", growth.path, text),), so_far, mark)
        if not self._lane.say(Announcement(event, space_id, growth.run_id), text):
            return False
        growing.so_far, growing.mark = so_far, mark
        return True
