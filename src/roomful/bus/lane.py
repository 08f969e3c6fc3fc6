"""A straight way to the one reader of a channel, for words that are by far the most of what is said."""

import asyncio

from roomful.bus.channel import FRAME_BYTES, Channel, MemorySubscription
from roomful.domain.arguments import Growth
from roomful.domain.events import Announcement
from roomful.domain.ports import Tell


class MemoryLane:
    """What `Channel.extend` does with a word, if the reader is the same and nothing is to be waited for."""

    __slots__ = ("_branches", "_channel", "_own", "_reader", "_readers", "_run_id", "_tell", "_time")

    def __init__(self, channel: Channel, reader: MemorySubscription, run_id: str, tell: Tell) -> None:
        self._channel = channel
        self._reader = reader
        self._own = reader.log
        """The channel, or a branch of it."""
        self._readers = len(channel.readers)
        self._branches = channel.branches_of.get(run_id)
        self._run_id = run_id
        self._tell = tell
        self._time = asyncio.get_running_loop().time

    def say(self, announcement: Announcement, text: str) -> bool:
        channel, reader, own = self._channel, self._reader, self._own
        waiter, branches = reader.waiter, channel.branches_of.get(self._run_id)
        if (
            waiter is None
            or waiter.done()
            or reader.offset != own.head
            or own.telling is not None
            or channel.relays
            or len(channel.readers) != self._readers
            or branches is not self._branches
            or (branches is not None and len(branches) != 1)
        ):
            return False
        try:
            if not self._tell(channel.head + 1, text):
                return False
        except Exception as error:  # noqa: BLE001 - an outermost seam, as where other news are told
            reader.give_up(error)
            return False
        channel.keep(announcement, FRAME_BYTES + len(text))
        channel.shown, channel.shown_volume = channel.head, channel.volume
        reader.offset, reader.volume = own.head, own.volume
        reader.until = self._time() + reader.seconds
        return True


def straight_to(channel: Channel, growth: Growth) -> MemoryLane | None:
    """The lane to who would hear of it, if there is just one."""
    branches = channel.branches_of.get(growth.run_id, ())
    if len(channel.readers) + len(branches) != 1 or channel.relays:
        return None
    readers = [*channel.readers, *(reader for branch in branches for reader in branch.readers)]
    ear = readers[0].ear if readers else None
    tell = ear.lane(growth) if ear is not None else None
    return MemoryLane(channel, readers[0], growth.run_id, tell) if tell is not None else None
