"""Blobs and the spaces they were shown in. Their bytes never pass through the event loop's own connection."""

import hashlib

from roomful.domain.blobs import Blob
from roomful.domain.errors import Conflict
from roomful.domain.shape import UNSET
from roomful.store.database import Database, Reader, Write

_ADD = """
INSERT INTO blobs (id, owner_id, media_type, name, size, digest, created_at, data)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"""
_OF_OWNER = "SELECT id FROM blobs WHERE owner_id = ?"


def add_blob(blob: Blob, data: bytes) -> Write:
    name = None if blob.name is UNSET else blob.name
    about = (blob.id, blob.owner_id, blob.media_type, name, blob.size)

    def write(db: Database) -> None:
        digest = hashlib.sha256(data).digest()
        if not db.count(_ADD, (*about, digest, blob.created_at, data)):
            raise Conflict(f"There is a blob {blob.id} already.")

    return write


def show_blob(blob_id: str, space_id: str) -> Write:
    def write(db: Database) -> None:
        insert = "INSERT INTO blob_spaces (blob_id, space_id) VALUES (?, ?) ON CONFLICT DO NOTHING"
        db.count(insert, (blob_id, space_id))

    return write


def erase_blobs(owner_id: str) -> Write:
    """Their ids stay known: messages go on naming them."""

    def write(db: Database) -> None:
        db.count(f"INSERT INTO erased_blobs (id) {_OF_OWNER}", (owner_id,))
        db.count(f"DELETE FROM blob_spaces WHERE blob_id IN ({_OF_OWNER})", (owner_id,))
        db.count("DELETE FROM blobs WHERE owner_id = ?", (owner_id,))

    return write


async def blob(reader: Reader, blob_id: str) -> Blob | None:
    rows = await reader.rows(
        "SELECT id, owner_id, media_type, size, created_at, name FROM blobs WHERE id = ?", (blob_id,)
    )
    if not rows:
        return None
    [(*about, name)] = rows
    return Blob(*about, name=UNSET if name is None else name)


async def blob_data(reader: Reader, blob_id: str) -> bytes | None:
    rows = await reader.rows("SELECT data FROM blobs WHERE id = ?", (blob_id,), slow=True)
    return bytes(rows[0][0]) if rows else None


async def blob_spaces(reader: Reader, blob_id: str) -> list[str]:
    rows = await reader.rows(
        "SELECT space_id FROM blob_spaces WHERE blob_id = ? ORDER BY space_id", (blob_id,)
    )
    return [space_id for (space_id,) in rows]
