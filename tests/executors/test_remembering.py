"""What an agent writes down: where it belongs, whatever the run did since, and however often it is asked."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from roomful.app.clock import SystemClock
from roomful.domain.agents import Agent
from roomful.domain.changes import AddEntity, AddSpace, PutAgent, PutMember, RemoveMember, RemoveSpace
from roomful.domain.entities import Entity
from roomful.domain.outcomes import Done, Failed, Outcome
from roomful.domain.ports import CallContext, Store
from roomful.domain.runs import Trigger
from roomful.domain.spaces import Space
from roomful.domain.tools import Builtin
from roomful.executors.remembering import Remembering
from roomful.store import open_store
from tests.executors.contexts import call_of

FACT = {"memories": [{"key": "k", "value": 1}]}
AIM = {"goals": [{"description": "Win"}]}


class Mind:
    """The agent `shop` and Ann in both spaces `all` and `few`, and Bo in `all` only."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._operations = Remembering(store, SystemClock()).operations

    async def do(self, operation: str, args: Any, **where: Any) -> Outcome:
        return await self._operations[operation](context(operation, args, **where))

    async def make_goal(self, **where: Any) -> str:
        outcome = await self.do("set_goals", AIM, **where)
        assert isinstance(outcome, Done)
        return outcome.value["goals"][0]["id"]

    async def goal_spaces(self) -> list[str | None]:
        return [goal.space_id or None for goal in await self.store.goals_of("shop")]

    async def memory_spaces(self) -> list[str | None]:
        return [memory.space_id or None for memory in await self.store.memories_of("shop")]


def context(
    operation: str, args: Any, *, here: str = "", call_id: str = "call_1", calls: Any = None, **run: Any
) -> CallContext:
    """`here` is the run's active space, `calls` that of the call, if it is another."""
    made = call_of(Builtin(operation), args)
    made.run.active_space_id = here or msgspec.UNSET
    made.call.active_space_id = calls or here or msgspec.UNSET
    made.call.id = call_id
    for name, value in run.items():
        setattr(made.run, name, value)
    return made


def story(test: Callable[[Mind], Awaitable[None]]) -> Callable[[], None]:
    async def play() -> None:
        store = await open_store("sqlite://:memory:", SystemClock())
        shop = Agent(id="shop", name="Shop", owner_id="ann", config={}, created_at="", updated_at="")
        people = [AddEntity(Entity(id, id, "human", "")) for id in ("ann", "bo", "shop")]
        spaces = [AddSpace(Space(id=id, name=id, created_at="")) for id in ("all", "few")]
        members = [("all", "ann"), ("all", "bo"), ("all", "shop"), ("few", "ann"), ("few", "shop")]
        joined = [PutMember(space_id, who, "member") for space_id, who in members]
        await store.commit([PutAgent(shop), *people, *spaces, *joined])
        try:
            await test(Mind(store))
        finally:
            await store.close()

    def run() -> None:
        asyncio.run(play())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@story
async def test_a_call_that_runs_again_makes_no_second_goal(mind: Mind) -> None:
    two = {"goals": [{"description": "Win"}, {"description": "Win"}]}
    first = await mind.do("set_goals", two, here="all")

    assert await mind.do("set_goals", two, here="all") == first
    assert len(await mind.store.goals_of("shop")) == 2
    await mind.do("set_goals", AIM, here="all", call_id="call_2")
    assert len(await mind.store.goals_of("shop")) == 3


@story
async def test_it_belongs_where_the_call_was_made(mind: Mind) -> None:
    await mind.do("set_memories", FACT, here="all", calls="few")
    await mind.do("set_goals", AIM, here="all", calls="few")

    assert (await mind.memory_spaces(), await mind.goal_spaces()) == (["few"], ["few"])


@story
async def test_a_called_run_is_where_its_caller_was(mind: Mind) -> None:
    await mind.do("set_memories", FACT, trigger=Trigger("call"), asks_in="few")

    assert await mind.memory_spaces() == ["few"]


@story
async def test_a_run_in_no_space_learns_for_everywhere_and_reaches_everything(mind: Mind) -> None:
    await mind.do("set_memories", FACT, here="few")
    await mind.do("set_memories", FACT)

    assert sorted(await mind.memory_spaces(), key=str) == [None, "few"]
    assert await mind.do("delete_memories", {"keys": ["k"]}) == Done({"deleted": ["k"]})
    assert await mind.memory_spaces() == []


@story
async def test_a_changed_goal_belongs_where_its_new_words_are(mind: Mind) -> None:
    """Bo, who is not in `few`, must not read what is written there."""
    goal_id = await mind.make_goal(here="all")
    changed = {"goals": [{"id": goal_id, "description": "A secret of the few"}]}

    assert isinstance(await mind.do("set_goals", changed, here="few"), Done)
    assert await mind.goal_spaces() == ["few"]
    assert isinstance(await mind.do("set_goals", changed, here="all"), Failed)
    assert isinstance(await mind.do("set_goals", changed), Done)
    assert await mind.goal_spaces() == ["few"]


@story
async def test_membership_is_as_of_now(mind: Mind) -> None:
    await mind.do("set_memories", FACT, here="few")

    unknown = Done({"deleted": [], "unknown": ["k"]})
    assert await mind.do("delete_memories", {"keys": ["k"]}, here="all") == unknown
    await mind.store.commit([RemoveMember("all", "bo")])
    assert await mind.do("delete_memories", {"keys": ["k"]}, here="all") == Done({"deleted": ["k"]})


@pytest.mark.parametrize(("operation", "args"), [("set_memories", FACT), ("set_goals", AIM)])
def test_nothing_is_learned_in_a_space_that_is_gone(operation: str, args: Any) -> None:
    @story
    async def play(mind: Mind) -> None:
        await mind.store.commit([RemoveSpace("few")])
        assert isinstance(await mind.do(operation, args, here="few"), Failed)
        assert (await mind.memory_spaces(), await mind.goal_spaces()) == ([], [])

    play()


@story
async def test_a_key_that_is_given_twice_has_the_last_value(mind: Mind) -> None:
    twice = {"memories": [{"key": "k", "value": 1}, {"key": "k", "value": 2}]}

    assert await mind.do("set_memories", twice, here="few") == Done({"remembered": ["k"]})
    [memory] = await mind.store.memories_of("shop")
    assert memory.value == 2
