"""Memories and goals: whose they are, where they belong, and how many there may be."""

import asyncio
from typing import Any

import pytest

from roomful.domain.changes import (
    PutAgent,
    PutGoals,
    PutMemories,
    RemoveAgent,
    RemoveGoals,
    RemoveMemories,
    RemoveSpace,
)
from roomful.domain.errors import NotFound, OverBound
from roomful.domain.goals import Goal
from roomful.domain.memories import Memory
from roomful.domain.ports import Store
from tests.store.things import LATER, NOON, agent, settle_in


def memory(key: str, value: Any = 1, at: str = NOON, **more: Any) -> Memory:
    return Memory(
        agent_id=more.pop("agent_id", "bot"), key=key, value=value, created_at=at, updated_at=at, **more
    )


def goal(id: str, at: str = NOON, **more: Any) -> Goal:
    return Goal(
        id=id,
        agent_id=more.pop("agent_id", "bot"),
        description=f"Goal {id}",
        created_at=NOON,
        updated_at=at,
        **more,
    )


def put(*memories: Memory, most: int = 10) -> PutMemories:
    return PutMemories(memories[0].agent_id, memories, most)


def aim(*goals: Goal, most: int = 10) -> PutGoals:
    return PutGoals(goals[0].agent_id, goals, most)


async def settle(store: Store) -> None:
    await settle_in(store, "s", "t")
    await store.commit([PutAgent(agent("bot")), PutAgent(agent("other"))])


async def test_a_memory_keeps_all_that_is_known_of_it(store: Store) -> None:
    await settle(store)
    whole = memory(
        "ada likes", {"tea": ["green", 7, None]}, space_id="s", run_id="r", message_id="m", entity_id="ann"
    )

    assert await store.commit([put(whole)]) == [[whole]]
    assert await store.memories_of("bot") == [whole]
    assert await store.memories_of("other") == []


async def test_one_key_is_one_memory_in_each_space_and_in_none(store: Store) -> None:
    await settle(store)
    await store.commit(
        [put(memory("k", "s", space_id="s"), memory("k", "t", space_id="t"), memory("k", "own"))]
    )
    await store.commit([put(memory("k", "new", LATER, space_id="s")), put(memory("k", "newer", LATER))])

    known = {
        m.space_id or None: (m.value, m.created_at, m.updated_at) for m in await store.memories_of("bot")
    }
    assert known == {"s": ("new", NOON, LATER), "t": ("t", NOON, NOON), None: ("newer", NOON, LATER)}


async def test_memories_and_goals_come_newest_first(store: Store) -> None:
    await settle(store)
    await store.commit([put(memory("a"), memory("b", at=LATER)), aim(goal("a"), goal("b", at=LATER))])

    assert [one.key for one in await store.memories_of("bot")] == ["b", "a"]
    assert [one.id for one in await store.goals_of("bot")] == ["b", "a"]


async def test_memories_are_removed_by_place_and_key(store: Store) -> None:
    await settle(store)
    theirs = memory("k", agent_id="other")
    await store.commit([put(memory("k", space_id="s"), memory("k"), memory("x")), put(theirs)])

    assert await store.commit([RemoveMemories("bot", ((None, "k"), ("t", "k"), (None, "x")))]) == [2]
    assert await store.memories_of("bot") == [memory("k", space_id="s")]
    assert await store.memories_of("other") == [theirs]


async def test_a_goal_is_made_changed_and_removed(store: Store) -> None:
    await settle(store)
    await store.commit([aim(goal("a", space_id="s"), goal("b")), aim(goal("c", agent_id="other"))])
    changed = goal("a", LATER, status="done", space_id="t")
    await store.commit([aim(changed)])

    assert await store.goals_of("bot") == [changed, goal("b")]
    assert await store.commit([RemoveGoals("bot", ("b", "c", "nothing"))]) == [1]
    assert await store.goals_of("bot") == [changed]
    assert await store.goals_of("other") == [goal("c", agent_id="other")]


async def test_there_are_no_more_than_there_may_be(store: Store) -> None:
    await settle(store)
    await store.commit([put(memory("a"), memory("b"), most=2), aim(goal("a"), goal("b"), most=2)])
    await store.commit([put(memory("a", "new"), most=2), aim(goal("a", status="new"), most=2)])

    for one_more in (
        put(memory("b", "lost"), memory("c"), most=2),
        aim(goal("b", status="x"), goal("c"), most=2),
    ):
        with pytest.raises(OverBound, match=r"an agent may have 2 (memories|goals), and these would make 3"):
            await store.commit([one_more])
    assert {m.key: m.value for m in await store.memories_of("bot")} == {"a": "new", "b": 1}
    assert {g.id: g.status for g in await store.goals_of("bot")} == {"a": "new", "b": "open"}


async def test_the_last_place_has_one_winner(store: Store) -> None:
    await settle(store)
    tries = (store.commit([put(memory(f"k{number}"), most=3)]) for number in range(10))
    answers = await asyncio.gather(*tries, return_exceptions=True)

    assert sum(isinstance(answer, OverBound) for answer in answers) == 7
    assert len(await store.memories_of("bot")) == 3


@pytest.mark.parametrize("gone", ["agent", "space"])
async def test_nothing_is_kept_for_what_is_gone(store: Store, gone: str) -> None:
    await settle(store)
    agent_id, space_id = ("nobody", "s") if gone == "agent" else ("bot", "nowhere")

    with pytest.raises(NotFound):
        await store.commit([put(memory("k", agent_id=agent_id, space_id=space_id))])
    with pytest.raises(NotFound):
        await store.commit([aim(goal("a", agent_id=agent_id, space_id=space_id))])


async def test_an_agent_takes_what_it_knew_with_it(store: Store) -> None:
    await settle(store)
    theirs = memory("k", agent_id="other")
    await store.commit([put(memory("k", space_id="s"), memory("k")), put(theirs), aim(goal("a"))])
    await store.commit([RemoveAgent("bot")])

    assert (await store.memories_of("bot"), await store.goals_of("bot")) == ([], [])
    assert await store.memories_of("other") == [theirs]


async def test_a_space_takes_what_was_learned_there_with_it(store: Store) -> None:
    await settle(store)
    await store.commit([put(memory("k", space_id="s"), memory("k", space_id="t"), memory("k"))])
    await store.commit([aim(goal("a", space_id="s"), goal("b", space_id="t"), goal("c"))])
    await store.commit([RemoveSpace("s")])

    assert [one.space_id or None for one in await store.memories_of("bot")] == [None, "t"]
    assert [one.id for one in await store.goals_of("bot")] == ["b", "c"]
