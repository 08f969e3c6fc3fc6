"""Runs that no message starts: a service calls an agent, or answers later what it was asked."""

from starlette.types import ASGIApp

from roomful.domain.agents import Agent
from roomful.domain.changes import Change
from roomful.domain.errors import NotFound
from roomful.domain.runs import Run
from roomful.domain.shape import UNSET, Json, Noun, Unset
from roomful.web.ask import AnyRoute, Ask, Body, Route, json_answer
from roomful.web.queries import NoQuery
from roomful.web.rules import ANYONE, TRIGGERS_AGENT


class ServiceTrigger(Body):
    service_name: str
    payload: Json | Unset = UNSET


class Triggered(Noun):
    run_id: str


class Late(Noun):
    status: str


class LateResult(Body):
    result: Json


async def trigger_agent(ask: Ask[ServiceTrigger, NoQuery, Agent]) -> ASGIApp:
    sent = ask.body
    payload = {"serviceName": sent.service_name, "payload": None if sent.payload is UNSET else sent.payload}

    def remember(begun: Run) -> list[Change]:
        return ask.remember(Triggered(begun.id), 202)

    run = await ask.house.intake.trigger(ask.principal, ask.about.id, payload, remember)
    return json_answer(Triggered(run.id), 202)


async def call_back(ask: Ask[LateResult, NoQuery, None]) -> ASGIApp:
    """The address is the permission: it was made for this call and sent to whoever was asked, once."""
    call_id = ask.params["callId"]
    if not await ask.house.check_callback(call_id, ask.params["key"]):
        raise NotFound("there is nothing to call back here")
    await ask.house.answers.call_back(call_id, ask.body.result)
    return json_answer(Late("accepted"))


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "POST",
        "/api/agents/{id}/trigger",
        trigger_agent,
        TRIGGERS_AGENT,
        "Start a run with no space",
        body=ServiceTrigger,
        answer=Triggered,
        status=202,
        is_post=True,
        keeps_key=True,
    ),
    Route(
        "POST",
        "/api/callbacks/{callId}/{key}",
        call_back,
        ANYONE,
        "The later result of a webhook tool",
        body=LateResult,
        answer=Late,
    ),
)
