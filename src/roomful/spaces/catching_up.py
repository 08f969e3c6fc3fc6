"""Readers who may have missed something begin anew, with all that is stored; and they are told of the runs
that ended meanwhile, for they may wait for it."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from roomful.domain.events import Announcement, MessageChanged, RunChanged
from roomful.domain.messages import Message, ToolCallPart
from roomful.domain.ports import Bus, Store
from roomful.domain.runs import ACTIVE, ENDED, Run
from roomful.domain.shape import UNSET, encode_json
from roomful.spaces.announcer import Announcer, space_channel
from roomful.spaces.run_news import run_event

T = TypeVar("T")
MOST_REMEMBERED = 200
"""Of each space: runs whose end was told, messages that became final, and cards that were answered."""


class Known:
    """What readers of a space here know of its runs and of what they wrote."""

    def __init__(self, since: str) -> None:
        self.since = since
        """When it was first read here."""
        self.active: set[str] = set()
        self.ended: dict[str, None] = {}
        """Those whose end was told lately."""
        self.final: dict[str, None] = {}
        """Messages of runs that lately were told to be final."""
        self.cards: dict[str, ToolCallPart] = {}
        """Those that were answered lately, as they were told, by the ids of their parts."""

    def note(self, event: RunChanged | MessageChanged) -> None:
        if isinstance(event, MessageChanged):
            if event.message.run_id is not UNSET and event.message.status == "final":
                _remember(self.final, event.message.id, None)
            if (card := _answered_card(event)) is not None:
                _remember(self.cards, card.id, card)
        elif event.status in ENDED:
            self.active.discard(event.run_id)
            _remember(self.ended, event.run_id, None)
        else:
            self.active.add(event.run_id)

    def is_past(self, event: RunChanged | MessageChanged) -> bool:
        """Whether what readers were told before came later. Who settles a card need not be the one who ends
        its run: what is heard last of the two may have been stored first, and the other one holds it."""
        if isinstance(event, RunChanged):
            return event.run_id in self.ended
        message = event.message
        if message.status == "open" and (message.id in self.final or message.run_id in self.ended):
            return True
        card = _answered_card(event)
        return card is not None and card.id in self.cards and _lacks(card, self.cards[card.id])

    def has_ended(self, event: RunChanged) -> bool:
        """Whether it was told already that the run ended so."""
        return event.status in ENDED and event.run_id in self.ended

    def is_news(self, run: Run) -> bool:
        """Whether its end has still to be told."""
        is_recent = run.ended_at is not UNSET and run.ended_at >= self.since
        return run.id in self.active or (is_recent and run.id not in self.ended)


def _remember(those: dict[str, T], id: str, what: T) -> None:
    """As one of the last."""
    those.pop(id, None)
    those[id] = what
    if len(those) > MOST_REMEMBERED:
        del those[next(iter(those))]


def _answered_card(event: MessageChanged) -> ToolCallPart | None:
    """The one part that was answered, if it tells of that alone."""
    match event:
        case MessageChanged(message=Message(parts=[ToolCallPart() as part]), stream_id=str()):
            return part if part.answers or part.answered_at else None
        case _:
            return None


def _lacks(card: ToolCallPart, told: ToolCallPart) -> bool:
    """Whether an answer that was told is not on the card, or only one that the same member gave before."""
    votes = {vote.entity_id: vote.at for vote in card.answers or ()}
    if told.answered_at and not card.answered_at:
        return True
    return any(vote.at > votes.get(vote.entity_id, "") for vote in told.answers or ())


class CatchingUp:
    def __init__(self, store: Store, announcer: Announcer, bus: Bus) -> None:
        self._store = store
        self._announcer = announcer
        self._bus = bus
        self._looks: dict[str, int] = {}

    def begin(self) -> None:
        """From now on others are not heard."""
        self._looks.clear()

    async def ends(self, spaces: Mapping[str, Known]) -> list[RunChanged]:
        """What is stored of runs that ended, and was not heard."""
        return [end for space_id, known in spaces.items() for end in await self._ends(space_id, known)]

    def tell(self, ends: Sequence[RunChanged], spaces: Mapping[str, Known]) -> None:
        """To readers who begin anew, so that they have read what the runs said last; and not what was heard
        meanwhile."""
        for end in ends:
            known = spaces.get(end.space_id)
            if known is not None and not known.has_ended(end):
                known.note(end)
                self._announcer.tell_readers(
                    Announcement(event=end, space_id=end.space_id, run_id=end.run_id)
                )

    async def renew_changed(self, spaces: Mapping[str, Known]) -> None:
        """Those of the spaces that look different than the last time."""
        looks = {space_id: await self._look_of(space_id) for space_id in spaces}
        changed = {id: known for id, known in spaces.items() if self._looks.get(id) != looks[id]}
        ends = await self.ends(changed)
        self._looks |= looks
        self._bus.renew(list(map(space_channel, changed)))
        self.tell(ends, spaces)

    async def _ends(self, space_id: str, known: Known) -> list[RunChanged]:
        found = {run.id: run for run in await self._store.runs(space_id=space_id, statuses=tuple(ENDED))}
        for run_id in sorted(known.active - found.keys()):
            if (run := await self._store.run(run_id)) is not None and run.ended:
                found[run_id] = run
        return [run_event(run, space_id) for run in found.values() if known.is_news(run)]

    async def _look_of(self, space_id: str) -> int:
        rows, _, _, _ = await self._store.history(space_id, at=lambda: None)
        runs = await self._store.runs(space_id=space_id, statuses=ACTIVE)
        members = await self._store.members(space_id)
        return hash((tuple(row.body for row in rows), encode_json(runs), encode_json(members)))
