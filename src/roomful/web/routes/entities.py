"""People, outside agents and services; their tokens; and how they are erased."""

from typing import Any, Literal

from starlette.types import ASGIApp

from roomful.domain.changes import AddEntity, Change, EraseEntity, RemoveMember, RevokeTokens
from roomful.domain.entities import ADMIN, Entity, Token
from roomful.domain.errors import Conflict, Invalid, NotFound
from roomful.domain.events import Announcement, MessageChanged
from roomful.domain.news import Revoked
from roomful.domain.shape import UNSET, Noun, Unset, check_id
from roomful.domain.spaces import Member
from roomful.web.ask import AnyRoute, Ask, Body, Route, json_answer, no_content
from roomful.web.auth import new_token
from roomful.web.desk import Desk
from roomful.web.fields import GivenId, Name, checked_name
from roomful.web.membership import tell_left
from roomful.web.queries import NoQuery
from roomful.web.rules import ADMIN_ONLY, ONESELF

TOLD_PER_SPACE = 200
"""How far back open readers hear that a text is gone; further back they see it when they look."""


class NewEntity(Body):
    name: Name
    id: GivenId | Unset = UNSET
    kind: Literal["human", "agent", "service"] = "human"


class EntityMade(Noun):
    entity: Entity
    token: str | Unset = UNSET
    """Shown this once; a replayed request is answered without it."""


class TokenMade(Noun):
    id: str
    entity_id: str
    created_at: str
    token: str | Unset = UNSET


class Tokens(Noun):
    tokens: list[Token]


async def create_entity(ask: Ask[NewEntity, NoQuery, None]) -> ASGIApp:
    house, sent = ask.house, ask.body
    id = house.ids.new("ent") if sent.id is UNSET else check_id(sent.id)
    if id == ADMIN:
        raise Invalid(f"the id {ADMIN!r} is the admin key's own")
    entity = Entity(id=id, name=checked_name(sent.name), kind=sent.kind, created_at=house.clock.iso())
    secret, add_token = new_token(house.clock, house.ids, id)
    told = ask.audit("entity.created", entity_id=id, token_id=add_token.token.id)
    changes: list[Change] = [AddEntity(entity), add_token, told, *ask.remember(EntityMade(entity))]
    await house.store.commit(changes)
    return json_answer(EntityMade(entity, secret), 201)


async def list_tokens(ask: Ask[None, NoQuery, Entity]) -> ASGIApp:
    return json_answer(Tokens(await ask.house.store.tokens(ask.about.id)))


async def create_token(ask: Ask[None, NoQuery, Entity]) -> ASGIApp:
    secret, add_token = new_token(ask.house.clock, ask.house.ids, ask.about.id)
    token = add_token.token
    made = TokenMade(id=token.id, entity_id=token.entity_id, created_at=token.created_at)
    told = ask.audit("token.made", entity_id=token.entity_id, token_id=token.id)
    await ask.house.store.commit([add_token, told, *ask.remember(made)])
    made.token = secret
    return json_answer(made, 201)


async def revoke_tokens(ask: Ask[None, NoQuery, Entity]) -> ASGIApp:
    await revoke(ask, ask.about.id)
    return no_content()


async def revoke_token(ask: Ask[None, NoQuery, Entity]) -> ASGIApp:
    await revoke(ask, ask.about.id, ask.params["tokenId"])
    return no_content()


async def erase_entity(ask: Ask[None, NoQuery, None]) -> ASGIApp:
    desk, store, id = ask.desk, ask.house.store, ask.params["id"]
    entity = await store.entity(id)
    if entity is None:
        raise NotFound(f"there is no entity {id!r}")
    if await store.agent(id) is not None:
        raise Conflict(f"{id!r} is a configured agent: delete it at /api/agents/{id} first")
    spaces = await store.my_spaces(id)
    texts = [(each.space.id, await _written_by(desk, each.space.id, id)) for each in spaces]
    changes: list[Change] = [RemoveMember(each.space.id, id) for each in spaces]
    changes.append(EraseEntity(id, ask.house.clock.iso()))
    changes.append(
        ask.audit("entity.erased", entity_id=id, space_ids=tuple(each.space.id for each in spaces))
    )

    def then(_: list[object]) -> None:
        _forget_tokens(desk, id)
        for each in spaces:
            member = Member(entity_id=id, name="", kind=entity.kind, role=each.role)
            tell_left(desk, each.space.id, member)

    await store.commit(changes, then)
    for space_id, message_ids in texts:
        await _tell_erased(desk, space_id, message_ids)
        await ask.house.answers.member_left(space_id)
    return no_content()


async def revoke(ask: Ask[Any, Any, Any], entity_id: str, token_id: str | None = None) -> None:
    """The tokens end, and with them the streams they opened."""
    told = ask.audit("token.revoked", entity_id=entity_id, token_id=token_id or UNSET)
    await ask.house.store.commit(
        [RevokeTokens(entity_id, token_id), told], lambda _: _forget_tokens(ask.desk, entity_id, token_id)
    )


def _forget_tokens(desk: Desk, entity_id: str, token_id: str | None = None) -> None:
    desk.forget_tokens(entity_id, token_id)
    desk.house.others.tell(Revoked(entity_id, token_id))


async def _written_by(desk: Desk, space_id: str, entity_id: str) -> list[str]:
    messages = await desk.house.history.recent(space_id, None, TOLD_PER_SPACE)
    return [message.id for message in messages if message.entity_id == entity_id]


async def _tell_erased(desk: Desk, space_id: str, message_ids: list[str]) -> None:
    found = [await desk.house.store.message(space_id, id) for id in message_ids]
    events = [MessageChanged(space_id, message) for message in found if message is not None]
    desk.house.announcer([Announcement(event=event, space_id=space_id) for event in events])


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "POST",
        "/api/entities",
        create_entity,
        ADMIN_ONLY,
        "Make a person, a service or an outside agent; its token is shown once",
        body=NewEntity,
        answer=EntityMade,
        status=201,
        keeps_key=True,
    ),
    Route("DELETE", "/api/entities/{id}", erase_entity, ADMIN_ONLY, "Erase name and texts", status=204),
    Route("GET", "/api/entities/{id}/tokens", list_tokens, ONESELF, "The tokens, unread", answer=Tokens),
    Route(
        "POST",
        "/api/entities/{id}/tokens",
        create_token,
        ONESELF,
        "Make another token; it is shown once",
        answer=TokenMade,
        status=201,
        keeps_key=True,
    ),
    Route("DELETE", "/api/entities/{id}/tokens", revoke_tokens, ONESELF, "Revoke all tokens", status=204),
    Route(
        "DELETE",
        "/api/entities/{id}/tokens/{tokenId}",
        revoke_token,
        ONESELF,
        "Revoke one token; its streams end",
        status=204,
    ),
)
