"""The tools for plans, where a test through the house cannot reach: a call that is executed twice, a race."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from roomful.domain.changes import PutAgent, PutPlan
from roomful.domain.outcomes import Done, Failed, Outcome
from roomful.domain.plans import Plan
from roomful.domain.ports import Store
from roomful.domain.tools import Builtin
from roomful.executors.planning import Planning
from roomful.store import open_store
from tests.executors.contexts import call_of
from tests.store.things import HandClock, agent

TEA = {"name": "Tea", "instruction": "Ask.", "runAfter": "2 hours"}


@contextlib.asynccontextmanager
async def opened(clock: HandClock) -> AsyncIterator[Store]:
    store = await open_store("sqlite://:memory:", clock)
    await store.commit([PutAgent(agent("shop"))])
    yield store
    await store.close()


async def set_plans(store: Store, clock: HandClock, *plans: dict[str, Any]) -> Outcome:
    """Each time the same call."""
    context = call_of(Builtin(operation="set_plans"), {"plans": list(plans)})
    return await Planning(store, clock).operations["set_plans"](context)


def test_the_same_call_executed_again_after_a_crash_makes_no_second_plan() -> None:
    async def story() -> None:
        clock = HandClock()
        async with opened(clock) as store:
            first = await set_plans(store, clock, TEA, TEA)
            clock.seconds += 60
            again = await set_plans(store, clock, TEA, TEA)
            assert isinstance(first, Done)
            assert again == first
            assert len(await store.plans_of("shop")) == 2

    asyncio.run(story())


def test_a_plan_that_came_due_meanwhile_is_not_set_back() -> None:
    async def story() -> None:
        clock = HandClock()
        async with opened(clock) as store:
            await set_plans(store, clock, TEA)
            [plan] = await store.plans_of("shop")
            moved = msgspec.structs.replace(plan, next_at="2026-02-01T00:00:00.000Z")
            racing = _Racing(store, moved)
            outcome = await set_plans(racing, clock, TEA | {"id": plan.id})  # pyright: ignore[reportArgumentType]
            assert isinstance(outcome, Failed)
            assert "try again" in outcome.error
            assert await store.plans_of("shop") == [moved]

    asyncio.run(story())


def test_a_plan_that_is_twice_in_a_list_is_refused() -> None:
    async def story() -> None:
        clock = HandClock()
        async with opened(clock) as store:
            await set_plans(store, clock, TEA)
            [plan] = await store.plans_of("shop")
            outcome = await set_plans(store, clock, TEA | {"id": plan.id}, TEA | {"id": plan.id})
            assert outcome == Failed(f"plans[1]: the plan {plan.id} is in the list twice (nothing was set)")

    asyncio.run(story())


class _Racing:
    """Somebody else moves the plan on right after it was read."""

    def __init__(self, store: Store, moved: Plan) -> None:
        self._store = store
        self._moved = moved

    async def plans_of(self, agent_id: str) -> list[Plan]:
        read = await self._store.plans_of(agent_id)
        await self._store.commit([PutPlan(self._moved)])
        return read

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
