"""What an agent keeps across its runs, written by itself: memories and goals."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from roomful.domain.changes import PutGoals, PutMemories, RemoveGoals, RemoveMemories
from roomful.domain.errors import Invalid, NotFound, OverBound
from roomful.domain.goals import MOST_GOALS, OPEN, Goal, check_goal
from roomful.domain.memories import MOST_MEMORIES, Memory, check_memory
from roomful.domain.outcomes import Done, Failed, Outcome
from roomful.domain.ports import CallContext, Clock, Store
from roomful.domain.shape import UNSET, Json, clean_json, clean_text
from roomful.executors.builtin import Operation
from roomful.executors.scoped import in_scope, place_of_call
from roomful.spaces.flow import read_elsewhere

T = TypeVar("T", Memory, Goal)
A = TypeVar("A", bound=msgspec.Struct)


class _Fact(msgspec.Struct):
    key: str
    value: Json


class _Facts(msgspec.Struct):
    memories: list[_Fact]


class _Keys(msgspec.Struct):
    keys: list[str]


class _Aim(msgspec.Struct):
    description: str
    id: str | None = None
    status: str | None = None


class _Aims(msgspec.Struct):
    goals: list[_Aim]


class _Ids(msgspec.Struct):
    ids: list[str]


class Remembering:
    """Each call is one commit, all of it or nothing. A call reaches only what may be told where it is made;
    the rest is unknown to it."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    @property
    def operations(self) -> Mapping[str, Operation]:
        return {
            "set_memories": _sound(_Facts, self._set_memories),
            "delete_memories": _sound(_Keys, self._delete_memories),
            "set_goals": _sound(_Aims, self._set_goals),
            "delete_goals": _sound(_Ids, self._delete_goals),
        }

    async def _set_memories(self, context: CallContext, wanted: _Facts) -> Json:
        trigger, now, here = context.run.trigger, self._clock.iso(), place_of_call(context)
        made: dict[str, Memory] = {}
        for fact in wanted.memories:
            key, value = clean_text(fact.key), clean_json(fact.value)
            check_memory(key, value)
            made[key] = Memory(
                agent_id=context.agent_id,
                key=key,
                value=value,
                created_at=now,
                updated_at=now,
                space_id=here or UNSET,
                run_id=context.run.id,
                message_id=trigger.message_id,
                entity_id=trigger.entity_id,
                read_spaces=read_elsewhere(context.run, here),
            )
        await self._store.commit([PutMemories(context.agent_id, tuple(made.values()), MOST_MEMORIES)])
        return {"remembered": list(made)}

    async def _delete_memories(self, context: CallContext, wanted: _Keys) -> Json:
        known = await self._in_scope(context, await self._store.memories_of(context.agent_id))
        meant = [memory for memory in known if memory.key in wanted.keys]
        places = tuple((memory.space_id or None, memory.key) for memory in meant)
        await self._store.commit([RemoveMemories(context.agent_id, places)])
        return _deleted(wanted.keys, {memory.key for memory in meant})

    async def _set_goals(self, context: CallContext, wanted: _Aims) -> Json:
        known = await self._in_scope(context, await self._store.goals_of(context.agent_id))
        goals = {goal.id: goal for goal in known}
        made: dict[str, Goal] = {}
        for number, aim in enumerate(wanted.goals):
            if aim.id is not None and aim.id not in goals:
                raise NotFound(
                    f"there is no goal {aim.id[:80]!r} of yours here: leave the id out for a new one"
                )
            goal = self._goal(context, aim, number, goals.get(aim.id or ""))
            check_goal(goal.description, goal.status)
            made[goal.id] = goals[goal.id] = goal
        await self._store.commit([PutGoals(context.agent_id, tuple(made.values()), MOST_GOALS)])
        return {
            "goals": [{"id": g.id, "description": g.description, "status": g.status} for g in made.values()]
        }

    def _goal(self, context: CallContext, aim: _Aim, number: int, known: Goal | None) -> Goal:
        """A new goal's id follows from its call, so that a call that runs again makes no second one. A
        changed goal belongs where its words are from now on: other readers than here never see them."""
        now, here = self._clock.iso(), place_of_call(context)
        status = known.status if known else OPEN
        return Goal(
            id=known.id if known else f"goal_{context.call.id.removeprefix('call_')}_{number}",
            agent_id=context.agent_id,
            description=clean_text(aim.description),
            created_at=known.created_at if known else now,
            updated_at=now,
            status=clean_text(aim.status) if aim.status is not None else status,
            space_id=here or (known.space_id if known else UNSET),
            read_spaces=read_elsewhere(context.run, here),
        )

    async def _delete_goals(self, context: CallContext, wanted: _Ids) -> Json:
        known = await self._in_scope(context, await self._store.goals_of(context.agent_id))
        meant = tuple(goal.id for goal in known if goal.id in wanted.ids)
        await self._store.commit([RemoveGoals(context.agent_id, meant)])
        return _deleted(wanted.ids, set(meant))

    async def _in_scope(self, context: CallContext, things: Sequence[T]) -> list[T]:
        return await in_scope(self._store, context, things, lambda thing: thing.space_id)


def _deleted(wanted: Iterable[str], found: set[str]) -> Json:
    names = list(dict.fromkeys(wanted))
    unknown = [name for name in names if name not in found]
    return {"deleted": [name for name in names if name in found]} | ({"unknown": unknown} if unknown else {})


def _sound(type: type[A], operation: Callable[[CallContext, A], Awaitable[Json]]) -> Operation:
    """What the model did wrong is told to it."""

    async def operate(context: CallContext) -> Outcome:
        try:
            return Done(await operation(context, msgspec.convert(context.args, type)))
        except msgspec.ValidationError as error:
            return Failed(str(error))
        except (Invalid, NotFound, OverBound) as error:
            return Failed(error.detail)

    return operate
