"""One channel: a bounded log, and readers that are no more than a place in it."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from roomful.domain.events import (
    WORDS,
    Announcement,
    CallInput,
    CutReason,
    MessageChanged,
    RunChanged,
    TextDelta,
)
from roomful.domain.ports import Ear, Entry
from roomful.domain.wire import Form, frame

LAG_EVENTS = 1024
LAG_BYTES = 1024 * 1024
WINDOW_EVENTS = 4 * LAG_EVENTS
WINDOW_BYTES = 4 * LAG_BYTES
FRAME_BYTES = 96
_VALUE_BYTES = 64
"""About what a word takes on the wire besides its text."""
CROWD = 32
"""So many readers of a channel and more are told of what comes together, not of each thing alone."""
CROWD_SECONDS = 90e-6
"""How long they wait for more, for each of them: a thousand hear of news 11 times a second."""

log = logging.getLogger("roomful.bus")


class Channel:
    __slots__ = (
        "branches",
        "branches_of",
        "entries",
        "epoch",
        "followed_at",
        "head",
        "kept",
        "newest",
        "readers",
        "ready",
        "relays",
        "shown",
        "shown_volume",
        "telling",
        "told_at",
        "volume",
    )

    def __init__(self, epoch: str) -> None:
        self.epoch = epoch
        self.head = 0
        self.shown = 0
        """How far the readers were told that there is something."""
        self.shown_volume = 0
        self.told_at = 0.0
        self.telling: asyncio.Handle | None = None
        self.kept = 0
        """Bytes in the window."""
        self.volume = 0
        """Bytes ever published, so that a reader's lag is one subtraction."""
        self.entries: deque[Entry] = deque()
        self.newest: tuple[tuple[int, int], list[Entry]] = ((0, 0), [])
        self.readers: dict[MemorySubscription, None] = {}
        self.relays: dict[str, Channel] = {}
        self.branches: dict[Branch, None] = {}
        self.branches_of: dict[str, dict[Branch, None]] = {}
        """By run, and by a message that is of no run."""
        self.followed_at = 0.0
        self.ready: asyncio.Future[None] | None = None

    @property
    def is_in_use(self) -> bool:
        return bool(self.readers or self.branches or self.relays)

    def renew(self, epoch: str) -> None:
        """Those who read now may still take what came before it."""
        self.epoch = epoch
        self.close("renewed")

    def close(self, reason: CutReason) -> None:
        for reader in list(self.readers):
            reader.close(reason)
        for branch in list(self.branches):
            branch.close(reason)

    def extend(self, announcements: Sequence[Announcement]) -> None:
        for announcement in announcements:
            event = announcement.event
            is_word = isinstance(event, WORDS)
            if announcement.encoded is None and (self.readers or self.relays or not is_word):
                announcement.encoded = {}
            if isinstance(event, CallInput):  # A word is not encoded just to be weighed.
                size = FRAME_BYTES
                for _, _, value in event.ops:
                    size += len(value) if isinstance(value, str) else _VALUE_BYTES
            elif isinstance(event, TextDelta):
                size = FRAME_BYTES + len(event.delta)
            else:
                size = len(frame(announcement, Form.OPS))
            entry = self.keep(announcement, size)
            if self.branches:
                run_id = announcement.run_id if is_word else None
                wanting = self._wanting(announcement) if run_id is None else self.branches_of.get(run_id, ())
                for branch in tuple(wanting):
                    branch.take_in(entry, is_word)
        if self.readers:
            self.notice(is_word=isinstance(announcements[-1].event, WORDS))
        else:
            self.shown, self.shown_volume = self.head, self.volume
        for relay in self.relays.values():
            relay.extend(announcements)

    def keep(self, announcement: Announcement, size: int) -> Entry:
        self.head += 1
        self.volume += size
        self.kept += size
        entry = Entry(self.head, announcement, size)
        self.entries.append(entry)
        while len(self.entries) > WINDOW_EVENTS or self.kept > WINDOW_BYTES:
            self.kept -= self.entries.popleft().size
        return entry

    def notice(self, *, is_word: bool) -> None:
        """A few readers are told of a word at once, and of all else that comes in one turn of the event loop
        together. Many are told, of whatever it is, when some more has come."""
        readers = len(self.readers)
        if (is_word and readers < CROWD) or self._is_much:
            self._tell()
        elif self.telling is None:
            self._tell_soon(readers)

    @property
    def _is_much(self) -> bool:
        return self.head - self.shown >= LAG_EVENTS // 4 or self.volume - self.shown_volume >= LAG_BYTES // 4

    def _tell_soon(self, readers: int) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # nobody waits where no loop runs
            self._tell()
            return
        if readers < CROWD:
            self.telling = loop.call_soon(self._tell)
            return
        now = loop.time()
        self.told_at = max(now, self.told_at + readers * CROWD_SECONDS)
        self.telling = (
            loop.call_at(self.told_at, self._tell) if self.told_at > now else loop.call_soon(self._tell)
        )

    def _tell(self) -> None:
        if self.telling is not None:
            self.telling.cancel()
            self.telling = None
        self.shown, self.shown_volume = self.head, self.volume
        for reader in list(self.readers):
            reader.notice()

    def leave(self, reader: "MemorySubscription") -> None:
        self.readers.pop(reader, None)

    def _wanting(self, announcement: Announcement) -> "Iterable[Branch]":
        run_id, event = announcement.run_id, announcement.event
        if isinstance(event, RunChanged) and run_id is not None:
            for branch in tuple(self.branches_of.get(event.root_run_id or "", ())):
                branch.hear(run_id)
        if run_id is not None:
            return self.branches_of.get(run_id, ())
        if isinstance(event, MessageChanged):
            return self.branches_of.get(event.message.run_id or event.message.id, ())
        return self.branches

    def since(self, offset: int) -> list[Entry]:
        """From the newest one backwards: who follows closely does not walk through the whole window. Readers
        who stand side by side get the same list."""
        if offset == self.head - 1:
            return [self.entries[-1]]
        asked = (offset, self.head)
        if self.newest[0] != asked:
            entries = list(islice(reversed(self.entries), self.head - offset))
            entries.reverse()
            self.newest = (asked, entries)
        return self.newest[1]


class Branch(Channel):
    """What one reader wants of a channel: some runs and messages, and all that is of neither."""

    __slots__ = ("_ids", "_trunk")

    def __init__(self, trunk: Channel, ids: Iterable[str]) -> None:
        super().__init__(trunk.epoch)
        self._trunk = trunk
        self._ids: list[str] = []
        trunk.branches[self] = None
        for id in ids:
            self.hear(id)

    def hear(self, id: str) -> None:
        self._ids.append(id)
        self._trunk.branches_of.setdefault(id, {})[self] = None

    def take_in(self, entry: Entry, is_word: bool) -> None:
        """A word that nothing is before goes straight to the reader, if that one waits for it."""
        if is_word and not self.entries and self.telling is None:
            for reader in self.readers:
                if reader.notice(entry):
                    return
                break
        self.head += 1
        self.volume += entry.size
        self.entries.append(entry)
        if not is_word or self.telling is not None:
            self.notice(is_word=is_word)
            return
        self.shown, self.shown_volume = self.head, self.volume
        for reader in tuple(self.readers):
            reader.notice()

    def since(self, offset: int) -> list[Entry]:
        """Nobody else reads it, and its reader takes each thing once: nothing is kept."""
        entries = list(self.entries)
        self.entries.clear()
        return entries

    def leave(self, reader: "MemorySubscription") -> None:
        super().leave(reader)
        self._trunk.branches.pop(self, None)
        for id in self._ids:
            branches = self._trunk.branches_of.get(id, {})
            branches.pop(self, None)
            if not branches:
                self._trunk.branches_of.pop(id, None)


class MemorySubscription:
    __slots__ = (
        "_timer",
        "cut",
        "ear",
        "log",
        "offset",
        "on_cut",
        "seconds",
        "until",
        "volume",
        "waiter",
    )

    def __init__(self, log: Channel, offset: int) -> None:
        self.log = log
        self.offset = offset
        self.volume = log.volume
        self.waiter: asyncio.Future[bool] | None = None
        self._timer: asyncio.TimerHandle | None = None
        """Outlives a wait: one that is rarely too long sets it once in that time, not once an event."""
        self.seconds = 0.0
        self.until = 0.0
        self.cut: CutReason | None = None
        self.on_cut: Callable[[], None] | None = None
        """Called when a reader is cut while it may be stuck in a write."""
        self.ear: Ear | None = None
        """Told of news instead of waking who waits for them."""
        log.readers[self] = None

    def take(self) -> list[Entry]:
        if self.offset == self.log.head:
            return []
        entries = self.log.since(self.offset)
        self.offset, self.volume = self.log.head, self.log.volume
        return entries

    async def wait(self, seconds: float) -> bool:
        if self.cut or self.offset < self.log.shown:
            return True
        loop = asyncio.get_running_loop()
        self.seconds = seconds
        self.until = loop.time() + seconds
        if self._timer is not None and self._timer.when() > self.until:
            self._stop_timer()
        if self._timer is None:
            self._timer = loop.call_at(self.until, self._look_at_clock)
        self.waiter = waiter = loop.create_future()
        try:
            return await waiter
        finally:
            self.waiter = None

    def narrow(self, run_ids: Iterable[str], message_ids: Iterable[str] = ()) -> None:
        assert self.offset == self.log.head, "what was there has been taken"
        if self.cut is None:
            self.log.leave(self)
            self.log = Branch(self.log, (*run_ids, *message_ids))
            self.offset = self.volume = 0
            self.log.readers[self] = None

    def notice(self, word: Entry | None = None) -> bool:
        """There is something to take, or this word: whether nobody has to take it any more."""
        channel, waiter = self.log, self.waiter
        if channel.head - self.offset > LAG_EVENTS or channel.volume - self.volume > LAG_BYTES:
            self.close("slow")
            return True
        if waiter is None or waiter.done():
            return False
        try:
            is_told = self.ear is not None and self.ear.pass_on(word)
        except Exception as error:  # noqa: BLE001 - an outermost seam: one reader is not the others' trouble
            self.give_up(error)
            return True
        if is_told:
            self.until = waiter.get_loop().time() + self.seconds
        elif word is None and not waiter.done():
            waiter.set_result(True)
        return is_told

    def give_up(self, error: Exception) -> None:
        log.error("a reader could not be told what came", exc_info=error)
        self.close("slow")

    def close(self, reason: CutReason = "closed") -> None:
        self.log.leave(self)
        if self.cut is not None:
            return
        self.cut = reason
        self._stop_timer()
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(True)
        if self.on_cut is not None:
            self.on_cut()

    def _look_at_clock(self) -> None:
        self._timer = None
        if self.waiter is None or self.waiter.done():
            return
        loop = self.waiter.get_loop()
        if loop.time() < self.until:
            self._timer = loop.call_at(self.until, self._look_at_clock)
        else:
            self.waiter.set_result(False)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
