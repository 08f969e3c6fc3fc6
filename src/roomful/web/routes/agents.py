"""Configured agents. An agent's entity id is its agent id."""

from typing import Any, TypeAlias

import msgspec
from starlette.types import ASGIApp

from roomful.domain.agents import Agent
from roomful.domain.audit import AuditAction, digest_of
from roomful.domain.changes import AddEntity, Change, PutAgent, RemoveAgent, RemoveMember
from roomful.domain.entities import ADMIN, Entity
from roomful.domain.errors import Invalid, NotFound
from roomful.domain.ports import ALL
from roomful.domain.runs import ACTIVE
from roomful.domain.shape import Json, Noun, check_id
from roomful.domain.spaces import Member
from roomful.tools.sealing import seal_secrets
from roomful.web.ask import AnyRoute, Ask, Route, json_answer, no_content
from roomful.web.membership import tell_left
from roomful.web.queries import NoQuery
from roomful.web.rules import CALLER, OWNS_AGENT, PERSON
from roomful.web.views import MASK, AgentSeen, agent_of_mine, agent_of_others

Config: TypeAlias = dict[str, Json]


class AgentsSeen(Noun):
    agents: list[AgentSeen]


async def list_agents(ask: Ask[None, NoQuery, None]) -> ASGIApp:
    return json_answer(AgentsSeen([_seen(ask, agent) for agent in await ask.house.store.agents()]))


async def get_agent(ask: Ask[None, NoQuery, None]) -> ASGIApp:
    agent = await ask.house.store.agent(ask.params["id"])
    if agent is None:
        raise NotFound(f"there is no agent {ask.params['id']!r}")
    return json_answer(_seen(ask, agent))


async def create_agent(ask: Ask[Config, NoQuery, None]) -> ASGIApp:
    house = ask.house
    config = {"id": house.ids.new("ent"), **ask.body}
    config = _checked(ask, config)
    id, now = check_id(_text(config, "id")), house.clock.iso()
    if id == ADMIN:
        raise Invalid(f"the id {ADMIN!r} is the admin key's own")
    name = _text(config, "name")
    agent = Agent(
        id=id, name=name, owner_id=ask.principal.entity_id, config=config, created_at=now, updated_at=now
    )
    seen = agent_of_mine(agent)
    entity = Entity(id=id, name=name, kind="agent", created_at=now)
    changes: list[Change] = [AddEntity(entity), PutAgent(agent, only_new=True), *ask.remember(seen)]
    await house.store.commit([*changes, _told(ask, "agent.created", agent)])
    return json_answer(seen, 201)


async def replace_agent(ask: Ask[Config, NoQuery, Agent]) -> ASGIApp:
    known = ask.about
    config = {"id": known.id, **ask.body}
    if config["id"] != known.id:
        raise Invalid(f"id: this is {known.id!r}, and an agent keeps its id")
    config = _checked(ask, config)
    agent = msgspec.structs.replace(
        known, name=_text(config, "name"), config=config, updated_at=ask.house.clock.iso()
    )
    await ask.house.store.commit([PutAgent(agent), _told(ask, "agent.changed", agent)])
    return json_answer(agent_of_mine(agent))


async def remove_agent(ask: Ask[None, NoQuery, Agent]) -> ASGIApp:
    """Its runs are stopped and it leaves its spaces; what it said stays, under its name."""
    house, agent = ask.house, ask.about
    runs = await house.store.runs(agent_id=agent.id, statuses=ACTIVE, limit=ALL)
    for run in sorted(runs, key=lambda run: run.depth):
        await house.worker.cancel(run.id)
    spaces = await house.store.my_spaces(agent.id)
    changes: list[Change] = [RemoveMember(each.space.id, agent.id) for each in spaces]

    def then(_: list[object]) -> None:
        for each in spaces:
            member = Member(entity_id=agent.id, name=agent.name, kind="agent", role=each.role)
            tell_left(ask.desk, each.space.id, member)

    told = _told(ask, "agent.deleted", agent, space_ids=tuple(each.space.id for each in spaces))
    await house.store.commit([*changes, RemoveAgent(agent.id), told], then)
    for each in spaces:
        await house.answers.member_left(each.space.id)
    return no_content()


def _told(ask: Ask[Any, NoQuery, Any], action: AuditAction, agent: Agent, **more: Any) -> Change:
    detail = {"configDigest": digest_of(agent.config)}
    return ask.audit(action, agent_id=agent.id, entity_id=agent.id, detail=detail, **more)


def _seen(ask: Ask[None, NoQuery, None], agent: Agent) -> AgentSeen:
    is_mine = ask.principal.is_admin or agent.owner_id == ask.principal.entity_id
    return agent_of_mine(agent) if is_mine else agent_of_others(agent)


def _checked(ask: Ask[Config, NoQuery, Agent] | Ask[Config, NoQuery, None], config: Config) -> Config:
    seal_secrets(config, _refuse_mask)
    return ask.house.check_config(config, str(config["id"])[:64])


def _refuse_mask(secret: str) -> str:
    if secret == MASK:
        raise Invalid(f"{MASK} stands for a secret that is not shown: write the secret again")
    return secret


def _text(config: Config, field: str) -> str:
    value = config.get(field, config["id"])
    if not isinstance(value, str) or not value.strip():
        raise Invalid(f"{field}: is a text")
    return value


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "GET",
        "/api/agents",
        list_agents,
        CALLER,
        "All agents; the configuration of mine, without its secrets",
        answer=AgentsSeen,
    ),
    Route(
        "POST",
        "/api/agents",
        create_agent,
        PERSON,
        "Configure an agent and own it",
        body=Config,
        answer=AgentSeen,
        status=201,
        keeps_key=True,
    ),
    Route("GET", "/api/agents/{id}", get_agent, CALLER, "One agent", answer=AgentSeen),
    Route(
        "PUT",
        "/api/agents/{id}",
        replace_agent,
        OWNS_AGENT,
        "Configure an agent anew",
        body=Config,
        answer=AgentSeen,
    ),
    Route("DELETE", "/api/agents/{id}", remove_agent, OWNS_AGENT, "Remove an agent", status=204),
)
