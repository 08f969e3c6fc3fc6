"""A plan: a run that an agent wants later, once or again and again, and what it is to be told then."""

from typing import Literal

from roomful.domain.shape import UNSET, Noun, Unset

PlanStatus = Literal["active", "completed"]
MOST_ACTIVE = 100
"""Of one agent."""
MOST_COMPLETED = 100
"""So many of an agent's completed plans are kept, the latest ones."""


class Plan(Noun):
    """When it runs stands in one of `run_after`, `scheduled_at` and `cron`, as the agent wrote it."""

    id: str
    agent_id: str
    name: str
    instruction: str
    status: PlanStatus
    created_at: str
    updated_at: str
    run_after: str | int | float | Unset = UNSET
    scheduled_at: str | Unset = UNSET
    cron: str | Unset = UNSET
    timezone: str | Unset = UNSET
    next_at: str | Unset = UNSET
    """Set as long as the plan is active."""
    last_run_at: str | Unset = UNSET
    space_id: str | Unset = UNSET
    """Where it was made."""
    read_spaces: list[str] | Unset = UNSET
    """The spaces whose content the run knew that wrote it."""


class PlanDue(Noun):
    """What the run of a plan is told."""

    plan_id: str
    name: str
    instruction: str
    scheduled_for: str
    late: int | Unset = UNSET
    """Seconds, when it begins noticeably later than it should."""
    missed: int | Unset = UNSET
    """How many further times came and went before it could begin. They are not made up for."""
    next_at: str | Unset = UNSET
    space_id: str | Unset = UNSET
