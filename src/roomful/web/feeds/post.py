"""One message and what came of it: the answer to a post by somebody who wants to watch."""

from collections.abc import Awaitable, Callable

import msgspec

from roomful.domain.arguments import Growth
from roomful.domain.errors import Unavailable
from roomful.domain.events import (
    WORDS,
    Announcement,
    MemberLeft,
    MessageChanged,
    Position,
    RunChanged,
    SpaceEvent,
)
from roomful.domain.messages import Message
from roomful.domain.ports import Entry, Subscription
from roomful.domain.runs import ENDED, WAITING, Run
from roomful.domain.shape import UNSET
from roomful.domain.wire import event_data, event_name, one_frame
from roomful.runs.intake import Posted
from roomful.spaces.announcer import space_channel
from roomful.spaces.run_news import run_event
from roomful.web.desk import Desk
from roomful.web.feeds.following import TRIES, Following
from roomful.web.sse import frame_of, growth_of

_REPLAYED = 200
_decode = msgspec.json.Decoder(Message).decode


class PostFeed:
    """Ends when every run that the message woke has ended or waits for a person."""

    def __init__(
        self, desk: Desk, who: Following, space_id: str, post: Callable[[], Awaitable[Posted]]
    ) -> None:
        self.space_id = space_id
        self.has_ended = False
        self._house = desk.house
        self._who = who
        self._post = post
        self._channel = space_channel(space_id)
        self._epoch = ""
        self._posted: Posted | None = None
        self._message_id = ""
        self._runs: frozenset[str] = frozenset()
        self._busy: set[str] = set()
        self._asking: set[str] = set()
        """Runs, called by ours, that wait for a person."""
        self._leaning: dict[str, int] = {}
        """Runs of ours that wait for others, and for how many."""

    async def open(self, *, before: Subscription | None = None) -> tuple[Subscription, bytes]:
        await self._house.bus.follows(self._channel)
        if before is not None and self._posted is not None:
            await self._house.access.space(self._who.principal, self.space_id, "read")
            return await self._again(self._posted)
        here = self._house.bus.position(self._channel)
        self._epoch = here.epoch
        subscription = self._house.bus.subscribe(self._channel, here)
        assert subscription is not None, "the channel was followed a moment ago"
        try:
            posted = await self._post()
        except BaseException:
            subscription.close()
            raise
        self._posted = posted
        self._message_id = posted.message.id
        self._runs = frozenset(run.id for run in posted.runs)
        self._busy = set(self._runs)
        if posted.replayed or subscription.cut:
            subscription.close()
            return await self._again(posted)
        opening = self.frames(subscription.take())
        self._look_for_end()
        subscription.narrow(self._runs, [self._message_id])
        return subscription, opening

    def frames(self, entries: list[Entry]) -> bytes:
        frames: list[bytes] = []
        for entry in entries:
            announcement = entry.announcement
            is_word = isinstance(announcement.event, WORDS)
            if (not is_word and self._is_about_us(announcement.event)) or (
                announcement.run_id in self._runs
                and (announcement.audience is None or self._who.hears(announcement))
            ):
                frames.append(frame_of(entry, self._epoch, self._who.form))
                if not is_word:
                    self._note(announcement)
        return b"".join(frames)

    def growth(self, growth: Growth) -> tuple[bytes, bytes, bytes] | None:
        return growth_of(growth, self._epoch, self._who.form) if growth.run_id in self._runs else None

    def close(self) -> None:
        pass

    def _is_about_us(self, event: SpaceEvent) -> bool:
        """About the one who posted, or the message; a run that one of ours called is ours from now on."""
        if isinstance(event, MemberLeft):
            return event.member.entity_id == self._who.viewer
        if isinstance(event, MessageChanged):
            return event.message.id == self._message_id
        if isinstance(event, RunChanged) and event.root_run_id in self._runs:
            self._runs |= {event.run_id}
        return False

    def _note(self, announcement: Announcement) -> None:
        event = announcement.event
        if isinstance(event, MemberLeft):
            self._busy.clear()
        elif isinstance(event, RunChanged):
            is_called = event.root_run_id is not UNSET
            for runs in (self._busy, self._asking):
                runs.discard(event.run_id)
            self._leaning.pop(event.run_id, None)
            if event.status in WAITING:
                if is_called and event.asks_people:
                    self._asking.add(event.run_id)
                elif not is_called and not _rests(event):
                    self._busy.add(event.run_id)
                    self._leaning[event.run_id] = len(event.waits_for or ())
            elif event.status not in ENDED and not is_called:
                self._busy.add(event.run_id)
        self._look_for_end()

    def _look_for_end(self) -> None:
        everybody_waits = self._busy <= self._leaning.keys()
        if not self._busy or (everybody_waits and len(self._asking) >= sum(self._leaning.values())):
            self.has_ended = True

    async def _again(self, posted: Posted) -> tuple[Subscription, bytes]:
        """From what is stored: the message, what its runs said here and how they are; then what follows."""
        for _ in range(TRIES):
            page = await self._house.history.page(
                self.space_id, self._who.viewer, after=posted.message.seq - 1, limit=_REPLAYED
            )
            position = Position.parse(page.position)
            subscription = self._house.bus.subscribe(self._channel, position) if position else None
            if position is None or subscription is None:
                continue
            self._epoch = position.epoch
            said = [
                self._frame(MessageChanged(self.space_id, message)) for message in self._said(page.messages)
            ]
            runs = [await self._house.store.run(run.id) or run for run in posted.runs]
            asking = {run.root_run_id for run in runs if await self._asks_below(run)}
            since = self.frames(subscription.take())
            subscription.narrow(self._runs, [self._message_id])
            return subscription, b"".join([*said, since, *self._at_rest(runs, asking)])
        raise Unavailable("this space is too lively to be read just now: try again")

    def _said(self, messages: list[msgspec.Raw]) -> list[Message]:
        decoded = map(_decode, messages)
        return [one for one in decoded if one.id == self._message_id or one.run_id in self._runs]

    async def _asks_below(self, run: Run) -> bool:
        """Whether the run waits for others, one of whom waits for a person."""
        below = await self._house.store.runs_of_root(run.root_run_id) if run.status in WAITING else []
        return any(_rests(run_event(one, "")) for one in below if one.id != run.id)

    def _at_rest(self, runs: list[Run], asking: set[str]) -> list[bytes]:
        """Runs that ended, or began to wait, before the stream was taken up."""
        resting = [
            run
            for run in runs
            if run.id in self._busy and (_rests(run_event(run, self.space_id)) or run.root_run_id in asking)
        ]
        self._busy -= {run.id for run in resting}
        self._look_for_end()
        return [self._frame(run_event(run, self.space_id)) for run in resting]

    def _frame(self, event: MessageChanged | RunChanged) -> bytes:
        form = self._who.form
        return one_frame(event_name(event, form), event_data(event, form, self.space_id))


def _rests(event: RunChanged) -> bool:
    """It has ended, or somebody has to do something before it goes on."""
    if event.status in WAITING:
        return bool(event.asks_people)
    return event.status in ENDED
