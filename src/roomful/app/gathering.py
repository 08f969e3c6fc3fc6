"""People and agents brought together in a space by the operator, from the command line."""

from collections.abc import Sequence

from roomful.domain.changes import AddEntity, AddSpace, Change, PutMember
from roomful.domain.entities import ADMIN, OPERATOR, Entity
from roomful.domain.errors import Invalid, NotFound
from roomful.domain.ports import Clock, Ids, Store
from roomful.domain.shape import check_id
from roomful.domain.spaces import Space
from roomful.spaces.auditing import AuditLog
from roomful.store import open_store


async def gather(
    database: str, clock: Clock, ids: Ids, space_id: str, *, people: Sequence[str], agents: Sequence[str]
) -> list[str]:
    """Who is in the space then. The space and the people are made where they are missing; whoever is in it
    already keeps their role. All or nothing, also beside a running server: whoever looks at the space at
    that moment sees the new members when they reload."""
    check_id(space_id)
    store = await open_store(database, clock, exclusive=False)
    try:
        changes = await _missing(store, clock, AuditLog(clock, ids), space_id, people, agents)
        if changes:
            await store.commit(changes)
        return [member.entity_id for member in await store.members(space_id)]
    finally:
        await store.close()


async def _missing(
    store: Store, clock: Clock, audit: AuditLog, space_id: str, people: Sequence[str], agents: Sequence[str]
) -> list[Change]:
    changes: list[Change] = []
    here = (space_id,)
    if await store.space(space_id) is None:
        changes.append(AddSpace(Space(id=space_id, name=space_id.title(), created_at=clock.iso())))
        changes.append(audit(OPERATOR, "space.created", space_ids=here))
    for id in dict.fromkeys(people):
        if await _is_new_person(store, id):
            changes.append(AddEntity(Entity(id=id, name=id.title(), kind="human", created_at=clock.iso())))
            changes.append(audit(OPERATOR, "entity.created", entity_id=id))
    for id in dict.fromkeys(agents):
        await _check_agent(store, id)
    for id in dict.fromkeys((*people, *agents)):
        if await store.role(space_id, id) is None:
            changes.append(PutMember(space_id, id, "member"))
            changes.append(audit(OPERATOR, "member.added", space_ids=here, entity_id=id, role="member"))
    return changes


async def _is_new_person(store: Store, id: str) -> bool:
    known = await store.entity(check_id(id))
    if id == ADMIN or (known is not None and known.kind != "human"):
        raise Invalid(f"--person: {id!r} is no person; an agent comes with --agent {id}")
    return known is None


async def _check_agent(store: Store, id: str) -> None:
    known = await store.entity(id)
    if known is None:
        raise NotFound(f"--agent: there is no agent {id!r} yet: start `roomful serve` with its folder first")
    if known.kind != "agent":
        raise Invalid(f"--agent: {id!r} is a {known.kind}; a person comes with --person {id}")
