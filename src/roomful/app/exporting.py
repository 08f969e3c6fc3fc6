"""A space's story comes out of the record, which stays as it is."""

from collections.abc import Iterable

import msgspec

from roomful.domain.agents import Agent
from roomful.domain.errors import NotFound, Unavailable
from roomful.domain.messages import Message
from roomful.domain.ports import ALL, Clock, Store
from roomful.domain.runs import Run
from roomful.domain.shape import UNSET
from roomful.recall.story.answers import told_steps
from roomful.recall.story.records import Story, ToldRun, ToldSpace
from roomful.runs.schedules import iso_of
from roomful.spaces.trails import trees, with_trails
from roomful.store import open_store
from roomful.store.sqlite import file_in
from roomful.tools import leave_out_secrets

NOT_EXPORTED = "${env.NOT_EXPORTED}"
"""What stands in a story where a configuration holds a secret."""
PAGE = 1000
TRIES = 10


async def export_story(database: str, clock: Clock, space_id: str) -> Story:
    """Also beside a running server. Raises NotFound when there is no such space."""
    _check_there(database)
    store = await open_store(database, clock, exclusive=False)
    try:
        if await store.space(space_id) is None:
            raise NotFound(f"there is no space {space_id!r} in this database")
        return await _at_rest(store, space_id)
    finally:
        await store.close()


def _check_there(database: str) -> None:
    """Opening a file that is not there would make it."""
    if database.startswith("sqlite://"):
        path, _ = file_in(database)
        if path is None or not path.is_file():
            raise NotFound(f"there is no database {path or 'in memory'}: give the right one with --database")


async def _at_rest(store: Store, space_id: str) -> Story:
    """Runs and messages of one moment: read again if something ended or began meanwhile."""
    for _ in range(TRIES):
        before = await _state(store, space_id)
        messages = await read_messages(store, space_id)
        story = await _story(store, space_id, messages)
        if await _state(store, space_id) == before:
            return story
    raise Unavailable(f"{space_id!r} changes faster than it can be read: try again in a quiet moment")


async def _state(store: Store, space_id: str) -> list[tuple[str, str]]:
    return [(run.id, run.status) for run in await store.runs(space_id=space_id, limit=ALL)]


async def _story(store: Store, space_id: str, messages: list[Message]) -> Story:
    runs = await _runs(store, space_id, messages)
    found = [await _space(store, one) for one in _touched(space_id, runs)]
    spaces = [told for told in found if told is not None]
    agents = await _agents(store, {*(told.run.agent_id for told in runs), *_ids(spaces[0])})
    people = [message.entity_id for message in messages] + [agent.id for agent in agents]
    people += [member.entity_id for told in spaces for member in told.members]
    people += [call.answered_by for told in runs for call in told.calls if call.answered_by]
    people += [vote.entity_id for told in runs for call in told.calls for vote in call.answers or ()]
    entities = [await store.entity(one) for one in sorted(set(people))]
    kinds = {member.entity_id: member.kind for member in spaces[0].members}
    came = await store.joined(space_id)
    spaces[0].joined = {one: iso_of(came[one]) for one in sorted(came) if kinds.get(one) == "agent"}
    return Story(
        space_id=space_id,
        entities=[entity for entity in entities if entity is not None],
        agents=agents,
        spaces=spaces,
        runs=runs,
        messages=messages,
    )


async def read_messages(store: Store, space_id: str, after: int = 0) -> list[Message]:
    """As a reader has them who loads the space now."""
    found: list[Message] = []
    has_more = True
    while has_more:
        last = found[-1].seq if found else after
        page, below, has_more, _ = await store.history(space_id, after=last, limit=PAGE, at=lambda: None)
        inside = trees(below)
        decoded = [msgspec.json.decode(one.body, type=Message) for one in page]
        found += [with_trails(message, inside) for message in decoded]
    return found


async def _runs(store: Store, space_id: str, messages: list[Message]) -> list[ToldRun]:
    """Those that the space knows of, those they called, at any depth, and those that called them."""
    found = {run.id: run for run in await store.runs(space_id=space_id, limit=ALL)}
    waiting = list(found.values())
    while waiting:
        run = waiting.pop()
        caller = await store.call(run.parent_call_id) if run.parent_call_id else None
        above = await store.run(caller.run_id) if caller is not None else None
        below = await store.children([call.id for call in await store.calls(run.id)])
        for one in [*below, *([above] if above is not None else [])]:
            if one.id not in found:
                found[one.id] = one
                waiting.append(one)
    ordered = sorted(found.values(), key=lambda run: (run.created_at, run.id))
    return [await _run(store, run, messages) for run in ordered]


async def _run(store: Store, run: Run, messages: list[Message]) -> ToldRun:
    calls = await store.calls(run.id)
    own = [message for message in messages if message.run_id == run.id]
    steps = told_steps(run, await store.steps(run.id), calls, own)
    return ToldRun(run=run, steps=steps, calls=calls, handed=await store.handed(run.id))


async def _agents(store: Store, ids: Iterable[str]) -> list[Agent]:
    """Those who ran, and those who are in the space and might have. Others are known by name only."""
    found = [await store.agent(one) for one in sorted(ids)]
    return [
        msgspec.structs.replace(agent, config=leave_out_secrets(agent.config, NOT_EXPORTED))
        for agent in found
        if agent is not None
    ]


def _ids(told: ToldSpace) -> list[str]:
    return [member.entity_id for member in told.members]


def _touched(space_id: str, runs: Iterable[ToldRun]) -> list[str]:
    """The space, and every other one that the runs were in or spoke in."""
    found: dict[str, None] = {space_id: None}
    for told in runs:
        run = told.run
        named = [*run.shown_in, run.trigger.space_id, run.asks_in, run.active_space_id]
        named += [one for call in told.calls for one in (*call.space_ids, call.active_space_id)]
        found |= dict.fromkeys(one for one in named if one is not UNSET)
    return list(found)


async def _space(store: Store, space_id: str) -> ToldSpace | None:
    space = await store.space(space_id)
    return ToldSpace(space=space, members=await store.members(space_id)) if space is not None else None
