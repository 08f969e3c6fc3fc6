"""Who may use a route. Each rule is asked before its handler, and finds what the route is about."""

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from typing import Generic, TypeAlias, TypeVar

from roomful.domain.agents import Agent
from roomful.domain.blobs import Blob
from roomful.domain.entities import Entity, Principal
from roomful.domain.errors import Forbidden, NotFound
from roomful.domain.runs import Run
from roomful.domain.spaces import Space
from roomful.web.chats import space_id_of
from roomful.web.house import House

T = TypeVar("T")
Params: TypeAlias = Mapping[str, str]
Seen: TypeAlias = tuple[Run, list[str] | None]
"""A run and the spaces through which the caller sees it; None: they see all of it."""


@dataclasses.dataclass(frozen=True)
class Rule(Generic[T]):
    says: str
    find: Callable[[House, Principal, Params], Awaitable[T]]
    needs_token: bool = True


async def _nothing(house: House, principal: Principal, params: Params) -> None:
    pass


async def _not_an_agent(house: House, principal: Principal, params: Params) -> None:
    if principal.kind == "agent":
        raise Forbidden("only people and services may do this, not agents")


async def _an_entity(house: House, principal: Principal, params: Params) -> None:
    if principal.is_admin:
        raise Forbidden("the admin key is nobody by itself: name whom you act for in X-Roomful-As")


async def _admin(house: House, principal: Principal, params: Params) -> None:
    if not principal.is_admin:
        raise Forbidden("only the admin key may do this")


async def _observes(house: House, principal: Principal, params: Params) -> None:
    if not principal.is_admin and principal.kind != "service":
        raise Forbidden("only services and the admin key may do this")


async def _oneself(house: House, principal: Principal, params: Params) -> Entity:
    entity = await house.store.entity(params["id"])
    if entity is None or not (principal.is_admin or principal.entity_id == entity.id):
        raise NotFound(f"there is no entity {params['id']!r} whose tokens are yours")
    return entity


async def _reads(house: House, principal: Principal, params: Params) -> Space:
    return await house.access.space(principal, params["id"], "read")


async def _writes(house: House, principal: Principal, params: Params) -> Space:
    return await house.access.space(principal, params["id"], "write")


async def _reads_thread(house: House, principal: Principal, params: Params) -> Space:
    return await house.access.space(principal, space_id_of(params["id"]), "read")


async def _writes_thread(house: House, principal: Principal, params: Params) -> Space:
    return await house.access.space(principal, space_id_of(params["id"]), "write")


async def _owns(house: House, principal: Principal, params: Params) -> Space:
    return await house.access.space(principal, params["id"], "own")


async def _owns_or_leaves(house: House, principal: Principal, params: Params) -> Space:
    is_leaving = params["entityId"] == principal.entity_id
    return await house.access.space(principal, params["id"], "read" if is_leaving else "own")


async def _agent(house: House, principal: Principal, params: Params) -> Agent:
    return await house.access.agent(principal, params["id"])


async def _triggers(house: House, principal: Principal, params: Params) -> Agent:
    if principal.kind != "service":
        return await house.access.agent(principal, params["id"])
    agent = await house.store.agent(params["id"])
    if agent is None:
        raise NotFound(f"there is no agent {params['id']!r}")
    return agent


async def _sees_run(house: House, principal: Principal, params: Params) -> Seen:
    return await house.access.run(principal, params["id"])


async def _owns_run(house: House, principal: Principal, params: Params) -> Run:
    run = await house.store.run(params["id"])
    if run is None or not await house.access.owns_run(principal, run):
        raise NotFound(f"there is no run {params['id']!r} of an agent of yours")
    return run


async def _sees_blob(house: House, principal: Principal, params: Params) -> Blob:
    return await house.access.blob(principal, params["id"])


async def _stops_run(house: House, principal: Principal, params: Params) -> Seen:
    run, through = await house.access.run(principal, params["id"])
    await house.access.may_stop(principal, run)
    return run, through


async def _retries_run(house: House, principal: Principal, params: Params) -> Seen:
    """Stopping is possible wherever a run shows itself; starting it again is speaking where it began."""
    run, through = await _stops_run(house, principal, params)
    if through is not None:
        if not run.trigger.space_id or run.trigger.space_id not in through:
            raise Forbidden("only the agent's owner, or who may write where this run began, may retry it")
        await house.access.space(principal, run.trigger.space_id, "write")
    return run, through


ANYONE = Rule("anyone, without a token", _nothing, needs_token=False)
CALLER = Rule("whoever has a token", _nothing)
ENTITY = Rule("a person, an agent or a service", _an_entity)
PERSON = Rule("a person, a service or the admin", _not_an_agent)
ADMIN_ONLY = Rule("the admin", _admin)
OBSERVES = Rule("services and the admin", _observes)
ONESELF = Rule("the entity itself or the admin", _oneself)
READS_SPACE = Rule("the space's members and the admin", _reads)
READS_CHAT = Rule("the members of the space that `threadId` names, and the admin", _nothing)
"""The space is in the query, which the handler has: it asks there."""
CHATS = Rule("members who may write, and whoever begins a chat, which its opening checks", _nothing)
READS_THREAD = Rule("the members of the space that the chat is, and the admin", _reads_thread)
WRITES_THREAD = Rule("members who may write in the space that the chat is", _writes_thread)
READS_AUDIT = Rule("the admin, and the owners of the space that `spaceId` names", _nothing)
WRITES_SPACE = Rule("members who may write", _writes)
POSTS = Rule("members who may write, which the intake checks in the step that stores", _nothing)
OWNS_SPACE = Rule("the space's owners and the admin", _owns)
OWNS_SPACE_OR_LEAVES = Rule("the space's owners, the admin, and the member itself", _owns_or_leaves)
OWNS_AGENT = Rule("the agent's owner and the admin", _agent)
TRIGGERS_AGENT = Rule("services, the agent's owner and the admin", _triggers)
SEES_RUN = Rule("the agent's owner, the admin, and members of a space where the run shows itself", _sees_run)
OWNS_RUN = Rule("the agent's owner and the admin", _owns_run)
SEES_BLOB = Rule("its owner, the admin, and members of a space where it was shown", _sees_blob)
STOPS_RUN = Rule("who sees the run, and owns its agent or may write where it shows itself", _stops_run)
RETRIES_RUN = Rule("who may stop the run, and owns its agent or may write where it began", _retries_run)
