"""Firing, where the clock alone does not lead: what a recurring plan does when it can recur no more."""

import asyncio
from typing import Any, cast

from roomful.domain.changes import PutAgent, PutPlan
from roomful.domain.plans import Plan
from roomful.runs.plans import Plans
from roomful.runs.starting import Starting
from roomful.runs.worker import Worker
from roomful.spaces.announcer import Announcer
from roomful.store import open_store
from tests.store.things import NOON, HandClock, agent
from tests.web.visiting import CountedIds, IdleWorker


def test_a_plan_whose_zone_is_no_more_runs_once_again_and_holds_up_no_other() -> None:
    async def story() -> None:
        clock = HandClock()
        store = await open_store("sqlite://:memory:", clock)
        lost, kept = _plan("a", timezone="Gone/Zone"), _plan("b")
        await store.commit([PutAgent(agent("bot")), PutPlan(lost), PutPlan(kept)])
        worker = cast(Worker, IdleWorker(store))
        starting = Starting(
            worker=worker, announcer=cast(Announcer, lambda _: None), clock=clock, ids=CountedIds()
        )
        plans = Plans(store=store, starting=starting, clock=clock)

        await plans.fire_due()
        await plans.fire_due()

        states = {plan.id: (plan.status, bool(plan.next_at)) for plan in await store.plans_of("bot")}
        assert states == {"a": ("completed", False), "b": ("active", True)}
        payloads: list[Any] = [run.trigger.payload for run in await store.runs()]
        fired = [payload["planId"] for payload in payloads]
        assert sorted(fired) == ["a", "b"]
        await store.close()

    asyncio.run(story())


def _plan(id: str, **more: Any) -> Plan:
    return Plan(
        id=id,
        agent_id="bot",
        name="Report",
        instruction="Write it.",
        status="active",
        created_at=NOON,
        updated_at=NOON,
        next_at=NOON,
        cron="0 9 * * *",
        **more,
    )
