"""What an agent has behind it is what each part of it is when it is read alone."""

from roomful.domain.changes import PutAgent, PutGoals, PutMemories, PutPlan
from roomful.domain.ports import Background, Store
from roomful.domain.run_changes import AddRun
from roomful.domain.runs import ACTIVE
from tests.store.test_memories import goal, memory
from tests.store.test_plans import plan
from tests.store.things import LATER, NOON, agent, run, settle_in


async def test_nothing_is_behind_the_first_run(store: Store) -> None:
    assert await store.background(run(), None, 10) == Background()


async def test_what_an_agent_noted_and_does_is_behind_it(store: Store) -> None:
    await settle_in(store, "s", "t")
    await store.commit([PutAgent(agent("bot")), PutAgent(agent("other"))])
    memories = (memory("a", space_id="t"), memory("a", space_id="s"), memory("b", at=LATER))
    goals = (goal("a"), goal("c", LATER), goal("b"))
    await store.commit([PutMemories("bot", memories, 10), PutGoals("bot", goals, 10)])
    await store.commit([PutMemories("other", (memory("a", agent_id="other"),), 10)])
    await store.commit(
        [PutPlan(plan("p", created_at=LATER)), PutPlan(plan("q")), PutPlan(plan("o", "other"))]
    )
    at_work = [run(id, "running") for id in ("b", "c", "a")]
    await store.commit([AddRun(one) for one in (*at_work, run("d", "completed"), run("e", agent_id="other"))])

    assert await store.background(run("x"), "s", 2) == Background(
        memories=await store.memories_of("bot"),
        goals=await store.goals_of("bot"),
        plans=await store.plans_of("bot"),
        runs=await store.runs(agent_id="bot", statuses=ACTIVE, limit=2),
    )


async def test_the_run_before_is_the_same_agents_in_the_same_space(store: Store) -> None:
    await settle_in(store, "s", "t")
    mine = [run(id, created_at=at, shown_in=["s"]) for id, at in (("a", NOON), ("b", LATER), ("c", LATER))]
    others = [run("d", created_at=LATER, shown_in=["t"]), run("aa", agent_id="other", shown_in=["s"])]
    await store.commit([AddRun(one) for one in (*mine, *others)])

    before = [(await store.background(one, "s", 10)).began_before for one in mine]
    assert before == ["", NOON, LATER]
    assert (await store.background(mine[2], "t", 10)).began_before == ""
    assert (await store.background(mine[2], None, 10)).began_before == ""
