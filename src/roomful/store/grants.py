"""Remembered approvals."""

import msgspec

from roomful.domain.errors import NotFound
from roomful.domain.grants import Grant
from roomful.domain.shape import encode_json
from roomful.store.database import Database, Reader, Write

_decode = msgspec.json.Decoder(Grant).decode
_ADD = "INSERT INTO grants (id, space_id, agent_id, created_at, body) VALUES (?, ?, ?, ?, ?)"


def add_grant(grant: Grant) -> Write:
    row = (grant.id, grant.space_id, grant.agent_id, grant.created_at, encode_json(grant).decode())

    def write(db: Database) -> None:
        db.count(_ADD, row)

    return write


def remove_grant(space_id: str, grant_id: str) -> Write:
    def write(db: Database) -> None:
        if not db.count("DELETE FROM grants WHERE id = ? AND space_id = ?", (grant_id, space_id)):
            raise NotFound(f"There is no grant {grant_id} in this space.")

    return write


async def grants_in(reader: Reader, space_id: str) -> list[Grant]:
    rows = await reader.rows(
        "SELECT body FROM grants WHERE space_id = ? ORDER BY created_at, id", (space_id,)
    )
    return [_decode(body) for (body,) in rows]


async def grants_of(reader: Reader, agent_id: str) -> list[Grant]:
    rows = await reader.rows("SELECT body FROM grants WHERE agent_id = ?", (agent_id,))
    return [_decode(body) for (body,) in rows]
