"""Runs among runs: who started whom, who waits for whom, and how many there may be."""

from collections.abc import Sequence

import msgspec

from roomful.domain.errors import Conflict, NotFound, OverBound
from roomful.domain.ports import Descent
from roomful.domain.run_changes import ExpectRoom
from roomful.domain.runs import Call, Handed, Run, Step
from roomful.domain.shape import encode_json
from roomful.store.announced import Numbers
from roomful.store.database import Database, Reader, Write

_decode_call = msgspec.json.Decoder(Call).decode
_decode_handed = msgspec.json.Decoder(Handed).decode
_decode_run = msgspec.json.Decoder(Run).decode
_decode_step = msgspec.json.Decoder(Step).decode

_LOCK_RUN = "SELECT status FROM runs WHERE id = ? FOR NO KEY UPDATE"
_BELOW_ROOT = "SELECT count(*) FROM runs WHERE root_run_id = ? AND root_run_id <> id"
_OF_PAIR = "SELECT count(*) FROM runs WHERE started_by = ? AND agent_id = ? AND created_at > ?"
_PUT_HANDED = """
INSERT INTO handed (run_id, message_id, step, body) VALUES (?, ?, ?, ?)
ON CONFLICT (run_id, message_id) DO UPDATE SET step = excluded.step, body = excluded.body"""
_TAKE_HANDED = "UPDATE handed SET step = ?, body = ? WHERE run_id = ? AND message_id = ? AND step IS NULL"
_REPLIES = "SELECT body FROM calls WHERE status = 'waiting' AND waits_for = 'reply' AND waits_in = ?"
_ENDED_CHILDREN = """
SELECT c.body FROM calls c JOIN runs r ON r.parent_call_id = c.id
WHERE c.status = 'waiting' AND c.waits_for = 'child_run' AND r.ended_at IS NOT NULL LIMIT ?"""
_DESCENT = """
WITH RECURSIVE tree (run_id) AS (
  SELECT id FROM runs WHERE parent_call_id IN ({marks})
  UNION SELECT r.id FROM tree t JOIN calls c ON c.run_id = t.run_id JOIN runs r ON r.parent_call_id = c.id
)
SELECT 0 AS kind, r.created_at AS a, 0 AS b, 0 AS c, r.id AS id, r.body AS body
  FROM tree t JOIN runs r ON r.id = t.run_id
UNION ALL SELECT 1, c.run_id, c.step, c.idx, c.id, c.body FROM tree t JOIN calls c ON c.run_id = t.run_id
UNION ALL SELECT 2, s.run_id, s.number, 0, '', s.body FROM tree t JOIN steps s ON s.run_id = t.run_id
UNION ALL SELECT 3, '', number, 0, id, '' FROM writers WHERE id = ? OR ?
ORDER BY 1, 2, 3, 4, 5"""


def expect_room(wanted: ExpectRoom) -> Write:
    """The root's row is held meanwhile, so that no two workers take its last place."""

    def write(db: Database) -> None:
        db.rows(_LOCK_RUN, (wanted.root_run_id,))
        if _in_root(db.rows(_BELOW_ROOT, (wanted.root_run_id,))) >= wanted.runs_per_root:
            raise OverBound(
                "runsPerRoot", f"one trigger may lead to {wanted.runs_per_root} runs (limits.runsPerRoot)"
            )
        if wanted.pair is None:
            return
        [(lately,)] = db.rows(_OF_PAIR, (*wanted.pair, wanted.since))
        if lately >= wanted.runs_per_pair:
            by, whom = wanted.pair
            raise OverBound(
                "runsPerPair",
                f"{by} may start {whom} {wanted.runs_per_pair} times a minute (limits.runsPerPair)",
                whom,
            )

    return write


def hand(handed: Handed) -> Write:
    row = (handed.run_id, handed.message_id, None, encode_json(handed).decode())

    def write(db: Database) -> None:
        rows = db.rows(_LOCK_RUN, (handed.run_id,))
        if not rows:
            raise NotFound(f"There is no run {handed.run_id}.")
        if rows[0][0] not in ("queued", "running"):
            raise Conflict(f"Run {handed.run_id} is {rows[0][0]}.", outcome=handed)
        db.count(_PUT_HANDED, row)

    return write


def take_handed(handed: Sequence[Handed]) -> Write:
    rows = [(one.step, encode_json(one).decode(), one.run_id, one.message_id) for one in handed]

    def write(db: Database) -> None:
        for one, row in zip(handed, rows, strict=True):
            if not db.count(_TAKE_HANDED, row):
                raise Conflict(f"Message {one.message_id} was taken already.", outcome=one)

    return write


def expect_none_handed(run_id: str) -> Write:
    def write(db: Database) -> None:
        db.rows(_LOCK_RUN, (run_id,))
        rows = db.rows("SELECT body FROM handed WHERE run_id = ? AND step IS NULL", (run_id,))
        if rows:
            raise Conflict(f"Run {run_id} was given a message.", outcome=_decode_handed(rows[0][0]))

    return write


async def replies_awaited(reader: Reader, space_id: str) -> list[Call]:
    return [_decode_call(body) for (body,) in await reader.rows(_REPLIES, (space_id,))]


async def calls_of_ended_children(reader: Reader, limit: int) -> list[Call]:
    return [_decode_call(body) for (body,) in await reader.rows(_ENDED_CHILDREN, (limit,))]


async def children(reader: Reader, call_ids: Sequence[str]) -> list[Run]:
    if not call_ids:
        return []
    marks = ", ".join("?" * len(call_ids))
    rows = await reader.rows(f"SELECT body FROM runs WHERE parent_call_id IN ({marks})", tuple(call_ids))
    return [_decode_run(body) for (body,) in rows]


async def descent(reader: Reader, call_ids: Sequence[str]) -> Descent:
    found, _ = await descent_at(reader, ("", False), call_ids, {})
    return found


async def descent_at(
    reader: Reader, writers: tuple[str, bool], call_ids: Sequence[str], numbers: Numbers
) -> tuple[Descent, Numbers]:
    """Also gives the number of the last batch in it, of one writer or of all; without calls, those that
    were given."""
    found = Descent(runs=[], calls=[], steps=[])
    if not call_ids:
        return found, numbers
    last: dict[str, int] = {}
    sql = _DESCENT.format(marks=", ".join("?" * len(call_ids)))
    for kind, _, number, _, id, body in await reader.rows(sql, (*call_ids, *writers)):
        match kind:
            case 0:
                found.runs.append(_decode_run(body))
            case 1:
                found.calls.append(_decode_call(body))
            case 2:
                found.steps.append(_decode_step(body))
            case _:
                last[id] = number
    return found, last


async def runs_of_root(reader: Reader, root_run_id: str) -> list[Run]:
    rows = await reader.rows(
        "SELECT body FROM runs WHERE ended_at IS NULL"
        " AND (id = ? OR (root_run_id = ? AND root_run_id <> id)) ORDER BY created_at, id",
        (root_run_id, root_run_id),
    )
    return [_decode_run(body) for (body,) in rows]


async def runs_in_root(reader: Reader, root_run_id: str) -> int:
    return _in_root(await reader.rows(_BELOW_ROOT, (root_run_id,)))


def _in_root(below: Sequence[Sequence[int]]) -> int:
    """The root itself counts."""
    return below[0][0] + 1


async def tokens_of_root(reader: Reader, root_run_id: str) -> int:
    [(total,)] = await reader.rows(
        "SELECT coalesce(sum(tokens), 0) FROM runs WHERE id = ? OR (root_run_id = ? AND root_run_id <> id)",
        (root_run_id, root_run_id),
    )
    return int(total)


async def handed(reader: Reader, run_id: str) -> list[Handed]:
    rows = await reader.rows("SELECT body FROM handed WHERE run_id = ?", (run_id,))
    return sorted((_decode_handed(body) for (body,) in rows), key=lambda one: (one.at, one.message_id))


async def handed_to_idle(reader: Reader) -> list[Handed]:
    rows = await reader.rows(
        "SELECT h.body FROM handed h JOIN runs r ON r.id = h.run_id"
        " WHERE h.step IS NULL AND r.status NOT IN ('queued', 'running') LIMIT 100"
    )
    return sorted((_decode_handed(body) for (body,) in rows), key=lambda one: (one.at, one.message_id))
