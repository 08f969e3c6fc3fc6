"""An agent plans runs of its own for later: once, or again and again."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from roomful.domain.changes import Change, ExpectPlan, PutPlan, RemovePlans
from roomful.domain.errors import Conflict, Invalid, OverBound
from roomful.domain.outcomes import Done, Failed, Outcome
from roomful.domain.plans import Plan
from roomful.domain.ports import CallContext, Clock, Store
from roomful.domain.shape import UNSET, Json, Noun, Unset, clean_json
from roomful.executors.builtin import Operation
from roomful.executors.scoped import in_scope
from roomful.runs.schedules import first_time, iso_of
from roomful.spaces.flow import read_elsewhere, spaces_of

Text = Annotated[str, msgspec.Meta(min_length=1)]


class _Wanted(Noun):
    """A plan as the model writes it."""

    name: Annotated[Text, msgspec.Meta(max_length=200)]
    instruction: Annotated[Text, msgspec.Meta(max_length=10_000)]
    id: str | Unset = UNSET
    run_after: str | int | float | Unset = UNSET
    scheduled_at: str | Unset = UNSET
    cron: str | Unset = UNSET
    timezone: str | Unset = UNSET

    @property
    def has_time(self) -> bool:
        return any(given is not UNSET for given in (self.run_after, self.scheduled_at, self.cron))


class Planning:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    @property
    def operations(self) -> Mapping[str, Operation]:
        return {"set_plans": self._set, "delete_plans": self._delete, "get_plans": self._get}

    async def _set(self, context: CallContext) -> Outcome:
        """All of them or none."""
        try:
            plans, changes = self._changes(context, await self._known(context))
            await self._store.commit(changes)
        except Conflict:
            return Failed("a plan was changed or came due just now, so nothing was set: try again")
        except (Invalid, OverBound) as error:
            return Failed(f"{error.detail} (nothing was set)")
        return Done({"plans": [_in_short(plan) for plan in plans]})

    async def _delete(self, context: CallContext) -> Outcome:
        wanted = tuple(dict.fromkeys(map(str, clean_json(context.args["ids"]))))
        known = await self._known(context)
        meant = tuple(plan_id for plan_id in wanted if plan_id in known)
        [deleted] = await self._store.commit([RemovePlans(context.agent_id, meant)])
        unknown = [plan_id for plan_id in wanted if plan_id not in deleted]
        if not deleted:
            return Failed(f"you have no plan {_listed(unknown)}: get_plans tells which you have")
        return Done({"deleted": deleted, **({"unknown": unknown} if unknown else {})})

    async def _get(self, context: CallContext) -> Outcome:
        wanted = context.args.get("status")
        plans = [plan for plan in (await self._known(context)).values() if wanted in (None, plan.status)]
        return Done({"plans": [_told(plan) for plan in plans]}, read_spaces=spaces_of(plans))

    async def _known(self, context: CallContext) -> dict[str, Plan]:
        plans = await self._store.plans_of(context.agent_id)
        return {
            plan.id: plan for plan in await in_scope(self._store, context, plans, lambda one: one.space_id)
        }

    def _changes(
        self, context: CallContext, known: Mapping[str, Plan]
    ) -> tuple[list[Plan], Sequence[Change]]:
        plans: list[Plan] = []
        changes: list[Change] = []
        for index, item in enumerate(context.args["plans"]):
            try:
                wanted = msgspec.convert(clean_json(item), _Wanted)
                plan = self._plan(context, wanted, _id_for(context, index), known)
            except (Invalid, msgspec.ValidationError) as error:
                raise Invalid(f"plans[{index}]: {error}") from None
            if any(plan.id == other.id for other in plans):
                raise Invalid(f"plans[{index}]: the plan {plan.id} is in the list twice")
            plans.append(plan)
            changes += [ExpectPlan(known[plan.id])] if plan.id in known else []
            changes.append(PutPlan(plan))
        return plans, changes

    def _plan(self, context: CallContext, wanted: _Wanted, new_id: str, known: Mapping[str, Plan]) -> Plan:
        """The plan as it is to be stored: a new one, a changed one, or what this very call made already."""
        if wanted.id is UNSET:
            return known.get(new_id) or self._new(context, wanted, new_id)
        old = known.get(wanted.id)
        if old is None:
            raise Invalid(f"you have no plan {wanted.id[:80]!r}: leave the id out to make a new one")
        now = self._clock.iso()
        changed = msgspec.structs.replace(
            old,
            name=wanted.name,
            instruction=wanted.instruction,
            updated_at=now,
            read_spaces=read_elsewhere(context.run, old.space_id),
        )
        if wanted.has_time:
            return self._timed(changed, wanted)
        if old.status == "completed":
            raise Invalid(f"the plan {old.id} is completed: give it a new time")
        if wanted.timezone is UNSET:
            return changed
        if old.cron is UNSET:
            raise Invalid("timezone: on its own it changes only a plan with cron: give the time again")
        return self._timed(changed, msgspec.structs.replace(wanted, cron=old.cron))

    def _new(self, context: CallContext, wanted: _Wanted, new_id: str) -> Plan:
        now = self._clock.iso()
        plan = Plan(
            id=new_id,
            agent_id=context.agent_id,
            name=wanted.name,
            instruction=wanted.instruction,
            status="active",
            created_at=now,
            updated_at=now,
            space_id=context.call.active_space_id,
            read_spaces=read_elsewhere(context.run, context.call.active_space_id),
        )
        return self._timed(plan, wanted)

    def _timed(self, plan: Plan, wanted: _Wanted) -> Plan:
        timed = msgspec.structs.replace(
            plan,
            status="active",
            run_after=wanted.run_after,
            scheduled_at=wanted.scheduled_at,
            cron=wanted.cron,
            timezone=wanted.timezone,
        )
        return msgspec.structs.replace(timed, next_at=iso_of(first_time(timed, self._clock.now())))


def _id_for(context: CallContext, index: int) -> str:
    """The same whenever the same call is executed, so that a crash in between makes no plan twice."""
    digest = hashlib.sha256(f"{context.call.id}/{index}".encode()).hexdigest()
    return f"plan_{digest[:22]}"


def _in_short(plan: Plan) -> dict[str, Json]:
    return {"id": plan.id, "name": plan.name, "nextAt": plan.next_at}


def _told(plan: Plan) -> dict[str, Json]:
    told = msgspec.to_builtins(plan)
    del told["agentId"]
    told.pop("readSpaces", None)
    return told


def _listed(ids: Sequence[str]) -> str:
    return ", ".join(repr(each[:80]) for each in ids[:20])
