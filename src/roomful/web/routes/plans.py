"""What an agent means to do later, for those who own it to look at and to call off."""

from starlette.types import ASGIApp

from roomful.domain.agents import Agent
from roomful.domain.changes import RemovePlans
from roomful.domain.errors import NotFound
from roomful.domain.plans import Plan
from roomful.domain.shape import Noun
from roomful.web.ask import AnyRoute, Ask, Route, json_answer, no_content
from roomful.web.queries import NoQuery
from roomful.web.rules import OWNS_AGENT


class Plans(Noun):
    plans: list[Plan]


async def list_plans(ask: Ask[None, NoQuery, Agent]) -> ASGIApp:
    return json_answer(Plans(await ask.house.store.plans_of(ask.about.id)))


async def remove_plan(ask: Ask[None, NoQuery, Agent]) -> ASGIApp:
    plan_id = ask.params["planId"]
    [removed] = await ask.house.store.commit([RemovePlans(ask.about.id, (plan_id,))])
    if not removed:
        raise NotFound(f"this agent has no plan {plan_id!r}")
    return no_content()


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "GET",
        "/api/agents/{id}/plans",
        list_plans,
        OWNS_AGENT,
        "What it means to do later, and the latest of what it did",
        answer=Plans,
    ),
    Route(
        "DELETE",
        "/api/agents/{id}/plans/{planId}",
        remove_plan,
        OWNS_AGENT,
        "Call a plan off",
        status=204,
    ),
)
