"""Invitations: an owner makes a link, and whoever redeems it first is a member."""

from typing import Annotated, Any

import msgspec
from starlette.types import ASGIApp

from roomful.domain.changes import AddInvite, UseInvite
from roomful.domain.errors import NotFound
from roomful.domain.invites import Invite, InviteRole, Joined
from roomful.domain.shape import Noun
from roomful.domain.spaces import Member, Space
from roomful.runs.schedules import iso_of
from roomful.web.ask import AnyRoute, Ask, Body, Route, json_answer
from roomful.web.auth import digest_of
from roomful.web.membership import tell_joined
from roomful.web.queries import NoQuery
from roomful.web.rules import ENTITY, OWNS_SPACE

DAY = 86_400
MOST_SECONDS = 90 * DAY


class NewInvite(Body):
    role: InviteRole = "member"
    expires_seconds: Annotated[int, msgspec.Meta(ge=1, le=MOST_SECONDS)] = 7 * DAY


class InviteLink(Noun):
    """Shown once. It lets nobody in by itself: who redeems it shows a token of their own."""

    url: str
    expires_at: str


class JoinedSpace(Noun):
    space_id: str
    member: Member


async def create_invite(ask: Ask[NewInvite, NoQuery, Space]) -> ASGIApp:
    """No answer is remembered for a key: it would keep the secret."""
    house, sent, me = ask.house, ask.body, ask.principal
    secret = f"inv_{house.ids.secret()}"
    expires_at = house.clock.now() + sent.expires_seconds
    invite = Invite(
        digest=digest_of(secret),
        space_id=ask.about.id,
        role=sent.role,
        expires_at=expires_at,
        maker_id=None if me.is_admin else me.entity_id,
    )
    told = ask.audit("invite.made", space_ids=(ask.about.id,), role=sent.role)
    await house.store.commit([AddInvite(invite), told])
    return json_answer(InviteLink(url=f"/api/invites/{secret}", expires_at=iso_of(expires_at)), 201)


async def redeem_invite(ask: Ask[None, NoQuery, None]) -> ASGIApp:
    house, me = ask.house, ask.principal.entity_id
    entity = await house.store.entity(me)
    if entity is None:
        raise NotFound(f"there is no entity {me!r}")

    def member(joined: Joined) -> Member:
        return Member(entity_id=entity.id, name=entity.name, kind=entity.kind, role=joined.role)

    def then(results: list[Any]) -> None:
        tell_joined(ask.desk, results[0].space_id, member(results[0]))

    audited = house.audit(ask.principal, "member.added", entity_id=me, detail={"by": "invitation"}).row
    [joined] = await house.store.commit([UseInvite(digest_of(ask.params["secret"]), me, audited)], then)
    return json_answer(JoinedSpace(space_id=joined.space_id, member=member(joined)), 201)


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "POST",
        "/api/spaces/{id}/invites",
        create_invite,
        OWNS_SPACE,
        "Make a link that lets one in, once",
        body=NewInvite,
        answer=InviteLink,
        status=201,
    ),
    Route(
        "POST",
        "/api/invites/{secret}",
        redeem_invite,
        ENTITY,
        "Redeem an invitation and be a member",
        answer=JoinedSpace,
        status=201,
    ),
)
