"""Spaces and who is in them."""

from itertools import groupby
from operator import itemgetter

import msgspec

from roomful.domain.errors import Conflict, NotFound
from roomful.domain.shape import encode_json
from roomful.domain.spaces import Company, Member, MySpace, Role, Space
from roomful.store.database import LAST_SEQ, Database, Reader, Write

MOST_UNREAD = 1000
MOST_LOOKED_AT = 2000
"""How far beyond a member's mark unread messages are counted, its own among them."""

_IN_A_SPACE = (
    "messages",
    "blob_spaces",
    "invites",
    "members",
    "former_members",
    "run_spaces",
    "memories",
    "goals",
    "grants",
)
"""What goes with a space."""

_decode_space = msgspec.json.Decoder(Space).decode

_INSERT = "INSERT INTO spaces (id, created_at, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_PUT_MEMBER = """
INSERT INTO members (space_id, entity_id, role, joined_at) VALUES (?, ?, ?, ?)
ON CONFLICT (space_id, entity_id) DO UPDATE SET role = excluded.role"""
_KEEP_FORMER = """
INSERT INTO former_members (space_id, entity_id) VALUES (?, ?) ON CONFLICT DO NOTHING"""
_OWNERS = "SELECT entity_id FROM members WHERE space_id = ? AND role = 'owner'"
_MARK_READ = """
UPDATE members SET read_seq = (
  SELECT CASE WHEN last_seq < ? THEN last_seq ELSE ? END FROM spaces WHERE spaces.id = members.space_id
) WHERE space_id = ? AND entity_id = ? AND read_seq < ?"""
_MEMBERS = """
SELECT e.id, e.name, e.kind, m.role FROM members m JOIN entities e ON e.id = m.entity_id
WHERE m.space_id = ? ORDER BY m.joined_at, e.id"""
_COMPANY = """
SELECT s.body, own.role, e.id, e.name, e.kind, m.role
FROM members own JOIN spaces s ON s.id = own.space_id JOIN members m ON m.space_id = own.space_id
  JOIN entities e ON e.id = m.entity_id
WHERE own.entity_id = ?{narrower} ORDER BY s.created_at, s.id, m.joined_at, e.id"""
_COMPANY_OF_ALL = _COMPANY.format(narrower="")
_COMPANY_OF_ONE = _COMPANY.format(narrower=" AND own.space_id = ?")
_SPACES_OF = """
SELECT s.body, m.role FROM members m JOIN spaces s ON s.id = m.space_id
WHERE m.entity_id = ? ORDER BY s.created_at, s.id"""
_SPACE_AND_ROLE = """
SELECT s.body, m.role FROM spaces s LEFT JOIN members m ON m.space_id = s.id AND m.entity_id = ?
WHERE s.id = ?"""
_OUTSIDE = """
SELECT space_id, entity_id FROM members WHERE entity_id IN (
  SELECT id FROM entities WHERE kind = 'agent' AND id NOT IN (SELECT id FROM agents)
)"""
_MY_SPACES = """
SELECT s.body, m.role, s.last_seq, (
  SELECT count(*) FROM (
    SELECT entity_id FROM messages
    WHERE messages.space_id = s.id AND messages.seq > m.read_seq ORDER BY messages.seq LIMIT ?
  ) AS unread WHERE unread.entity_id <> m.entity_id
) FROM members m JOIN spaces s ON s.id = m.space_id
WHERE m.entity_id = ? ORDER BY s.created_at, s.id"""


def add_space(space: Space) -> Write:
    """A space may not have the id of an agent, nor the other way round."""
    values = (space.id, space.created_at, encode_json(space).decode())

    def write(db: Database) -> None:
        db.take_id(values[0])
        if db.rows("SELECT 1 FROM entities WHERE id = ? AND kind = 'agent'", values[:1]):
            raise Conflict(f"There is an agent {values[0]} already, and a space may not have its id.")
        if not db.count(_INSERT, values):
            raise Conflict(f"There is a space {values[0]} already.")

    return write


def save_space(space: Space, was: Space | None = None) -> Write:
    values = (encode_json(space).decode(), space.id)
    before = None if was is None else encode_json(was)

    def write(db: Database) -> None:
        if before is not None:
            rows = db.rows("SELECT body FROM spaces WHERE id = ? FOR NO KEY UPDATE", values[1:])
            if rows and _decode_space(rows[0][0]) != _decode_space(before):
                raise Conflict(f"Space {values[1]} was changed meanwhile.")
        if not db.count("UPDATE spaces SET body = ? WHERE id = ?", values):
            raise _no_space(values[1])

    return write


def remove_space(space_id: str) -> Write:
    def write(db: Database) -> None:
        for table in _IN_A_SPACE:
            db.count(f"DELETE FROM {table} WHERE space_id = ?", (space_id,))
        if not db.count("DELETE FROM spaces WHERE id = ?", (space_id,)):
            raise _no_space(space_id)

    return write


def put_member(space_id: str, entity_id: str, role: Role, now: float) -> Write:
    def write(db: Database) -> None:
        db.count(_PUT_MEMBER, (space_id, entity_id, role, now))

    return write


def expect_other_owner(space_id: str, entity_id: str) -> Write:
    """The space's row is locked: of two owners who go at once, the second finds himself the only one."""

    def write(db: Database) -> None:
        db.rows("SELECT 1 FROM spaces WHERE id = ? FOR NO KEY UPDATE", (space_id,))
        if db.rows(_OWNERS, (space_id,)) == [(entity_id,)]:
            raise Conflict(f"{entity_id} is the only owner: make somebody else an owner first.")

    return write


def remove_member(space_id: str, entity_id: str) -> Write:
    """That they once were a member stays known: it is why their messages are there."""
    member = (space_id, entity_id)

    def write(db: Database) -> None:
        if not db.count("DELETE FROM members WHERE space_id = ? AND entity_id = ?", member):
            raise NotFound(f"{entity_id} is not a member of {space_id}.")
        db.count(_KEEP_FORMER, member)

    return write


def mark_read(space_id: str, entity_id: str, seq: int) -> Write:
    """Never beyond the last message either: what is yet to come is unread."""
    mark = min(seq, LAST_SEQ)

    def write(db: Database) -> None:
        db.count(_MARK_READ, (mark, mark, space_id, entity_id, mark))

    return write


async def space(reader: Reader, space_id: str) -> Space | None:
    rows = await reader.rows("SELECT body FROM spaces WHERE id = ?", (space_id,))
    return _decode_space(rows[0][0]) if rows else None


async def space_and_role(reader: Reader, space_id: str, entity_id: str) -> tuple[Space | None, Role | None]:
    rows = await reader.rows(_SPACE_AND_ROLE, (entity_id, space_id))
    return (_decode_space(rows[0][0]), rows[0][1]) if rows else (None, None)


async def all_spaces(reader: Reader) -> list[Space]:
    rows = await reader.rows("SELECT body FROM spaces ORDER BY created_at, id")
    return [_decode_space(body) for (body,) in rows]


async def spaces_of(reader: Reader, entity_id: str) -> list[tuple[Space, Role]]:
    rows = await reader.rows(_SPACES_OF, (entity_id,))
    return [(_decode_space(body), role) for body, role in rows]


async def my_spaces(reader: Reader, entity_id: str) -> list[MySpace]:
    rows = await reader.rows(_MY_SPACES, (MOST_LOOKED_AT, entity_id))
    return [
        MySpace(space=_decode_space(body), role=role, unread=min(unread, MOST_UNREAD), last_seq=last_seq)
        for body, role, last_seq, unread in rows
    ]


async def role(reader: Reader, space_id: str, entity_id: str) -> Role | None:
    rows = await reader.rows(
        "SELECT role FROM members WHERE space_id = ? AND entity_id = ?", (space_id, entity_id)
    )
    return rows[0][0] if rows else None


async def members(reader: Reader, space_id: str) -> list[Member]:
    return [Member(*row) for row in await reader.rows(_MEMBERS, (space_id,))]


async def company(reader: Reader, entity_id: str, space_id: str | None) -> list[Company]:
    if space_id is None:
        rows = await reader.rows(_COMPANY_OF_ALL, (entity_id,))
    else:
        rows = await reader.rows(_COMPANY_OF_ONE, (entity_id, space_id))
    return [
        Company(_decode_space(body), role, [Member(*row[2:]) for row in group])
        for (body, role), group in groupby(rows, key=itemgetter(0, 1))
    ]


async def joined(reader: Reader, space_id: str) -> dict[str, float]:
    rows = await reader.rows("SELECT entity_id, joined_at FROM members WHERE space_id = ?", (space_id,))
    return dict(rows)


async def outside_agents(reader: Reader) -> list[tuple[str, str]]:
    return sorted((space_id, entity_id) for space_id, entity_id in await reader.rows(_OUTSIDE))


def _no_space(space_id: str) -> NotFound:
    return NotFound(f"There is no space {space_id}.")
