"""What an agent remembers, for its owner to look at, to add to and to take back."""

from starlette.types import ASGIApp

from roomful.domain.agents import Agent
from roomful.domain.changes import PutMemories, RemoveMemories
from roomful.domain.errors import NotFound
from roomful.domain.memories import MOST_MEMORIES, Memory, check_memory
from roomful.domain.shape import Json, Noun
from roomful.web.ask import AnyRoute, Ask, Body, Route, json_answer, no_content
from roomful.web.queries import NoQuery, Query
from roomful.web.rules import OWNS_AGENT

PATH = "/api/agents/{id}/memories"


class Memories(Noun):
    memories: list[Memory]


class NewMemory(Body):
    value: Json


class LearnedIn(Query, frozen=True):
    space_id: str | None = None
    """Left out, what was learned in no space is meant."""


async def list_memories(ask: Ask[None, NoQuery, Agent]) -> ASGIApp:
    return json_answer(Memories(await ask.house.store.memories_of(ask.about.id)))


async def put_memory(ask: Ask[NewMemory, NoQuery, Agent]) -> ASGIApp:
    """The owner's own word: the agent is told it in every space."""
    key, value, now = ask.params["key"], ask.body.value, ask.house.clock.iso()
    check_memory(key, value)
    memory = Memory(
        agent_id=ask.about.id,
        key=key,
        value=value,
        created_at=now,
        updated_at=now,
        entity_id=ask.principal.entity_id,
    )
    [[stored]] = await ask.house.store.commit([PutMemories(ask.about.id, (memory,), MOST_MEMORIES)])
    return json_answer(stored)


async def forget_memory(ask: Ask[None, LearnedIn, Agent]) -> ASGIApp:
    place = (ask.query.space_id or None, ask.params["key"])
    [count] = await ask.house.store.commit([RemoveMemories(ask.about.id, (place,))])
    if not count:
        raise NotFound(f"there is no memory {place[1][:80]!r} of {place[0] or 'no space'}")
    return no_content()


ROUTES: tuple[AnyRoute, ...] = (
    Route("GET", PATH, list_memories, OWNS_AGENT, "What an agent remembers, newest first", answer=Memories),
    Route(
        "PUT",
        PATH + "/{key}",
        put_memory,
        OWNS_AGENT,
        "Let an agent remember something everywhere",
        body=NewMemory,
        answer=Memory,
        texts=("key",),
    ),
    Route(
        "DELETE",
        PATH + "/{key}",
        forget_memory,
        OWNS_AGENT,
        "Let an agent forget what it learned in a space, or in none",
        query=LearnedIn,
        status=204,
        texts=("key",),
    ),
)
