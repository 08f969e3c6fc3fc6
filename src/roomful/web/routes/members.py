"""Who is in a space."""

from typing import Any

from starlette.types import ASGIApp

from roomful.domain.changes import Change, ExpectOtherOwner, PutMember, RemoveMember
from roomful.domain.entities import Principal
from roomful.domain.errors import Forbidden, Invalid, NotFound
from roomful.domain.shape import Noun
from roomful.domain.spaces import Member, Role, Space
from roomful.web.ask import Also, AnyRoute, Ask, Body, Route, json_answer, no_content
from roomful.web.house import House
from roomful.web.membership import tell_joined, tell_left
from roomful.web.queries import NoQuery
from roomful.web.rules import OWNS_SPACE, OWNS_SPACE_OR_LEAVES, READS_SPACE


class NewMember(Body):
    entity_id: str
    role: Role = "member"


class Members(Noun):
    members: list[Member]


async def list_members(ask: Ask[None, NoQuery, Space]) -> ASGIApp:
    return json_answer(Members(await ask.house.store.members(ask.about.id)))


async def put_member(ask: Ask[NewMember, NoQuery, Space]) -> ASGIApp:
    """A new member, or another role for one who is here already."""
    house, sent, space_id = ask.house, ask.body, ask.about.id
    entity = await house.store.entity(sent.entity_id)
    if entity is None:
        raise Invalid(f"entityId: there is no entity {sent.entity_id[:80]!r}")
    member = Member(entity_id=entity.id, name=entity.name, kind=entity.kind, role=sent.role)
    is_known = await house.store.role(space_id, entity.id) is not None
    if not is_known and entity.kind == "agent":
        await _check_brings(house, ask.principal, entity.id)
    stays = [] if sent.role == "owner" else _an_owner_stays(ask, entity.id)
    status = 200 if is_known else 201
    told = ask.audit(
        "member.changed" if is_known else "member.added",
        space_ids=(space_id,),
        entity_id=entity.id,
        role=sent.role,
    )
    await house.store.commit(
        [*stays, PutMember(space_id, entity.id, sent.role), told, *ask.remember(member, status)],
        lambda _: tell_joined(ask.desk, space_id, member),
    )
    return json_answer(member, status)


async def remove_member(ask: Ask[None, NoQuery, Space]) -> ASGIApp:
    house, space_id, entity_id = ask.house, ask.about.id, ask.params["entityId"]
    known = {each.entity_id: each for each in await house.store.members(space_id)}
    if entity_id not in known:
        raise NotFound(f"{entity_id!r} is not a member of {space_id!r}")
    told = ask.audit("member.removed", space_ids=(space_id,), entity_id=entity_id)
    await house.store.commit(
        [*_an_owner_stays(ask, entity_id), RemoveMember(space_id, entity_id), told],
        lambda _: tell_left(ask.desk, space_id, known[entity_id]),
    )
    await house.answers.member_left(space_id)
    return no_content()


async def _check_brings(house: House, principal: Principal, agent_id: str) -> None:
    if principal.is_admin:
        return
    agent = await house.store.agent(agent_id)
    if agent is None or agent.owner_id != principal.entity_id:
        raise Forbidden(f"only the owner of the agent {agent_id!r} or the admin may bring it into a space")


def _an_owner_stays(ask: Ask[Any, NoQuery, Space], entity_id: str) -> list[Change]:
    """Only the admin may leave a space without an owner."""
    return [] if ask.principal.is_admin else [ExpectOtherOwner(ask.about.id, entity_id)]


ROUTES: tuple[AnyRoute, ...] = (
    Route("GET", "/api/spaces/{id}/members", list_members, READS_SPACE, "Who is here", answer=Members),
    Route(
        "POST",
        "/api/spaces/{id}/members",
        put_member,
        OWNS_SPACE,
        "Bring somebody in, or change a role; an agent is brought in by its owner",
        body=NewMember,
        answer=Member,
        status=201,
        also=(Also(200, "Somebody who was here has this role now", "the same"),),
        keeps_key=True,
    ),
    Route(
        "DELETE",
        "/api/spaces/{id}/members/{entityId}",
        remove_member,
        OWNS_SPACE_OR_LEAVES,
        "Put somebody out, or leave",
        status=204,
    ),
)
