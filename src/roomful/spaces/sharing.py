"""Several processes, one deployment: whatever is announced in one is heard by the readers of all.

A process follows the spaces that somebody reads here. When it begins to, it asks the others what grows there,
for only they know; from then on it is in step with each of them. Whoever may have missed something says so,
and its readers begin anew. The database is the record: its numbers show what was written and never told.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence

import msgspec

from roomful.domain.errors import RoomfulError
from roomful.domain.events import Announcement, MessageChanged, RunChanged
from roomful.domain.messages import Message, delegations
from roomful.domain.neighbours import Link
from roomful.domain.news import (
    Answered,
    Asks,
    Behind,
    Disowned,
    Follows,
    Grows,
    Hello,
    LetGo,
    News,
    Reached,
    Taken,
    Told,
    TookUp,
    announcement_of,
    as_it_stands,
    decode_message,
    decode_parcel,
)
from roomful.domain.ports import Bus, Clock, Store
from roomful.domain.runs import ACTIVE
from roomful.spaces.announcer import UNSTORED, Announcer, run_channel, space_channel
from roomful.spaces.asking import Asking
from roomful.spaces.catching_up import CatchingUp, Known
from roomful.spaces.overtaken import Overtakable, is_overtaken, overtakable
from roomful.spaces.own_messages import by_audience
from roomful.spaces.telling import EVERYBODY, Telling

LOOK_SECONDS = 0.5
SLEPT_SECONDS = 2.0
"""A look that comes so late means that this process was stopped: others may have given it up."""

MOST_TAKEN = 1000

_KNOWN = (RunChanged, MessageChanged)
"""Of these it is remembered what was told last."""

log = logging.getLogger("roomful.spaces")


class _Followed:
    """A space that somebody reads here."""

    def __init__(self, since: str) -> None:
        self.in_step: set[str] = set()
        """Processes of which everything is known that they announced here."""
        self.known = Known(since)


class Sharing:
    def __init__(
        self,
        link: Link,
        *,
        store: Store,
        announcer: Announcer,
        bus: Bus,
        clock: Clock,
        fold_own: Callable[[Announcement], None],
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        """`fold_own` is told what others announce of runs that are driven here. `steady` is the time in
        seconds by a clock that nobody can set."""
        self._link = link
        self._store = store
        self._moments = store.moments
        self._name = self._moments.writer
        self._announcer = announcer
        self._bus = bus
        self._clock = clock
        self._fold_own = fold_own
        self._steady = steady
        self._telling = Telling(link, self._name)
        self._asking = Asking(self._telling)
        self._catching_up = CatchingUp(store, announcer, bus)
        self._followed: dict[str, _Followed] = {}
        self._runs: dict[str, None] = {}
        """Those that somebody watches here."""
        self._taken: dict[str, str] = {}
        """By whom runs were taken from their driver, who may go on speaking until it hears of that."""
        self._growing: set[str] = set()
        self._listeners: list[Callable[[News], None]] = []
        self._seen: dict[str, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._behind = asyncio.Event()
        self._is_new = True
        self._is_blind = False

    async def start(self) -> None:
        self._moments.on_begin = self._telling.batch_begins
        self._moments.on_reached = self._telling.batch_reached
        self._announcer.share_with(self._telling)
        self._announcer.also_tell(self._announced)
        self._announcer.on_growing = self._grows
        self._link.on_parcel, self._link.on_change = self._arrived, self._turned
        await self._link.follow(EVERYBODY)
        await self._link.start()
        for writer, number in (await self._store.writers()).items():
            self._moments.reached(writer, number)
        self._is_new = False
        self._in_background(self._watch())
        self._in_background(self._catch_up())

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._telling.flush()
        await self._link.close()

    def tell(self, news: News) -> None:
        self._note_taken(self._name, news)
        self._telling.tell(news)

    def _note_taken(self, sender: str, news: News) -> None:
        if isinstance(news, Taken):
            self._taken[news.run_id] = sender
            if len(self._taken) > MOST_TAKEN:
                del self._taken[next(iter(self._taken))]

    def listen(self, listener: Callable[[News], None]) -> None:
        self._listeners.append(listener)

    # What is followed here.

    async def follow(self, channel: str) -> None:
        """Returns when all that is announced there from now on is heard, and what grows there is known."""
        kind, _, id = channel.partition(":")
        if kind == "space":
            followed = self._followed[id] = _Followed(self._clock.iso())
            await self._link.follow(channel)
            active = await self._store.runs(space_id=id, statuses=ACTIVE)
            followed.known.active |= {run.id for run in active}
            await self._ask([id], [])
        elif kind == "run":
            self._runs[id] = None
            await self._link.follow(channel)
            await self._ask([], [id])

    def leave(self, channel: str) -> None:
        kind, _, id = channel.partition(":")
        self._runs.pop(id, None)
        if kind == "space":
            self._followed.pop(id, None)
            self._announcer.forget_heard([id])
        if kind == "run" or (kind == "space" and id not in self._growing):
            self._link.leave(channel)

    def _grows(self, space_id: str, does: bool) -> None:
        """A process whose own runs speak in a space hears what others say of them."""
        if does:
            self._growing.add(space_id)
            if space_id not in self._followed:
                self._in_background(self._link.follow(space_channel(space_id)))
        else:
            self._growing.discard(space_id)
            if space_id not in self._followed:
                self._link.leave(space_channel(space_id))

    async def _ask(self, space_ids: Sequence[str], run_ids: Sequence[str]) -> None:
        if space_ids or run_ids:
            await self._asking.ask(space_ids, run_ids)

    # What is announced here and elsewhere.

    def _announced(self, announcements: Sequence[Announcement]) -> None:
        self._telling.announced(announcements)
        for announcement in announcements:
            if self._is_past(announcement):
                self._bus.renew([space_channel(announcement.space_id)])
            else:
                self._note(announcement)

    def _note(self, announcement: Announcement) -> None:
        followed = self._followed.get(announcement.space_id)
        if followed is None:
            return
        if isinstance(announcement.event, _KNOWN):
            followed.known.note(announcement.event)
        if (event := overtakable(announcement.event)) is not None:
            self._in_background(self._compare(event))

    async def _compare(self, event: Overtakable) -> None:
        """Readers who were told it after something later begin anew."""
        try:
            if await is_overtaken(self._store, event):
                self._bus.renew([space_channel(event.space_id)])
        except RoomfulError as error:
            log.warning("what others changed could not be compared: %s", error.detail)
            self._behind.set()

    def _arrived(self, channel: str, data: bytes) -> None:
        try:
            parcel = decode_parcel(data)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            log.error("a parcel on %s cannot be read: %s", channel, error)
            self._behind.set()
            return
        if parcel.sender == self._name:
            return
        try:
            for news in parcel.news:
                self._hear(parcel.sender, channel, news)
        except Exception:  # an outermost seam: whatever another process sent, this one goes on
            log.exception("a parcel on %s was not understood", channel)
            self._behind.set()

    def _hear(self, sender: str, channel: str, news: News) -> None:
        match news:
            case Told():
                self._hear_announcement(sender, channel, news)
            case TookUp(raw):
                self._hear_took_up(sender, decode_message(raw))
            case LetGo(space_id, message_id):
                self._announcer.hear_still(space_id, message_id)
            case Disowned(space_id, message_id):
                if self._announcer.hears_growing(space_id, message_id):
                    self._behind.set()
            case Asks():
                self._answer(sender, news)
            case Grows(to, space_id, messages):
                if to == self._name and space_id in self._followed:
                    self._hear_growing(sender, space_id, messages)
            case Answered(to, number):
                if to == self._name:
                    self._asking.answered(number)
            case Hello(is_new):
                self._greeted(sender, is_new)
            case Reached(number):
                self._moments.reached(sender, number)
            case Follows(run_ids):
                self._telling.watch(run_ids)
            case _:
                self._note_taken(sender, news)
                self._tell_here(news)

    def _hear_announcement(self, sender: str, channel: str, news: Told) -> None:
        announcement = announcement_of(news)
        if news.run_id in self._taken and isinstance(announcement.event, UNSTORED):
            return
        if news.run_id is not None and channel == run_channel(news.run_id):
            self._announcer.hear_of_run(news.run_id, announcement)
            return
        if news.batch:
            self._moments.before(sender, news.batch, news.space_id)
        if self._is_past(announcement):
            return
        self._note(announcement)
        self._fold_own(announcement)
        self._announcer.hear(announcement, in_step=self._is_in_step(sender, news.space_id))

    def _is_past(self, announcement: Announcement) -> bool:
        """Whether readers here know what came of it: a run whose end they were told, or a message that
        another process made final."""
        followed, event = self._followed.get(announcement.space_id), announcement.event
        return followed is not None and isinstance(event, _KNOWN) and followed.known.is_past(event)

    def _is_in_step(self, sender: str, space_id: str) -> bool:
        return (followed := self._followed.get(space_id)) is not None and sender in followed.in_step

    def _answer(self, sender: str, asks: Asks) -> None:
        self._telling.watch(asks.run_ids)
        for space_id in asks.space_ids:
            growing = [as_it_stands(message) for message in self._announcer.own_growing(space_id)]
            self._telling.put(space_channel(space_id), Grows(sender, space_id, growing))
        self._telling.tell(Answered(sender, asks.number))

    def _hear_took_up(self, sender: str, message: Message) -> None:
        if not self._was_taken_from(sender, message):
            in_step = self._is_in_step(sender, message.space_id)
            self._announcer.hear_growing(message, in_step=in_step)

    def _was_taken_from(self, sender: str, message: Message) -> bool:
        """It may not know yet."""
        return self._taken.get(message.run_id or "", sender) != sender

    def _hear_growing(self, sender: str, space_id: str, messages: Sequence[msgspec.Raw]) -> None:
        """Readers who are here already are brought to where the sender is."""
        self._followed[space_id].in_step.add(sender)
        channel = space_channel(space_id)
        for message in map(decode_message, messages):
            if self._was_taken_from(sender, message):
                continue
            self._announcer.hear_growing(message)
            if delegations(message):
                self._bus.renew([channel])
                continue
            for seen, audience in by_audience(message):
                event = MessageChanged(space_id=space_id, message=seen)
                said = Announcement(
                    event=event, space_id=space_id, run_id=message.run_id or None, audience=audience
                )
                self._bus.publish(channel, (said,))

    def _greeted(self, sender: str, is_new: bool) -> None:
        if is_new:
            for followed in self._followed.values():
                followed.in_step.add(sender)
        else:
            self._behind.set()

    # When something may be lost.

    def _turned(self, is_up: bool) -> None:
        self._moments.hears_others = is_up
        if is_up:
            reached = Reached(self._moments.numbers[self._name])
            self._telling.tell(Hello(self._is_new), reached)
            self._behind.set()
            return
        self._lose_step()
        self._catching_up.begin()

    def _lose_step(self) -> None:
        """What others add from now on is not known, until they say how far they are. Readers begin anew with
        what is stored, in the same moment."""
        for followed in self._followed.values():
            followed.in_step.clear()
        self._announcer.forget_heard(list(self._followed))
        self._bus.renew(self._channels())

    async def _watch(self) -> None:
        while True:
            asleep = self._steady()
            await asyncio.sleep(LOOK_SECONDS)
            if self._steady() - asleep > SLEPT_SECONDS:
                self._behind.set()
            try:
                await self._look()
                self._is_blind = False
            except RoomfulError as error:
                if not self._is_blind:
                    log.warning("what others wrote could not be looked for: %s", error.detail)
                self._is_blind = True

    async def _look(self) -> None:
        """What others wrote and did not tell: at the last look it was there, and it is not heard yet."""
        before, self._seen = self._seen, await self._store.writers()
        looked_at = before if self._link.is_up else self._seen
        late = [
            writer
            for writer, number in looked_at.items()
            if writer != self._name and self._moments.numbers.get(writer, 0) < number
        ]
        if self._runs:
            self._telling.tell(Follows(list(self._runs)))
        for writer in late:
            self._moments.reached(writer, self._seen.get(writer, 0))
        if late and self._link.is_up:
            self._behind.set()
        elif late:
            await self._catching_up.renew_changed(self._known())
            self._bus.renew([run_channel(run_id) for run_id in self._runs])
            self._tell_here(Behind())

    async def _catch_up(self) -> None:
        """Readers begin anew at once with what is stored. Those of a run do so once more when it is known
        what grows: nobody tells them that otherwise."""
        while True:
            await self._behind.wait()
            self._behind.clear()
            ends: list[RunChanged] = []
            try:
                ends = await self._catching_up.ends(self._known())
            except RoomfulError as error:
                log.warning("ends of runs could not be looked for: %s", error.detail)
            self._lose_step()
            self._catching_up.tell(ends, self._known())
            self._tell_here(Behind())
            await self._ask(list(self._followed), list(self._runs))
            self._bus.renew(list(map(run_channel, self._runs)))

    def _known(self) -> dict[str, Known]:
        return {id: followed.known for id, followed in self._followed.items()}

    def _channels(self) -> list[str]:
        return [*map(space_channel, self._followed), *map(run_channel, self._runs)]

    def _tell_here(self, news: News) -> None:
        for listener in self._listeners:
            listener(news)

    def _in_background(self, errand: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(errand)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("what others announce is not followed as it should be", exc_info=error)
