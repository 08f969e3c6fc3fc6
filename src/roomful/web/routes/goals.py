"""What an agent wants to reach, for its owner to look at and to take back."""

from starlette.types import ASGIApp

from roomful.domain.agents import Agent
from roomful.domain.changes import RemoveGoals
from roomful.domain.errors import NotFound
from roomful.domain.goals import Goal
from roomful.domain.shape import Noun
from roomful.web.ask import AnyRoute, Ask, Route, json_answer, no_content
from roomful.web.queries import NoQuery
from roomful.web.rules import OWNS_AGENT

PATH = "/api/agents/{id}/goals"


class Goals(Noun):
    goals: list[Goal]


async def list_goals(ask: Ask[None, NoQuery, Agent]) -> ASGIApp:
    return json_answer(Goals(await ask.house.store.goals_of(ask.about.id)))


async def remove_goal(ask: Ask[None, NoQuery, Agent]) -> ASGIApp:
    goal_id = ask.params["goalId"]
    [count] = await ask.house.store.commit([RemoveGoals(ask.about.id, (goal_id,))])
    if not count:
        raise NotFound(f"there is no goal {goal_id!r}")
    return no_content()


ROUTES: tuple[AnyRoute, ...] = (
    Route("GET", PATH, list_goals, OWNS_AGENT, "An agent's goals, newest first", answer=Goals),
    Route("DELETE", PATH + "/{goalId}", remove_goal, OWNS_AGENT, "Take a goal from an agent", status=204),
)
