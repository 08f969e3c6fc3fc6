"""Tool calls and the model's steps."""

from collections.abc import Sequence

import msgspec

from roomful.domain.errors import Conflict, NotFound
from roomful.domain.messages import MemberAnswer
from roomful.domain.runs import WAITING, Call, Run, Step
from roomful.domain.shape import UNSET, encode_json
from roomful.store.database import Database, Reader, Write

_decode_call = msgspec.json.Decoder(Call).decode
_decode_run = msgspec.json.Decoder(Run).decode
_decode_step = msgspec.json.Decoder(Step).decode

_PUT_CALL = """
INSERT INTO calls (id, run_id, step, idx, status, deadline, waits_for, waits_in, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET status = excluded.status, deadline = excluded.deadline,
  waits_for = excluded.waits_for, waits_in = excluded.waits_in, body = excluded.body"""
_PUT_STEP = """
INSERT INTO steps (run_id, number, body) VALUES (?, ?, ?)
ON CONFLICT (run_id, number) DO UPDATE SET body = excluded.body"""


def save_calls(calls: Sequence[Call]) -> Write:
    rows = [
        (
            call.id,
            call.run_id,
            call.step,
            call.index,
            call.status,
            None if call.deadline is UNSET else call.deadline,
            call.waits_for or None,
            space_awaited(call),
            encode_json(call).decode(),
        )
        for call in calls
    ]

    def write(db: Database) -> None:
        for row in rows:
            db.count(_PUT_CALL, row)

    return write


def space_awaited(call: Call) -> str | None:
    """Where somebody's message is waited for."""
    return None if call.awaited is UNSET else call.awaited.space_id


def save_step(step: Step) -> Write:
    row = (step.run_id, step.number, encode_json(step).decode())

    def write(db: Database) -> None:
        db.count(_PUT_STEP, row)

    return write


def expect_call(call_id: str, votes: Sequence[MemberAnswer] | None) -> Write:
    def write(db: Database) -> None:
        rows = db.rows("SELECT status, body FROM calls WHERE id = ? FOR NO KEY UPDATE", (call_id,))
        if not rows:
            raise NotFound(f"There is no call {call_id}.")
        [(status, body)] = rows
        if status != "waiting":
            raise Conflict(f"Call {call_id} is {status}; it waits for nothing.", outcome=_decode_call(body))
        if votes is not None and list(votes) != ((call := _decode_call(body)).answers or []):
            raise Conflict(f"Call {call_id} was answered meanwhile.", outcome=call)

    return write


def unblock(run_id: str) -> Write:
    def write(db: Database) -> Run | None:
        rows = db.rows("SELECT body FROM runs WHERE id = ? FOR NO KEY UPDATE", (run_id,))
        if not rows:
            raise NotFound(f"There is no run {run_id}.")
        run = _decode_run(rows[0][0])
        if run.status not in WAITING:
            return None
        run.pending_tool_calls = [one for one in run.pending_tool_calls if _blocks(db, one.tool_call_id)]
        if not run.pending_tool_calls:
            run.status = "queued"
            db.count("UPDATE runs SET owner = NULL WHERE id = ?", (run_id,))
        body = encode_json(run).decode()
        db.count("UPDATE runs SET status = ?, body = ? WHERE id = ?", (run.status, body, run_id))
        return run

    return write


def _blocks(db: Database, call_id: str) -> bool:
    rows = db.rows("SELECT body FROM calls WHERE id = ? AND status = 'waiting'", (call_id,))
    return bool(rows) and _decode_call(rows[0][0]).told is UNSET


async def call(reader: Reader, call_id: str) -> Call | None:
    rows = await reader.rows("SELECT body FROM calls WHERE id = ?", (call_id,))
    return _decode_call(rows[0][0]) if rows else None


async def calls(reader: Reader, run_id: str) -> list[Call]:
    rows = await reader.rows("SELECT body FROM calls WHERE run_id = ? ORDER BY step, idx, id", (run_id,))
    return [_decode_call(body) for (body,) in rows]


async def overdue_calls(reader: Reader, now: float, limit: int) -> list[Call]:
    rows = await reader.rows(
        "SELECT body FROM calls WHERE status = 'waiting' AND deadline IS NOT NULL AND deadline < ?"
        " ORDER BY deadline LIMIT ?",
        (now, limit),
    )
    return [_decode_call(body) for (body,) in rows]


async def steps(reader: Reader, run_id: str) -> list[Step]:
    rows = await reader.rows("SELECT body FROM steps WHERE run_id = ? ORDER BY number", (run_id,))
    return [_decode_step(body) for (body,) in rows]
