"""Who speaks in a space, or shows a run there, is a member or was one."""

import msgspec

from roomful.domain.runs import Run
from roomful.domain.shape import UNSET
from roomful.store.doctor.finding import Finding, Findings
from roomful.store.doctor.reading import Snapshot

DEEPEST = 64

_NEVER_JOINED = """
  NOT EXISTS (SELECT 1 FROM members j WHERE j.space_id = {space} AND j.entity_id = {entity})
  AND NOT EXISTS (SELECT 1 FROM former_members f WHERE f.space_id = {space} AND f.entity_id = {entity})"""
_MESSAGES = """
SELECT m.space_id, m.seq, m.entity_id, m.run_id FROM messages m
WHERE""" + _NEVER_JOINED.format(space="m.space_id", entity="m.entity_id")
_RUNS = """
SELECT s.space_id, s.run_id, r.agent_id FROM run_spaces s JOIN runs r ON r.id = s.run_id
WHERE""" + _NEVER_JOINED.format(space="s.space_id", entity="r.agent_id")
_JOINED = """
SELECT 1 FROM members WHERE space_id = ? AND entity_id = ?
UNION ALL SELECT 1 FROM former_members WHERE space_id = ? AND entity_id = ?"""
_CALLER = "SELECT c.run_id FROM calls c WHERE c.id = ?"

_REMEDY = "look who wrote it, then delete it or add them to the space"


def authors(db: Snapshot) -> Findings:
    for space_id, seq, entity_id, run_id in db.rows(_MESSAGES):
        if run_id is None or not _was_called(db, run_id, space_id):
            problem = f"{entity_id} was never a member of {space_id}: {_REMEDY}"
            yield Finding("never_joined", "messages", f"{space_id}/{seq}", problem)


def shown_runs(db: Snapshot) -> Findings:
    for space_id, run_id, agent_id in db.rows(_RUNS):
        if not _was_called(db, run_id, space_id):
            problem = f"its agent {agent_id} was never a member of {space_id}: {_REMEDY}"
            yield Finding("never_joined", "run_spaces", f"{space_id}/{run_id}", problem)


def _was_called(db: Snapshot, run_id: str, space_id: str) -> bool:
    """A called run asks where it was called, on behalf of a caller who is there."""
    for _ in range(DEEPEST):
        run = _run(db, run_id)
        if run is None or run.parent_call_id is UNSET or run.asks_in != space_id:
            return False
        callers = list(db.rows(_CALLER, (run.parent_call_id,)))
        caller = _run(db, callers[0][0]) if callers else None
        if caller is None:
            return False
        if any(db.rows(_JOINED, (space_id, caller.agent_id) * 2)):
            return True
        run_id = caller.id
    return False


def _run(db: Snapshot, run_id: str) -> Run | None:
    for (body,) in db.rows("SELECT body FROM runs WHERE id = ?", (run_id,)):
        try:
            return msgspec.json.decode(body, type=Run)
        except msgspec.MsgspecError:
            return None
    return None
