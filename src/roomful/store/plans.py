"""What agents want to do later. A plan with a next time is active, one without is completed."""

from collections.abc import Sequence

import msgspec

from roomful.domain.errors import Conflict, OverBound
from roomful.domain.plans import MOST_ACTIVE, MOST_COMPLETED, Plan
from roomful.domain.shape import encode_json
from roomful.store.database import Database, Reader, Write
from roomful.store.memories import lock_agent

decode = msgspec.json.Decoder(Plan).decode

_PUT = """
INSERT INTO plans (id, agent_id, next_at, updated_at, body) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET next_at = excluded.next_at, updated_at = excluded.updated_at,
  body = excluded.body
WHERE plans.agent_id = excluded.agent_id"""
_FORGET = """
DELETE FROM plans WHERE agent_id = ? AND next_at IS NULL AND id NOT IN (
  SELECT id FROM plans WHERE agent_id = ? AND next_at IS NULL ORDER BY updated_at DESC, id LIMIT ?
)"""


def put_plan(plan: Plan) -> Write:
    agent_id = plan.agent_id
    row = (plan.id, agent_id, plan.next_at or None, plan.updated_at, encode_json(plan).decode())

    def write(db: Database) -> None:
        lock_agent(db, agent_id)
        if not db.count(_PUT, row):
            raise Conflict(f"Plan {row[0]} is another agent's.")
        db.count(_FORGET, (agent_id, agent_id, MOST_COMPLETED))
        [(active,)] = db.rows(
            "SELECT count(*) FROM plans WHERE agent_id = ? AND next_at IS NOT NULL", (agent_id,)
        )
        if active > MOST_ACTIVE:
            raise OverBound("plans", f"an agent may have {MOST_ACTIVE} active plans: delete some first")

    return write


def expect_plan(plan: Plan) -> Write:
    expected = msgspec.structs.replace(plan)

    def write(db: Database) -> None:
        rows = db.rows("SELECT body FROM plans WHERE id = ? FOR NO KEY UPDATE", (expected.id,))
        if not rows or decode(rows[0][0]) != expected:
            raise Conflict(f"Plan {expected.id} was changed meanwhile.")

    return write


def remove_plans(agent_id: str, plan_ids: Sequence[str]) -> Write:
    def write(db: Database) -> list[str]:
        delete = "DELETE FROM plans WHERE id = ? AND agent_id = ?"
        return [plan_id for plan_id in plan_ids if db.count(delete, (plan_id, agent_id))]

    return write


def remove_plans_of(agent_id: str) -> Write:
    def write(db: Database) -> None:
        lock_agent(db, agent_id)
        db.count("DELETE FROM plans WHERE agent_id = ?", (agent_id,))

    return write


async def plans_of(reader: Reader, agent_id: str) -> list[Plan]:
    rows = await reader.rows("SELECT body FROM plans WHERE agent_id = ?", (agent_id,))
    return sorted((decode(body) for (body,) in rows), key=made)


def made(plan: Plan) -> tuple[str, str]:
    """Plans are read in the order of their making."""
    return plan.created_at, plan.id


async def due_plans(reader: Reader, now: str, limit: int) -> list[Plan]:
    rows = await reader.rows(
        "SELECT body FROM plans WHERE next_at IS NOT NULL AND next_at <= ? ORDER BY next_at, id LIMIT ?",
        (now, limit),
    )
    return [decode(body) for (body,) in rows]
