"""Conversations of another system come in: everything in one commit, or nothing."""

from pathlib import Path

import msgspec

from roomful.domain.changes import AddEntity, AddMessage, AddSpace, Change, PutMember
from roomful.domain.entities import Entity
from roomful.domain.errors import Invalid, NotFound
from roomful.domain.ports import Clock, Store
from roomful.domain.shape import check_id
from roomful.domain.spaces import Space
from roomful.recall.mastra import Into, imported, read_recording
from roomful.store import open_store


class ImportReport(msgspec.Struct, frozen=True):
    added: int
    known: int
    """Imported before, and left as they are now."""
    notes: list[str]


async def import_mastra(
    database: str, clock: Clock, path: Path, *, space_id: str, owner_id: str, agent_id: str
) -> ImportReport:
    """Also beside a running server. Readers who follow the space live find the messages when they reload."""
    into = Into(check_id(space_id, "--space"), owner_id, check_id(agent_id, "--agent"), clock.iso())
    try:
        made = imported(read_recording(_bytes(path), str(path)), into)
    except RecursionError:
        raise Invalid(f"{path}: its threads are nested too deep to be read") from None
    store = await open_store(database, clock, exclusive=False)
    try:
        changes = await _company(store, into)
        new = [each for each in made.messages if await store.message(space_id, each.id) is None]
        if new:
            await store.commit([*changes, *map(AddMessage, new)])
    finally:
        await store.close()
    return ImportReport(len(new), len(made.messages) - len(new), made.notes)


async def _company(store: Store, into: Into) -> list[Change]:
    """The space and the agent where they are missing. Nobody is let into a space that is there already,
    but the agent that speaks in it."""
    owner = await store.entity(into.owner_id)
    if owner is None:
        raise NotFound(f"--owner: there is no entity {into.owner_id!r}: make it with POST /api/entities")
    if owner.kind == "agent":
        raise Invalid(f"--owner: {into.owner_id!r} is an agent, and the questions are a person's")
    changes: list[Change] = []
    agent = await store.entity(into.agent_id)
    if agent is None:
        made = Entity(id=into.agent_id, name=into.agent_id, kind="agent", created_at=into.at)
        changes.append(AddEntity(made))
    elif agent.kind != "agent":
        raise Invalid(f"--agent: {into.agent_id!r} is a {agent.kind}, not an agent")
    if await store.space(into.space_id) is None:
        changes.append(AddSpace(Space(id=into.space_id, name=into.space_id, created_at=into.at)))
        changes.append(PutMember(into.space_id, into.owner_id, "owner"))
    elif await store.role(into.space_id, into.owner_id) is None:
        raise NotFound(f"--owner: {into.owner_id!r} is not in {into.space_id!r}: add them first")
    if await store.role(into.space_id, into.agent_id) is None:
        changes.append(PutMember(into.space_id, into.agent_id, "member"))
    return changes


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Invalid(f"{path}: cannot be read: {error.strerror}") from None
