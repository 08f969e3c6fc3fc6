"""Everything that somebody may see: all their spaces in one stream."""

import msgspec
from msgspec.structs import asdict

from roomful.domain.answers import SpaceOfMine
from roomful.domain.errors import Unavailable
from roomful.domain.events import Announcement, MemberLeft, Position, RunChanged
from roomful.domain.ports import Entry, Subscription
from roomful.domain.runs import ENDED, Run
from roomful.domain.shape import UNSET, Noun, encode_json
from roomful.domain.spaces import Member, MySpace
from roomful.domain.wire import Form, frame, one_frame
from roomful.spaces.announcer import space_channel
from roomful.spaces.history import Snapshot, view_of
from roomful.web.desk import Desk
from roomful.web.feeds.following import TRIES, Following, ends_skipped
from roomful.web.feeds.people import Person
from roomful.web.sse import frame_of
from roomful.web.views import space_of_mine

MOST_SPACES = 100


class MemberThere(Member):
    space_id: str = ""


class RunThere(Run):
    space_id: str = ""


class Everything(Noun):
    messages: list[msgspec.Raw]
    members: list[MemberThere]
    runs: list[RunThere]
    spaces: list[SpaceOfMine]


class PersonFeed:
    space_id = None
    has_ended = False

    def __init__(self, desk: Desk, who: Following) -> None:
        self._desk = desk
        self._house = desk.house
        self._who = msgspec.structs.replace(who, form=who.form | Form.MANY)
        self._entity_id = who.principal.entity_id
        self._person: Person | None = None
        self._epoch = ""

    async def open(self, *, before: Subscription | None = None) -> tuple[Subscription, bytes]:
        person = self._person = self._person or await self._desk.people.follow(self._entity_id)
        if before is not None:
            await self._desk.people.refresh(person)
        here = self._house.bus.position(person.channel)
        self._epoch = f"{person.generation}-{here.epoch}"
        after = self._who.after if before is None else None
        if after is not None and after.epoch == self._epoch:
            subscription = self._house.bus.subscribe(person.channel, Position(here.epoch, after.offset))
            if subscription is not None:
                return subscription, self.frames(subscription.take())
        return await self._start(person, before)

    def frames(self, entries: list[Entry]) -> bytes:
        heard = [entry for entry in entries if self._hears(entry.announcement)]
        return b"".join([frame_of(entry, self._epoch, self._who.form) for entry in heard])

    def close(self) -> None:
        if self._person is not None:
            self._desk.people.unfollow(self._person)
            self._person = None

    def _hears(self, announcement: Announcement) -> bool:
        """What is still to be told of a space that was left meanwhile is not told, but for the leaving."""
        assert self._person is not None
        if announcement.space_id in self._person.spaces:
            return self._who.hears(announcement)
        event = announcement.event
        return isinstance(event, MemberLeft) and event.member.entity_id == self._entity_id

    async def _start(self, person: Person, before: Subscription | None) -> tuple[Subscription, bytes]:
        """Each space is read as of a moment of its own; what happened since is folded in without a pause,
        so that the whole is as of one position of the person's stream."""
        taken: dict[str, tuple[Snapshot, Position]] = {}
        for _ in range(TRIES):
            moves = person.moves
            spaces = await self._house.store.my_spaces(self._entity_id)
            for each in spaces[:MOST_SPACES]:
                if (id := each.space.id) not in taken:
                    taken[id] = await self._house.history.snapshot(id, self._who.viewer)
            if moves != person.moves or not (everything := self._all_as_of_now(spaces, taken)):
                continue
            here = self._house.bus.position(person.channel)
            if (subscription := self._house.bus.subscribe(person.channel, here)) is not None:
                position = f"{self._epoch}.{here.offset}"
                opening = one_frame("snapshot", encode_json(everything), position)
                ends = filter(self._hears, ends_skipped(before, here))
                told = [frame(one, self._who.form) + b"\n" for one in ends]
                return subscription, opening + b"".join(told)
        raise Unavailable("your spaces are too lively to be read just now: try again")

    def _all_as_of_now(
        self, spaces: list[MySpace], taken: dict[str, tuple[Snapshot, Position]]
    ) -> Everything | None:
        everything = Everything([], [], [], [space_of_mine(each) for each in spaces])
        is_whole = True
        for each in spaces[:MOST_SPACES]:
            id = each.space.id
            snapshot = self._as_of_now(id, *taken[id])
            if snapshot is None:
                is_whole = False
                del taken[id]
                continue
            everything.messages += snapshot.messages
            everything.members += [MemberThere(**asdict(one), space_id=id) for one in snapshot.members]
            everything.runs += [RunThere(**asdict(run), space_id=id) for run in snapshot.runs]
        return everything if is_whole else None

    def _as_of_now(self, space_id: str, snapshot: Snapshot, position: Position) -> Snapshot | None:
        """None when it has to be read again: too old, or a run began that only the store knows."""
        subscription = self._house.bus.subscribe(space_channel(space_id), position)
        if subscription is None:
            return None
        entries = [entry for entry in subscription.take() if self._who.hears(entry.announcement)]
        subscription.close()
        return _folded(snapshot, [entry.announcement for entry in entries]) if entries else snapshot


def _folded(snapshot: Snapshot, news: list[Announcement]) -> Snapshot | None:
    view = view_of(snapshot)
    runs: dict[str, Run] = {run.id: run for run in snapshot.runs}
    for announcement in news:
        event = announcement.event
        view.apply(event)
        if isinstance(event, RunChanged):
            if event.status in ENDED:
                runs.pop(event.run_id, None)
            elif event.run_id not in runs:
                return None
            else:
                runs[event.run_id] = _as_told(runs[event.run_id], event)
    messages = [msgspec.Raw(encode_json(message)) for message in view.messages()]
    return Snapshot(messages=messages, members=list(view.members.values()), runs=list(runs.values()))


def _as_told(run: Run, event: RunChanged) -> Run:
    pending = [] if event.pending_tool_calls is UNSET else event.pending_tool_calls
    return msgspec.structs.replace(run, status=event.status, pending_tool_calls=pending, error=event.error)
