"""People and spaces that the operator makes from inside, without a request."""

from collections.abc import Iterable

from roomful.domain.changes import AddEntity, AddSpace, Change, PutMember
from roomful.domain.entities import ADMIN, OPERATOR, Entity
from roomful.domain.errors import Conflict, Invalid
from roomful.domain.shape import check_id
from roomful.domain.spaces import Member, Role, Space
from roomful.web import House
from roomful.web.auth import new_token
from roomful.web.desk import Desk
from roomful.web.fields import checked_name
from roomful.web.membership import tell_joined


async def make_person(house: House, id: str, name: str) -> str:
    """A new token of theirs."""
    secret, add_token = new_token(house.clock, house.ids, id)
    known = await house.store.entity(check_id(id))
    if known is None and id != ADMIN:
        person = Entity(id=id, name=checked_name(name), kind="human", created_at=house.clock.iso())
        told = house.audit(OPERATOR, "entity.created", entity_id=id, token_id=add_token.token.id)
        await house.store.commit([AddEntity(person), add_token, told])
    elif known is not None and known.kind == "human":
        told = house.audit(OPERATOR, "token.made", entity_id=id, token_id=add_token.token.id)
        await house.store.commit([add_token, told])
    else:
        raise Conflict(f"{id!r} is no person")
    return secret


async def make_space(desk: Desk, space: Space, members: Iterable[str], role: Role) -> None:
    """The space, if it is not there, and these in it, unless they are there in this role."""
    store = desk.house.store
    is_new = await store.space(check_id(space.id)) is None
    checked_name(space.name)
    known = {member.entity_id: member.role for member in await store.members(space.id)}
    joining: list[Member] = []
    for id in dict.fromkeys(members):
        entity = await store.entity(id)
        if entity is None:
            raise Invalid(f"there is no entity {id[:80]!r} to be a member of {space.id!r}")
        if known.get(id) != role:
            joining.append(Member(entity_id=entity.id, name=entity.name, kind=entity.kind, role=role))
    audit, here = desk.house.audit, (space.id,)
    changes: list[Change] = []
    if is_new:
        changes += [AddSpace(space), audit(OPERATOR, "space.created", space_ids=here)]
    for member in joining:
        action = "member.changed" if member.entity_id in known else "member.added"
        told = audit(OPERATOR, action, space_ids=here, entity_id=member.entity_id, role=role)
        changes += [PutMember(space.id, member.entity_id, role), told]

    def then(_: list[object]) -> None:
        for member in joining:
            tell_joined(desk, space.id, member)

    if changes:
        await store.commit(changes, then)
