"""Rows that name other rows, and those they name."""

from typing import TypeAlias

import msgspec

from roomful.domain.runs import Handed
from roomful.store.doctor.finding import Finding, Findings
from roomful.store.doctor.reading import Snapshot

Pointer: TypeAlias = tuple[str, str, str, str]
"""A table, its key's columns, the column that names something, and the table where that is."""

POINTERS: tuple[Pointer, ...] = (
    ("tokens", "id", "entity_id", "entities"),
    ("agents", "id", "id", "entities"),
    ("members", "space_id, entity_id", "space_id", "spaces"),
    ("members", "space_id, entity_id", "entity_id", "entities"),
    ("former_members", "space_id, entity_id", "space_id", "spaces"),
    ("former_members", "space_id, entity_id", "entity_id", "entities"),
    ("messages", "space_id, seq", "space_id", "spaces"),
    ("messages", "space_id, seq", "entity_id", "entities"),
    ("messages", "space_id, seq", "run_id", "runs"),
    ("runs", "id", "agent_id", "entities"),
    ("runs", "id", "root_run_id", "runs"),
    ("runs", "id", "parent_call_id", "calls"),
    ("run_spaces", "space_id, run_id", "space_id", "spaces"),
    ("run_spaces", "space_id, run_id", "run_id", "runs"),
    ("calls", "id", "run_id", "runs"),
    ("steps", "run_id, number", "run_id", "runs"),
    ("handed", "run_id, message_id", "run_id", "runs"),
    ("grants", "id", "space_id", "spaces"),
    ("grants", "id", "agent_id", "agents"),
    ("invites", "space_id, expires_at", "space_id", "spaces"),
    ("plans", "id", "agent_id", "agents"),
    ("memories", "agent_id, space_id, key", "agent_id", "agents"),
    ("memories", "agent_id, space_id, key", "space_id", "spaces"),
    ("goals", "id", "agent_id", "agents"),
    ("goals", "id", "space_id", "spaces"),
    ("blobs", "id", "owner_id", "entities"),
    ("blob_spaces", "blob_id, space_id", "blob_id", "blobs"),
    ("blob_spaces", "blob_id, space_id", "space_id", "spaces"),
    ("audit_spaces", "space_id, audit_id", "audit_id", "audit"),
)

_NOWHERE = """
SELECT {column}, {key} FROM {table} WHERE {column} IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM {target} target WHERE target.id = {table}.{column})"""
_HANDED_NOWHERE = """
SELECT run_id, message_id, body FROM handed
WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = handed.message_id)"""


def pointers(db: Snapshot) -> Findings:
    for table, key, column, target in POINTERS:
        sql = _NOWHERE.format(table=table, key=key, column=column, target=target)
        for named, *row in db.rows(sql):
            problem = f"{column} names {named!r}, which is not in {target}: delete this row or restore that"
            yield Finding("points_nowhere", table, "/".join(map(str, row)), problem)


def handed_messages(db: Snapshot) -> Findings:
    """A message may be gone with its space."""
    for run_id, message_id, body in db.rows(_HANDED_NOWHERE):
        try:
            handed = msgspec.json.decode(body, type=Handed)
        except msgspec.MsgspecError:
            continue
        if any(db.rows("SELECT 1 FROM spaces WHERE id = ?", (handed.space_id,))):
            problem = f"there is no such message in {handed.space_id}: delete this row or restore that"
            yield Finding("points_nowhere", "handed", f"{run_id}/{message_id}", problem)


def foreign_keys(db: Snapshot) -> Findings:
    """What SQLite itself finds, but for what is named row by row above."""
    if not db.has_pragmas:
        return
    named = {(table, target) for table, _, _, target in POINTERS}
    for table, rowid, target, _ in db.rows("PRAGMA foreign_key_check"):
        if (table, target) not in named:
            problem = f"names something that is not in {target}: delete this row or restore that"
            yield Finding("points_nowhere", table, str(rowid), problem)
