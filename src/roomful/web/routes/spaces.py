"""Spaces: made, changed, listed, removed."""

import contextlib

import msgspec
from starlette.types import ASGIApp

from roomful.domain.answers import SpaceOfMine
from roomful.domain.changes import AddSpace, Change, PutMember, RemoveSpace, SaveSpace
from roomful.domain.errors import Conflict
from roomful.domain.news import Removed
from roomful.domain.ports import ALL
from roomful.domain.runs import ACTIVE
from roomful.domain.shape import UNSET, Noun, Unset, check_id
from roomful.domain.spaces import Flow, Member, Space, Wake
from roomful.web.ask import AnyRoute, Ask, Body, Route, json_answer, no_content
from roomful.web.fields import GivenId, Name, checked_name
from roomful.web.membership import tell_joined, tell_left
from roomful.web.queries import NoQuery
from roomful.web.rules import CALLER, OWNS_SPACE, PERSON, READS_SPACE
from roomful.web.views import space_of_mine, space_of_nobody

TRIES = 5
"""How often a change is made anew because somebody else was faster."""


class NewSpace(Body):
    name: Name
    id: GivenId | Unset = UNSET
    admin_agent_id: str | Unset = UNSET
    wake: Wake = "none"
    flow: Flow = "open"


class SpaceChanges(Body):
    name: Name | Unset = UNSET
    admin_agent_id: str | Unset | None = UNSET
    """null takes it away."""
    wake: Wake | Unset = UNSET
    flow: Flow | Unset = UNSET


class Spaces(Noun):
    spaces: list[SpaceOfMine]


async def create_space(ask: Ask[NewSpace, NoQuery, None]) -> ASGIApp:
    """Whoever makes a space owns it; the admin key makes one without members."""
    house, sent, me = ask.house, ask.body, ask.principal
    space = Space(
        id=house.ids.new("spc") if sent.id is UNSET else check_id(sent.id),
        name=checked_name(sent.name),
        created_at=house.clock.iso(),
        admin_agent_id=sent.admin_agent_id,
        wake=sent.wake,
        flow=sent.flow,
    )
    told = ask.audit("space.created", space_ids=(space.id,))
    changes: list[Change] = [AddSpace(space), told, *ask.remember(space)]
    entity = None if me.is_admin else await house.store.entity(me.entity_id)
    if entity is not None:
        changes.append(PutMember(space.id, entity.id, "owner"))

    def then(_: list[object]) -> None:
        if entity is not None:
            owner = Member(entity_id=entity.id, name=entity.name, kind=entity.kind, role="owner")
            tell_joined(ask.desk, space.id, owner)

    await house.store.commit(changes, then)
    return json_answer(space, 201)


async def list_spaces(ask: Ask[None, NoQuery, None]) -> ASGIApp:
    if ask.principal.is_admin:
        return json_answer(Spaces([space_of_nobody(space) for space in await ask.house.store.all_spaces()]))
    mine = await ask.house.store.my_spaces(ask.principal.entity_id)
    return json_answer(Spaces([space_of_mine(each) for each in mine]))


async def get_space(ask: Ask[None, NoQuery, Space]) -> ASGIApp:
    return json_answer(ask.about)


async def change_space(ask: Ask[SpaceChanges, NoQuery, Space]) -> ASGIApp:
    """Whatever else others change at the same time stays."""
    sent = {name: value for name, value in msgspec.structs.asdict(ask.body).items() if value is not UNSET}
    if "name" in sent:
        sent["name"] = checked_name(sent["name"])
    if sent.get("admin_agent_id", "") is None:
        sent["admin_agent_id"] = UNSET
    house, was = ask.house, ask.about
    told = ask.audit("space.changed", space_ids=(was.id,), detail={"fields": sorted(sent)})
    for _ in range(TRIES):
        space = msgspec.structs.replace(was, **sent)
        with contextlib.suppress(Conflict):
            await house.store.commit([SaveSpace(space, was=was), told])
            return json_answer(space)
        was = await house.access.space(ask.principal, was.id, "own")
    raise Conflict("others change this space all the time: try again in a moment")


async def remove_space(ask: Ask[None, NoQuery, Space]) -> ASGIApp:
    """With everything in it. Runs that began there are stopped first."""
    desk, house, space_id = ask.desk, ask.house, ask.about.id
    runs = await house.store.runs(space_id=space_id, statuses=ACTIVE, limit=ALL)
    for run in runs:
        if run.trigger.space_id == space_id:
            await house.worker.cancel(run.id)
    members = await house.store.members(space_id)

    def then(_: list[object]) -> None:
        for member in members:
            tell_left(desk, space_id, member)
        desk.readers.end_space(space_id)
        house.others.tell(Removed(space_id))

    await house.store.commit([RemoveSpace(space_id), ask.audit("space.deleted", space_ids=(space_id,))], then)
    await house.answers.space_removed(space_id, runs)
    return no_content()


ROUTES: tuple[AnyRoute, ...] = (
    Route("GET", "/api/spaces", list_spaces, CALLER, "My spaces, with what I have not read", answer=Spaces),
    Route(
        "POST",
        "/api/spaces",
        create_space,
        PERSON,
        "Make a space and own it",
        body=NewSpace,
        answer=Space,
        status=201,
        keeps_key=True,
    ),
    Route("GET", "/api/spaces/{id}", get_space, READS_SPACE, "One space", answer=Space),
    Route(
        "PATCH",
        "/api/spaces/{id}",
        change_space,
        OWNS_SPACE,
        "Change a space",
        body=SpaceChanges,
        answer=Space,
    ),
    Route(
        "DELETE", "/api/spaces/{id}", remove_space, OWNS_SPACE, "Remove a space and its content", status=204
    ),
)
