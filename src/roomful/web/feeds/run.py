"""One run, whole, for those who own its agent: until it has ended."""

import msgspec

from roomful.domain.errors import Unavailable
from roomful.domain.events import Position, RunChanged
from roomful.domain.messages import Message
from roomful.domain.ports import Entry, Subscription
from roomful.domain.runs import ENDED, Call, Run
from roomful.domain.shape import Noun, encode_json
from roomful.domain.wire import Form, event_data, event_name, one_frame
from roomful.spaces.announcer import run_channel
from roomful.spaces.run_news import run_event
from roomful.web.desk import Desk
from roomful.web.feeds.following import TRIES, Following
from roomful.web.sse import frame_of


class WholeRun(Noun):
    run: Run
    calls: list[Call]
    messages: list[Message]


class RunFeed:
    space_id = None

    def __init__(self, desk: Desk, who: Following, run: Run) -> None:
        self.has_ended = False
        self._house = desk.house
        self._who = who
        self._form = who.form | Form.MANY
        self._run = run
        self._channel = run_channel(run.id)
        self._epoch = ""

    async def open(self, *, before: Subscription | None = None) -> tuple[Subscription, bytes]:
        bus = self._house.bus
        await bus.follows(self._channel)
        after = self._who.after if before is None else None
        self._epoch = bus.position(self._channel).epoch
        if after is not None:
            subscription = bus.subscribe(self._channel, after)
            if subscription is not None:
                missed = self.frames(subscription.take())
                self.has_ended = self.has_ended or await self._is_over()
                return subscription, missed
        snapshot, position = await self._snapshot()
        subscription = bus.subscribe(self._channel, position)
        if subscription is None:
            raise Unavailable("this run is too lively to be read just now: try again")
        self.has_ended = snapshot.run.ended
        opening = one_frame("snapshot", encode_json(snapshot), str(position))
        if before is not None and self.has_ended:
            opening += self._end(snapshot.run)
        return subscription, opening

    def _end(self, run: Run) -> bytes:
        """It came while nobody heard of it."""
        event = run_event(run, "")
        return one_frame(event_name(event, self._form), event_data(event, self._form, ""))

    def frames(self, entries: list[Entry]) -> bytes:
        self.has_ended = self.has_ended or any(map(_is_the_end, entries))
        return b"".join([frame_of(entry, self._epoch, self._form) for entry in entries])

    def close(self) -> None:
        pass

    async def _is_over(self) -> bool:
        run = await self._house.store.run(self._run.id)
        return run is None or run.ended

    async def _snapshot(self) -> tuple[WholeRun, Position]:
        """A run that says something at every moment is read as it is: events set what they are about."""
        snapshot, position = await self._read()
        for _ in range(TRIES - 1):
            if position == self._house.bus.position(self._channel):
                break
            snapshot, position = await self._read()
        return snapshot, position

    async def _read(self) -> tuple[WholeRun, Position]:
        position = self._house.bus.position(self._channel)
        store = self._house.store
        run = await store.run(self._run.id) or self._run
        calls = await store.calls(run.id)
        return WholeRun(run=run, calls=calls, messages=await self._messages(run, calls)), position

    async def _messages(self, run: Run, calls: list[Call]) -> list[Message]:
        """Where its calls show themselves, and what it said lately in its spaces without a call."""
        found: dict[str, Message] = {}
        places = [(place.space_id, place.message_id) for call in calls for place in call.places]
        for place in dict.fromkeys(places):
            if (message := await self._house.store.message(*place)) is not None:
                found[message.id] = message
        for space_id in run.shown_in:
            rows, *_ = await self._house.store.history(space_id, at=lambda: None)
            decoded = (msgspec.json.decode(row.body, type=Message) for row in rows)
            found |= {message.id: message for message in decoded if message.run_id == run.id}
            growing = self._house.announcer.growing(space_id)
            found |= {id: message for id, message in growing.items() if message.run_id == run.id}
        return sorted(found.values(), key=lambda message: (message.created_at, message.seq))


def _is_the_end(entry: Entry) -> bool:
    event = entry.announcement.event
    return isinstance(event, RunChanged) and event.status in ENDED
