"""The guard of guarded spaces: what a run has read elsewhere is shown there only if everybody there may read
it where it comes from, or if a person agrees. It knows spaces and their members, and no words."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from roomful.domain.ports import Store
from roomful.domain.runs import Call, Held, Run
from roomful.domain.shape import UNSET, Unset
from roomful.domain.spaces import Member, Space

UNSHOWN = "Something was not shown here: not everybody in this space may read where it comes from."
"""What a guarded space is told of a call that does not come in."""


class Flow(msgspec.Struct, frozen=True):
    """What a run knows, and who reads along, as of one step."""

    read: Sequence[str] = ()
    """The spaces whose content it knows."""
    guarded: frozenset[str] = frozenset()
    members: Mapping[str, Sequence[Member]] = {}
    speaks_in: Collection[str] = ()
    """Where the agent may write, and so ask."""

    def sources(self, space_ids: Iterable[str], whom: str | None = None) -> list[str]:
        """The spaces of which the run knows something that somebody in these may not read. `whom` is the only
        member who would see it."""
        found: dict[str, None] = {}
        for space_id in space_ids:
            if space_id in self.guarded:
                readers = self._readers(space_id) if whom is None else {whom}
                others = (source for source in self.read if source != space_id)
                found |= {source: None for source in others if not readers <= self._readers(source)}
        return list(found)

    def hold(self, space_ids: Sequence[str], whom: str | None = None) -> Held | None:
        """Whether a call may not be shown in these spaces without consent, and who is asked for it: people
        who may write in all the sources, in the first of them where the question may be seen."""
        sources = self.sources(space_ids, whom)
        if not sources:
            return None
        held = Held(space_ids=list(space_ids), sources=sources, target_entity_id=whom or UNSET)
        people = [self._people(source) for source in sources]
        held.approvers = [who for who in people[0] if all(who in others for others in people)]
        for source in sources if held.approvers else ():
            if source not in self.speaks_in:
                continue
            if not self.sources([source]):
                held.asked_in, held.asked_of = source, UNSET
                break
            alone = [who for who in held.approvers if not self.sources([source], who)]
            if alone and held.asked_in is UNSET:
                held.asked_in, held.asked_of = source, alone[0]
        return held

    def _readers(self, space_id: str) -> set[str]:
        return {member.entity_id for member in self.members.get(space_id, ())}

    def _people(self, space_id: str) -> list[str]:
        members = self.members.get(space_id, ())
        return [member.entity_id for member in members if member.kind == "human" and member.may_write]


def refusal(held: Held) -> str:
    """Why a call failed that nobody could be asked about, for the model."""
    return (
        f"this cannot be shown in {', '.join(held.space_ids)}: you have read {', '.join(held.sources)}, "
        "which not everybody there may read, and there is nobody to ask who may write in all of that"
    )


async def flow_of(
    store: Store,
    read: Sequence[str],
    spaces: Iterable[Space | None],
    known: Mapping[str, Sequence[Member]] | None = None,
    speaks_in: Collection[str] = (),
) -> Flow:
    """The flow into these spaces. Members that are not `known` are read only if a guard needs them."""
    guarded = frozenset(space.id for space in spaces if space is not None and space.flow == "guarded")
    if not any(source != space_id for space_id in guarded for source in read):
        return Flow()
    members = dict(known or {})
    for space_id in {*guarded, *read} - members.keys():
        members[space_id] = await store.members(space_id)
    return Flow(read, guarded, members, speaks_in)


async def flow_into(store: Store, read: Sequence[str], space_ids: Iterable[str]) -> Flow:
    """The same by ids. Nothing is read where a run knows nothing of elsewhere."""
    judged = [space_id for space_id in space_ids if any(source != space_id for source in read)]
    return await flow_of(store, read, [await store.space(space_id) for space_id in judged])


async def read_by(store: Store, run: Run) -> list[str]:
    """All spaces whose content a run knows, by its rows."""
    calls = await store.calls(run.id)
    return list(dict.fromkeys([*read_at_first(run), *read_by_calls(calls)]))


def read_at_first(run: Run) -> list[str]:
    """What a run knows apart from what its calls told it."""
    trigger = run.trigger
    begun = [trigger.space_id] if trigger.space_id else []
    return [*begun, *(trigger.read_spaces or ()), *(run.read_spaces or ())]


def read_by_calls(calls: Iterable[Call]) -> list[str]:
    return [space_id for call in calls for space_id in call.read_spaces or ()]


def read_elsewhere(run: Run, here: str | Unset | None) -> list[str] | Unset:
    """What a note of this run carries beside the space it is noted in."""
    return [space_id for space_id in run.read_spaces or () if space_id != here] or UNSET


class Noted(Protocol):
    """Something that an agent wrote down: a memory, a goal, a plan."""

    space_id: str | Unset
    read_spaces: list[str] | Unset


def spaces_of(notes: Iterable[Noted]) -> tuple[str, ...]:
    """The spaces whose content these carry."""
    found: dict[str, None] = {}
    for note in notes:
        found |= dict.fromkeys([*([note.space_id] if note.space_id else ()), *(note.read_spaces or ())])
    return tuple(found)
