"""What was learned in one space is told in another only if everybody there could have read it themselves."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from roomful.domain.ports import Store
from roomful.domain.runs import Run
from roomful.domain.shape import Unset
from roomful.domain.spaces import Member


class Scope(msgspec.Struct, frozen=True):
    """Where an agent is, and who is a member of which space as of now. In no space nobody reads along."""

    agent_id: str
    here: str | None
    members: Mapping[str, frozenset[str]] = {}

    def covers(self, space_id: str | Unset | None) -> bool:
        """Whether something of that space may be told here. The agent is one of those who are here, also
        when it was sent away; something of no space may be told everywhere."""
        if not space_id or self.here is None or space_id == self.here:
            return True
        readers = self.members.get(self.here, frozenset[str]()) | {self.agent_id}
        return readers <= self.members.get(space_id, frozenset[str]())


def place_of(run: Run) -> str | None:
    """Where a run is. A called one that is in no space answers where its caller was."""
    return run.active_space_id or run.trigger.space_id or run.asks_in or None


async def scope_at(
    store: Store,
    agent_id: str,
    here: str | None,
    space_ids: Iterable[str | Unset],
    known: Mapping[str, Sequence[Member]] | None = None,
) -> Scope:
    """The scope for things of these spaces. Only members that matter and are not `known` are read."""
    wanted = {space_id for space_id in space_ids if space_id and space_id != here}
    if here is None or not wanted:
        return Scope(agent_id=agent_id, here=here)
    members: dict[str, frozenset[str]] = {}
    for space_id in (here, *wanted):
        found = known[space_id] if known and space_id in known else await store.members(space_id)
        members[space_id] = frozenset(member.entity_id for member in found)
    return Scope(agent_id=agent_id, here=here, members=members)
