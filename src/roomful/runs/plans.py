"""Plans become runs when their time has come: each time once, whoever looks, and late rather than never."""

import contextlib
import logging

import msgspec

from roomful.domain.changes import ExpectPlan, PutPlan, RemovePlans
from roomful.domain.errors import Conflict, Invalid, NotFound
from roomful.domain.plans import Plan, PlanDue
from roomful.domain.ports import Clock, Store
from roomful.domain.runs import Trigger
from roomful.domain.shape import UNSET
from roomful.runs.schedules import go_on, iso_of, seconds_of
from roomful.runs.starting import Starting
from roomful.spaces.flow import spaces_of

log = logging.getLogger("roomful.runs")
LATE_SECONDS = 60
"""What is late by less is not worth a word: plans are looked for every few seconds."""


class Plans:
    def __init__(self, *, store: Store, starting: Starting, clock: Clock) -> None:
        self._store = store
        self._starting = starting
        self._clock = clock

    async def fire_due(self) -> None:
        for plan in await self._store.due_plans(self._clock.iso()):
            with contextlib.suppress(Conflict, NotFound):
                await self._fire(plan)

    async def _fire(self, plan: Plan) -> None:
        """One commit moves the plan on and makes the run. Times that were missed start no run of their own,
        and what becomes of the run is nothing to the plan."""
        agent = await self._store.agent(plan.agent_id)
        if agent is None:
            await self._store.commit([RemovePlans(plan.agent_id, (plan.id,))])
            return
        moved, due = self._moved(plan)
        payload = msgspec.to_builtins(due)
        trigger = Trigger(type="plan", payload=payload, read_spaces=list(spaces_of([plan])))
        new = self._starting.new(agent, trigger)
        changes = [ExpectPlan(plan), PutPlan(moved), new.change]
        await self._store.commit(changes, lambda _: self._starting.began(new))

    def _moved(self, plan: Plan) -> tuple[Plan, PlanDue]:
        """The plan as it is after this time, and what the run is told."""
        assert plan.next_at is not UNSET
        now, scheduled = self._clock.now(), seconds_of(plan.next_at)
        try:
            following, missed = go_on(plan, scheduled, now)
        except Invalid as error:
            log.warning("plan %s does not recur any more: %s", plan.id, error.detail)
            following, missed = None, 0
        moved = msgspec.structs.replace(
            plan,
            status="completed" if following is None else "active",
            next_at=UNSET if following is None else iso_of(following),
            last_run_at=iso_of(now),
            updated_at=iso_of(now),
        )
        due = PlanDue(
            plan_id=plan.id,
            name=plan.name,
            instruction=plan.instruction,
            scheduled_for=plan.next_at,
            late=int(now - scheduled) if now - scheduled >= LATE_SECONDS else UNSET,
            missed=missed or UNSET,
            next_at=moved.next_at,
            space_id=plan.space_id,
        )
        return moved, due
