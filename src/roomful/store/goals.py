"""What agents want to reach."""

from collections.abc import Sequence

import msgspec

from roomful.domain.goals import Goal
from roomful.domain.shape import encode_json
from roomful.store.database import Database, Reader, Write
from roomful.store.memories import check_count, lock_agent

decode = msgspec.json.Decoder(Goal).decode

_PUT = """
INSERT INTO goals (id, agent_id, space_id, created_at, updated_at, body) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE
SET space_id = excluded.space_id, updated_at = excluded.updated_at, body = excluded.body"""


def put_goals(agent_id: str, goals: Sequence[Goal], most: int) -> Write:
    rows = [
        (one.id, agent_id, one.space_id or None, one.created_at, one.updated_at, encode_json(one).decode())
        for one in goals
    ]

    def write(db: Database) -> None:
        lock_agent(db, agent_id)
        for row in rows:
            db.count(_PUT, row)
        check_count(db, "goals", agent_id, most)

    return write


def remove_goals(agent_id: str, ids: Sequence[str]) -> Write:
    rows = [(agent_id, id) for id in ids]

    def write(db: Database) -> int:
        return sum(db.count("DELETE FROM goals WHERE agent_id = ? AND id = ?", row) for row in rows)

    return write


async def goals_of(reader: Reader, agent_id: str) -> list[Goal]:
    rows = await reader.rows(
        "SELECT body FROM goals WHERE agent_id = ? ORDER BY updated_at DESC, id", (agent_id,)
    )
    return [decode(body) for (body,) in rows]
