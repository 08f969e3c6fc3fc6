"""Runs, who drives them, and which workers live."""

from collections.abc import Sequence

import msgspec

from roomful.domain.errors import Conflict, LeaseLost, NotFound
from roomful.domain.run_changes import Claimed
from roomful.domain.runs import ACTIVE, Lease, Run, RunError, RunStatus
from roomful.domain.shape import UNSET, Unset, encode_json
from roomful.store.database import Database, Reader, Write

MOST_UNOWNED = 1000
decode = msgspec.json.Decoder(Run).decode

IS_ACTIVE = "r.status IN ('queued', 'running', 'waiting_tool', 'waiting_reply')"
"""Written as in the partial indexes, which are used only then."""

_INSERT = """
INSERT INTO runs (id, agent_id, status, root_run_id, created_at, ended_at, parent_call_id, started_by,
  in_turn, tokens, owner, fence, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"""
_SAVE = "UPDATE runs SET status = ?, ended_at = ?, tokens = ?, body = ? WHERE id = ?"
_SHOW = """
INSERT INTO run_spaces (space_id, created_at, run_id, is_active)
SELECT id, ?, ?, ? FROM spaces WHERE id = ?
ON CONFLICT (space_id, created_at, run_id) DO UPDATE SET is_active = excluded.is_active
WHERE run_spaces.is_active <> excluded.is_active"""
_CLAIM = """
UPDATE runs SET owner = ?, fence = fence + 1
WHERE id = ? AND status IN ('queued', 'running') AND (owner IS NULL OR NOT EXISTS (
  SELECT 1 FROM workers WHERE workers.id = runs.owner AND workers.until >= moment()
)) AND NOT (in_turn AND EXISTS (
  SELECT 1 FROM runs b WHERE b.in_turn AND b.agent_id = runs.agent_id AND b.id <> runs.id
    AND b.status IN ('queued', 'running')
    AND ((b.created_at, b.id) < (runs.created_at, runs.id) OR EXISTS (
      SELECT 1 FROM workers WHERE workers.id = b.owner AND workers.until >= moment()
    ))
)) RETURNING fence, body"""
_TAKE_OVER = "UPDATE runs SET owner = ?, fence = fence + 1 WHERE id = ? RETURNING fence, body"
_UNOWNED = f"""
SELECT r.id FROM runs r LEFT JOIN workers w ON w.id = r.owner
WHERE {IS_ACTIVE} AND r.status IN ('queued', 'running') AND (w.id IS NULL OR w.until < moment())
ORDER BY r.created_at, r.id LIMIT ?"""
_ALIVE = """
INSERT INTO workers (id, until) VALUES (?, moment() + ?)
ON CONFLICT (id) DO UPDATE SET until = excluded.until"""


def add_run(run: Run, lease: Lease | None) -> Write:
    owner, fence = (lease.owner, lease.fence) if lease else (None, 0)
    head = (run.id, run.agent_id, run.status, run.root_run_id, run.created_at, _ended_at(run))
    company = (run.parent_call_id or None, run.started_by or None, bool(run.in_turn), tokens_of(run))
    values = (*head, *company, owner, fence, encode_json(run).decode())
    shown = _shown(run)

    def write(db: Database) -> None:
        if not db.count(_INSERT, values):
            raise Conflict(f"There is a run {values[0]} already.")
        for row in shown:
            db.count(_SHOW, row)

    return write


def save_run(run: Run) -> Write:
    """Owner and fence belong to leases; nothing of the run itself touches them."""
    values = (run.status, _ended_at(run), tokens_of(run), encode_json(run).decode(), run.id)
    shown = _shown(run)

    def write(db: Database) -> None:
        if not db.count(_SAVE, values):
            raise _no_run(values[-1])
        for row in shown:
            db.count(_SHOW, row)

    return write


def claim_run(run_id: str, owner: str) -> Write:
    def write(db: Database) -> Claimed | None:
        rows = db.rows(_CLAIM, (owner, run_id))
        if not rows:
            return None
        [(fence, body)] = rows
        run = decode(body)
        was_queued = run.status == "queued"
        if was_queued:
            run.status = "running"
            body = encode_json(run).decode()
            db.count("UPDATE runs SET status = ?, body = ? WHERE id = ?", (run.status, body, run_id))
        return Claimed(Lease(run_id=run_id, owner=owner, fence=fence), run, was_queued)

    return write


def guard(lease: Lease) -> Write:
    run_id, holder = lease.run_id, (lease.owner, lease.fence)

    def write(db: Database) -> None:
        if db.rows("SELECT owner, fence FROM runs WHERE id = ? FOR NO KEY UPDATE", (run_id,)) != [holder]:
            raise LeaseLost(f"Another worker drives run {run_id} now.")

    return write


def take_over(run_id: str, owner: str, why: RunError | Unset) -> Write:
    def write(db: Database) -> Claimed:
        rows = db.rows(_TAKE_OVER, (owner, run_id))
        if not rows:
            raise _no_run(run_id)
        [(fence, body)] = rows
        run = decode(body)
        was_queued = run.status == "queued"
        run.status, run.is_canceling, run.error = "running", True, why
        save_run(run)(db)
        return Claimed(Lease(run_id=run_id, owner=owner, fence=fence), run, was_queued)

    return write


def release(run_id: str) -> Write:
    def write(db: Database) -> None:
        if not db.count("UPDATE runs SET owner = NULL WHERE id = ?", (run_id,)):
            raise _no_run(run_id)

    return write


def expect_status(run_id: str, statuses: Sequence[RunStatus]) -> Write:
    def write(db: Database) -> None:
        rows = db.rows("SELECT status, body FROM runs WHERE id = ? FOR NO KEY UPDATE", (run_id,))
        if not rows:
            raise _no_run(run_id)
        [(status, body)] = rows
        if status not in statuses:
            raise Conflict(f"Run {run_id} is {status}.", outcome=decode(body))

    return write


def keep_alive(worker: str, seconds: float) -> Write:
    def write(db: Database) -> None:
        db.count(_ALIVE, (worker, seconds))

    return write


def leave(worker: str) -> Write:
    def write(db: Database) -> None:
        db.count("DELETE FROM workers WHERE id = ?", (worker,))

    return write


def end_leases(but: str) -> Write:
    def write(db: Database) -> None:
        db.count("DELETE FROM workers WHERE id <> ?", (but,))

    return write


async def run(reader: Reader, run_id: str) -> Run | None:
    rows = await reader.rows("SELECT body FROM runs WHERE id = ?", (run_id,))
    return decode(rows[0][0]) if rows else None


async def runs(
    reader: Reader, agent_id: str | None, space_id: str | None, statuses: Sequence[RunStatus], limit: int
) -> list[Run]:
    tables, where, params = "runs r", ["1 = 1"], list[object]()
    order = "r.created_at DESC, r.id DESC"
    if space_id is not None:
        tables = "run_spaces s JOIN runs r ON r.id = s.run_id"
        order = "s.created_at DESC, s.run_id DESC"
        where.append("s.space_id = ?")
        params.append(space_id)
    if agent_id is not None:
        where.append("r.agent_id = ?")
        params.append(agent_id)
    if statuses:
        if set(statuses) <= set(ACTIVE):
            where.append(IS_ACTIVE if space_id is None else "s.is_active = TRUE")
        where.append(f"r.status IN ({', '.join('?' * len(statuses))})")
        params.extend(statuses)
    sql = f"SELECT r.body FROM {tables} WHERE {' AND '.join(where)} ORDER BY {order} LIMIT ?"
    return [decode(body) for (body,) in await reader.rows(sql, (*params, limit))]


async def unowned_runs(reader: Reader) -> list[str]:
    return [run_id for (run_id,) in await reader.rows(_UNOWNED, (MOST_UNOWNED,))]


def _no_run(run_id: str) -> NotFound:
    return NotFound(f"There is no run {run_id}.")


def _ended_at(run: Run) -> str | None:
    return None if run.ended_at is UNSET else run.ended_at


def tokens_of(run: Run) -> int:
    return 0 if run.usage is UNSET else run.usage.total


def _shown(run: Run) -> list[tuple[str, str, bool, str]]:
    """A space that was removed meanwhile is left out."""
    return [(run.created_at, run.id, not run.ended, space_id) for space_id in run.shown_in]
