"""Plans: due when their time has come, moved on by one, gone with their agent."""

import asyncio
from typing import Any

import msgspec
import pytest

from roomful.domain.changes import ExpectPlan, PutAgent, PutPlan, RemoveAgent, RemovePlans
from roomful.domain.errors import Conflict, NotFound, OverBound
from roomful.domain.plans import MOST_ACTIVE, MOST_COMPLETED, Plan
from roomful.domain.ports import Store
from roomful.domain.run_changes import AddRun
from roomful.domain.shape import UNSET
from tests.store.things import LATER, NOON, agent, run

AFTER = "2026-01-02T13:00:00.001Z"


def plan(id: str, agent_id: str = "bot", **more: Any) -> Plan:
    fields: dict[str, Any] = {
        "next_at": NOON,
        "status": "active",
        "created_at": NOON,
        "updated_at": NOON,
    } | more
    return Plan(id=id, agent_id=agent_id, name="Report", instruction="Write it.", **fields)


def done(id: str, updated_at: str = LATER) -> Plan:
    return plan(id, next_at=UNSET, status="completed", updated_at=updated_at)


async def move_in(store: Store) -> None:
    await store.commit([PutAgent(agent("bot")), PutAgent(agent("other"))])


async def test_an_agents_plans_are_listed_by_age(store: Store) -> None:
    await move_in(store)
    young = plan("a", cron="0 9 * * *", timezone="Europe/Vienna", space_id="s", created_at=LATER)
    old, others = plan("b", run_after=90), plan("c", "other")
    await store.commit([PutPlan(young), PutPlan(old), PutPlan(others)])

    assert await store.plans_of("bot") == [old, young]
    assert await store.plans_of("nobody") == []


async def test_what_is_due_comes_the_longest_due_first(store: Store) -> None:
    await move_in(store)
    late, later = plan("b"), plan("a", "other", next_at=LATER)
    await store.commit([PutPlan(later), PutPlan(late), PutPlan(plan("c", next_at=AFTER)), PutPlan(done("d"))])

    assert await store.due_plans(LATER) == [late, later]
    assert await store.due_plans(LATER, limit=1) == [late]
    assert await store.due_plans("2026-01-02T11:59:59.999Z") == []


async def test_of_many_who_fire_a_plan_one_does(store: Store) -> None:
    await move_in(store)
    due = plan("p")
    await store.commit([PutPlan(due)])
    moved = msgspec.structs.replace(due, next_at=LATER, last_run_at=NOON)
    answers = await asyncio.gather(
        *(store.commit([ExpectPlan(due), PutPlan(moved), AddRun(run(f"r{number}"))]) for number in range(20)),
        return_exceptions=True,
    )

    assert sum(isinstance(answer, list) for answer in answers) == 1
    assert sum(isinstance(answer, Conflict) for answer in answers) == 19
    assert len(await store.runs()) == 1
    assert await store.plans_of("bot") == [moved]


@pytest.mark.parametrize("change", [{"next_at": LATER}, {"instruction": "Write more."}])
async def test_a_plan_that_was_changed_is_not_the_expected_one(store: Store, change: dict[str, Any]) -> None:
    await move_in(store)
    before = plan("p")
    changed = msgspec.structs.replace(before, **change)
    await store.commit([PutPlan(before)])
    await store.commit([PutPlan(changed)])
    with pytest.raises(Conflict):
        await store.commit([ExpectPlan(before), PutPlan(done("p"))])

    assert await store.plans_of("bot") == [changed]
    await store.commit([RemovePlans("bot", ("p",))])
    with pytest.raises(Conflict):
        await store.commit([ExpectPlan(changed)])


async def test_only_an_agents_own_plans_are_removed_and_put(store: Store) -> None:
    await move_in(store)
    await store.commit([PutPlan(plan("a")), PutPlan(plan("b")), PutPlan(plan("c", "other"))])

    assert await store.commit([RemovePlans("bot", ("a", "c", "nothing"))]) == [["a"]]
    assert await store.plans_of("bot") == [plan("b")]
    with pytest.raises(Conflict):
        await store.commit([PutPlan(plan("c", "bot"))])
    assert await store.plans_of("other") == [plan("c", "other")]


async def test_plans_go_with_their_agent(store: Store) -> None:
    await move_in(store)
    await store.commit([PutPlan(plan("a")), PutPlan(plan("b", "other"))])
    await store.commit([RemoveAgent("bot")])

    assert await store.due_plans(LATER) == [plan("b", "other")]
    with pytest.raises(NotFound):
        await store.commit([PutPlan(plan("a"))])


async def test_an_agent_has_room_for_so_many_active_plans(store: Store) -> None:
    await move_in(store)
    await store.commit([PutPlan(plan(f"p{number}")) for number in range(MOST_ACTIVE - 1)])
    answers = await asyncio.gather(
        *(store.commit([PutPlan(plan(id))]) for id in ("x", "y", "z")), return_exceptions=True
    )

    assert sum(isinstance(answer, OverBound) for answer in answers) == 2
    assert len(await store.plans_of("bot")) == MOST_ACTIVE
    await store.commit([PutPlan(done("p0")), PutPlan(plan("w")), PutPlan(plan("v", "other"))])


async def test_only_the_latest_completed_plans_are_kept(store: Store) -> None:
    await move_in(store)
    old = [done(f"p{number}", NOON) for number in range(MOST_COMPLETED)]
    await store.commit([PutPlan(each) for each in old])
    await store.commit([PutPlan(plan("active")), PutPlan(done("new"))])
    kept = await store.plans_of("bot")

    assert len(kept) == MOST_COMPLETED + 1
    assert {"active", "new"} <= {each.id for each in kept}
