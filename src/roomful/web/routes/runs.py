"""Runs: looked at, stopped, answered."""

from collections.abc import Sequence
from typing import get_args

from starlette.types import ASGIApp

from roomful.domain.changes import Change
from roomful.domain.entities import Principal
from roomful.domain.errors import Forbidden, Invalid, NotFound
from roomful.domain.inspection import Inspection
from roomful.domain.runs import Run, RunStatus
from roomful.domain.shape import UNSET, Json, Noun, Unset
from roomful.spaces.access import no_space
from roomful.web.ask import AnyRoute, Ask, Body, Route, json_answer
from roomful.web.house import House
from roomful.web.queries import Limit, NoQuery, Query
from roomful.web.rules import CALLER, OWNS_RUN, RETRIES_RUN, SEES_RUN, STOPS_RUN, Seen
from roomful.web.views import run_seen

MOST_SPACES = 100


class RunQuery(Query, frozen=True):
    agent_id: str | None = None
    space_id: str | None = None
    status: str | None = None
    """One state, or several with commas."""
    limit: Limit = 50


class ToolResult(Body):
    """`callId` is another name for `toolCallId`. `close` ends a poll."""

    result: Json | Unset = UNSET
    tool_call_id: str | Unset = UNSET
    call_id: str | Unset = UNSET
    close: bool = False


class Accepted(Noun):
    status: str


class Runs(Noun):
    runs: list[Run]


async def list_runs(ask: Ask[None, RunQuery, None]) -> ASGIApp:
    house, me, query = ask.house, ask.principal, ask.query
    found = {run.id: run for run in await _candidates(house, me, query)}
    newest = sorted(found.values(), key=lambda run: (run.created_at, run.id), reverse=True)
    seen: list[Run] = []
    for run in newest:
        try:
            seen.append(run_seen(run, await house.access.sees_run(me, run)))
        except NotFound:
            continue
        if len(seen) == query.limit:
            break
    return json_answer(Runs(seen))


async def get_run(ask: Ask[None, NoQuery, Seen]) -> ASGIApp:
    return json_answer(run_seen(*ask.about))


async def inspect_run(ask: Ask[None, NoQuery, Run]) -> ASGIApp:
    return json_answer(await ask.house.inspecting.inspect(ask.principal, ask.about))


async def cancel_run(ask: Ask[None, NoQuery, Seen]) -> ASGIApp:
    run, through = ask.about
    return json_answer(run_seen(await cancel(ask.house, ask.principal, run), through))


async def cancel(house: House, me: Principal, run: Run) -> Run:
    """Somebody stops it, which is noted with its end."""
    told = house.audit(
        me, "run.canceled", run_id=run.id, agent_id=run.agent_id, space_ids=tuple(run.shown_in)
    )
    return await house.worker.cancel(run.id, also=(told,))


async def retry_run(ask: Ask[None, NoQuery, Seen]) -> ASGIApp:
    run, through = ask.about

    def remember(again: Run) -> list[Change]:
        return ask.remember(run_seen(again, through and again.shown_in))

    again = await ask.house.intake.retry(run, remember)
    return json_answer(run_seen(again, through and again.shown_in), 201)


async def answer_call(ask: Ask[ToolResult, NoQuery, Seen]) -> ASGIApp:
    accepted = Accepted("accepted")
    await answer(ask.house, ask.principal, ask.about[0], ask.body, ask.remember(accepted, 200))
    return json_answer(accepted)


async def answer(
    house: House, me: Principal, run: Run, sent: ToolResult, also: Sequence[Change] = ()
) -> None:
    """`also` is stored with it."""
    if me.is_admin:
        raise Forbidden("the admin key does not answer cards: name a member in X-Roomful-As")
    if (sent.result is UNSET) != sent.close:
        raise Invalid("result: give the answer in `result`, or `close: true` to end a poll")
    result = None if sent.result is UNSET else sent.result
    await house.answers.answer(me, run.id, _call_id(sent), result, close=sent.close, also=also)


def _call_id(sent: ToolResult) -> str:
    ids = {id for id in (sent.tool_call_id, sent.call_id) if id is not UNSET}
    if len(ids) != 1:
        raise Invalid("name the call in toolCallId (or callId), once")
    return ids.pop()


async def _candidates(house: House, me: Principal, query: RunQuery) -> list[Run]:
    """Runs that the caller may be able to see; each is judged by itself afterwards."""
    store, statuses = house.store, _statuses(query.status)
    if query.space_id is not None:
        if not await house.access.may_read(me, query.space_id):
            raise no_space(query.space_id)
        spaces: list[str | None] = [query.space_id]
    elif me.is_admin:
        spaces = [None]
    else:
        spaces = [each.space.id for each in (await store.my_spaces(me.entity_id))[:MOST_SPACES]]
    found: list[Run] = []
    for space_id in spaces:
        found += await store.runs(
            agent_id=query.agent_id, space_id=space_id, statuses=statuses, limit=query.limit
        )
    if query.space_id is None and not me.is_admin:
        mine = [agent.id for agent in await store.agents() if agent.owner_id == me.entity_id]
        for agent_id in mine if query.agent_id is None else {query.agent_id}.intersection(mine):
            found += await store.runs(agent_id=agent_id, statuses=statuses, limit=query.limit)
    return found


def _statuses(text: str | None) -> list[RunStatus]:
    known: dict[str, RunStatus] = {status: status for status in get_args(RunStatus)}
    wanted = text.split(",") if text else []
    if unknown := [status for status in wanted if status not in known]:
        raise Invalid(f"status: there is no {unknown[0][:80]!r}; states are {', '.join(known)}")
    return [known[status] for status in wanted]


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "GET",
        "/api/runs",
        list_runs,
        CALLER,
        "Runs that I may see, newest first",
        query=RunQuery,
        answer=Runs,
    ),
    Route("GET", "/api/runs/{id}", get_run, SEES_RUN, "One run, as I may see it", answer=Run),
    Route(
        "GET",
        "/api/runs/{id}/inspection",
        inspect_run,
        OWNS_RUN,
        "A run and those it called, with everything that they did and used",
        answer=Inspection,
    ),
    Route("POST", "/api/runs/{id}/cancel", cancel_run, STOPS_RUN, "Stop a run for good", answer=Run),
    Route(
        "POST",
        "/api/runs/{id}/retry",
        retry_run,
        RETRIES_RUN,
        "Start a failed run again, as a new one",
        answer=Run,
        status=201,
        is_post=True,
        keeps_key=True,
    ),
    Route(
        "POST",
        "/api/runs/{id}/tool-results",
        answer_call,
        SEES_RUN,
        "Answer a card; the first answer counts",
        body=ToolResult,
        answer=Accepted,
        is_post=True,
        keeps_key=True,
    ),
)
