"""Signing in to the page: a token is exchanged for a cookie that no script can read."""

import contextlib
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import ASGIApp

from roomful.domain.changes import AddToken, Change, RevokeTokens
from roomful.domain.entities import Entity, Token
from roomful.domain.errors import Conflict, Invalid, NotFound, Unauthorized
from roomful.domain.shape import UNSET, Noun, Unset
from roomful.web.ask import AnyRoute, Ask, Body, Route, json_answer, no_content
from roomful.web.auth import COOKIE, digest_of
from roomful.web.house import House
from roomful.web.queries import NoQuery
from roomful.web.routes.demo import DemoPerson
from roomful.web.routes.entities import revoke
from roomful.web.rules import ANYONE, CALLER, ENTITY

DAYS = 30
MOST = 20
"""Sign-ins of one entity that are kept; the oldest gives way."""
TRIES = 10
"""How often the oldest is looked for while others sign in as well."""
PREFIX = "ses"


class SignIn(Body):
    token: str


class Door(Noun):
    """Who is known already, and whom one can be in a demo."""

    people: list[DemoPerson]
    me: Entity | Unset = UNSET


async def sign_in(ask: Ask[SignIn, NoQuery, None]) -> ASGIApp:
    """The cookie holds a token of its own, which ends with the session; the one that was sent stays out."""
    house = ask.house
    digest = digest_of(ask.body.token)
    principal = await ask.desk.auth.known_from(ask.address, digest)
    if principal.is_admin:
        raise Invalid("the admin key is nobody's: sign in with the token of a person")
    entity = await house.store.entity(principal.entity_id)
    if entity is None:
        raise Unauthorized("this token is not valid, or not any more")
    secret, now = house.ids.secret(), house.clock.iso()
    token = Token(id=house.ids.new(PREFIX), entity_id=entity.id, created_at=now)
    told = house.audit(principal, "token.made", entity_id=entity.id, token_id=token.id)
    made: list[Change] = [AddToken(token, digest_of(secret)), told]
    for _ in range(TRIES):
        with contextlib.suppress(NotFound):  # another sign-in took the oldest away meanwhile
            await house.store.commit([*made, *await _make_room(house, entity.id)])
            return _with_cookie(ask, json_answer(entity), secret)
    raise Conflict("too many sign in as you at the same time: try again in a moment")


async def _make_room(house: House, entity_id: str) -> list[Change]:
    mine = [known for known in await house.store.tokens(entity_id) if known.id.startswith(f"{PREFIX}_")]
    return [RevokeTokens(entity_id, old.id) for old in mine[: max(0, len(mine) - MOST + 1)]]


async def who_am_i(ask: Ask[None, NoQuery, None]) -> ASGIApp:
    entity = await ask.house.store.entity(ask.principal.entity_id)
    if entity is None:
        raise NotFound("you are not here any more")
    return json_answer(entity)


async def look_in(ask: Ask[None, NoQuery, None]) -> ASGIApp:
    """For the page, which cannot know who it is before it asks: nobody is no error here."""
    seen = Door(people=[msgspec.convert(person, DemoPerson) for person in ask.house.demo_people])
    with contextlib.suppress(Unauthorized):
        principal, _ = await ask.desk.auth.caller(ask.headers, "GET", ask.address)
        seen.me = await ask.house.store.entity(principal.entity_id) or UNSET
    return json_answer(seen)


async def sign_out(ask: Ask[None, NoQuery, None]) -> ASGIApp:
    if ask.credential is not None and ask.credential.by_cookie:
        await revoke(ask, ask.principal.entity_id, ask.principal.token_id)
    return _with_cookie(ask, no_content(), "")


def _with_cookie(ask: Ask[Any, NoQuery, None], response: Response, value: str) -> Response:
    age = DAYS * 86_400 if value else 0
    is_secure = ask.scheme == "https" or ask.house.public_url.lower().startswith("https:")
    response.set_cookie(
        COOKIE, value, max_age=age, path="/", httponly=True, samesite="strict", secure=is_secure
    )
    return response


ROUTES: tuple[AnyRoute, ...] = (
    Route("GET", "/api/session", who_am_i, ENTITY, "Who I am", answer=Entity),
    Route("GET", "/api/door", look_in, ANYONE, "Who I am, if anybody, and the people of a demo", answer=Door),
    Route(
        "POST",
        "/api/session",
        sign_in,
        ANYONE,
        "Sign in to the page with a token",
        body=SignIn,
        answer=Entity,
    ),
    Route("DELETE", "/api/session", sign_out, CALLER, "Sign out; the cookie's token ends", status=204),
)
