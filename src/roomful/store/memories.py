"""What agents remember."""

from collections.abc import Sequence

import msgspec

from roomful.domain.errors import NotFound, OverBound
from roomful.domain.memories import Memory
from roomful.domain.shape import encode_json
from roomful.store.database import Database, Reader, Write

_decode = msgspec.json.Decoder(Memory).decode

_LOCK_AGENT = "SELECT id FROM agents WHERE id = ? FOR NO KEY UPDATE"
_PUT = """
INSERT INTO memories (agent_id, space_id, key, created_at, updated_at, body) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (agent_id, coalesce(space_id, ''), key)
DO UPDATE SET updated_at = excluded.updated_at, body = excluded.body RETURNING created_at"""
_REMOVE = "DELETE FROM memories WHERE agent_id = ? AND coalesce(space_id, '') = ? AND key = ?"
_OF_AGENT = """
SELECT created_at, body FROM memories WHERE agent_id = ?
ORDER BY updated_at DESC, key, coalesce(space_id, '')"""


def put_memories(agent_id: str, memories: Sequence[Memory], most: int) -> Write:
    rows = [
        (agent_id, one.space_id or None, one.key, one.created_at, one.updated_at, encode_json(one).decode())
        for one in memories
    ]

    def write(db: Database) -> list[Memory]:
        lock_agent(db, agent_id)
        stored = [as_stored(db.rows(_PUT, row)[0][0], row[-1]) for row in rows]
        check_count(db, "memories", agent_id, most)
        return stored

    return write


def remove_memories(agent_id: str, places: Sequence[tuple[str | None, str]]) -> Write:
    rows = [(agent_id, space_id or "", key) for space_id, key in places]

    def write(db: Database) -> int:
        return sum(db.count(_REMOVE, row) for row in rows)

    return write


async def memories_of(reader: Reader, agent_id: str) -> list[Memory]:
    return [as_stored(*row) for row in await reader.rows(_OF_AGENT, (agent_id,))]


def lock_agent(db: Database, agent_id: str) -> None:
    """Its row is held meanwhile, so that no two runs of it take its last place."""
    if not db.rows(_LOCK_AGENT, (agent_id,)):
        raise NotFound(f"There is no agent {agent_id}.")


def check_count(db: Database, table: str, agent_id: str, most: int) -> None:
    [(count,)] = db.rows(f"SELECT count(*) FROM {table} WHERE agent_id = ?", (agent_id,))
    if count > most:
        raise OverBound(table, f"an agent may have {most} {table}, and these would make {count}")


def as_stored(created_at: str, body: str) -> Memory:
    """A memory that is set again keeps the time when it was first made."""
    memory = _decode(body)
    memory.created_at = created_at
    return memory
