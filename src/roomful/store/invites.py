"""Invitations: each lets one in, once."""

import msgspec

from roomful.domain.audit import Audited
from roomful.domain.errors import Conflict, NotFound
from roomful.domain.invites import Invite, Joined
from roomful.store.audit import add_audit
from roomful.store.database import Database, Write

_ADD = "INSERT INTO invites (digest, space_id, role, maker_id, expires_at) VALUES (?, ?, ?, ?, ?)"
_TAKE = """
DELETE FROM invites WHERE digest = ? AND expires_at > ? AND (maker_id IS NULL OR EXISTS (
  SELECT 1 FROM members m
  WHERE m.space_id = invites.space_id AND m.entity_id = invites.maker_id AND m.role = 'owner'
)) RETURNING space_id, role"""
_JOIN = """
INSERT INTO members (space_id, entity_id, role, joined_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"""


def add_invite(invite: Invite, now: float) -> Write:
    row = (invite.digest, invite.space_id, invite.role, invite.maker_id, invite.expires_at)

    def write(db: Database) -> None:
        db.count("DELETE FROM invites WHERE expires_at <= ?", (now,))
        db.count(_ADD, row)

    return write


def use_invite(digest: bytes, entity_id: str, now: float, audited: Audited | None) -> Write:
    """Whoever deletes the row has won; who is refused afterwards has not used it up."""

    def write(db: Database) -> Joined:
        taken = db.rows(_TAKE, (digest, now))
        if not taken:
            raise NotFound("There is no such invitation, or not any more.")
        [(space_id, role)] = taken
        if not db.count(_JOIN, (space_id, entity_id, role, now)):
            raise Conflict(f"{entity_id} is a member of {space_id} already.")
        if audited is not None:
            add_audit(msgspec.structs.replace(audited, space_ids=(space_id,), role=role))(db)
        return Joined(space_id=space_id, role=role)

    return write
