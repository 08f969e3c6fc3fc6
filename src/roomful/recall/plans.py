"""Plans in words: those an agent has, and the one that a run was started for."""

from collections.abc import Sequence
from datetime import timedelta

import msgspec

from roomful.domain.plans import Plan, PlanDue
from roomful.domain.shape import UNSET, Json, encode_json

PREVIEW = 200
"""Characters of an instruction; the agent can read the rest with a tool."""


def plan_in_words(payload: Json) -> str:
    """What the run of a plan is told: the instruction, then what is to know about its time."""
    due = msgspec.convert(payload, PlanDue)
    told = f'Your plan "{due.name}" ({due.plan_id}) is due. Its instruction:\n\n{due.instruction}'
    place = f"You made it in the space {due.space_id}. " if due.space_id is not UNSET else ""
    after = f" It is due again at {due.next_at}." if due.next_at is not UNSET else ""
    return f"{told}\n\n{place}It was scheduled for {due.scheduled_for}.{_lateness(due)}{after}"


def plan_lines(plans: Sequence[Plan]) -> list[str]:
    """An agent's active plans as lines of JSON, the next first."""
    active = sorted((plan for plan in plans if plan.next_at), key=lambda plan: plan.next_at or "")
    return [encode_json(_line(plan)).decode() for plan in active]


def _line(plan: Plan) -> dict[str, Json]:
    text = plan.instruction
    told = {"id": plan.id, "name": plan.name, "nextAt": plan.next_at}
    if plan.cron is not UNSET:
        told |= {"cron": plan.cron, "timezone": plan.timezone or "UTC"}
    return {**told, "instruction": text if len(text) <= PREVIEW else text[:PREVIEW] + "…"}


def _lateness(due: PlanDue) -> str:
    said = ""
    if due.late is not UNSET:
        said += f" It begins {timedelta(seconds=due.late)} late, because the gateway could not start it then."
    if due.missed is not UNSET:
        times = "1 later time was" if due.missed == 1 else f"{due.missed} later times were"
        said += f" {times} missed meanwhile, for which no run of its own is started."
    return said
