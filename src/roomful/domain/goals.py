"""What an agent wants to reach across its runs."""

from roomful.domain.errors import Invalid
from roomful.domain.shape import UNSET, Noun, Unset

MOST_GOALS = 100
"""Of one agent."""
DESCRIPTION_LIMIT = 2000
STATUS_LIMIT = 100
OPEN = "open"


class Goal(Noun):
    id: str
    agent_id: str
    description: str
    created_at: str
    updated_at: str
    status: str = OPEN
    space_id: str | Unset = UNSET
    """Where its words were written. Unset: in no space."""
    read_spaces: list[str] | Unset = UNSET
    """The spaces whose content the run knew that wrote it."""


def check_goal(description: str, status: str) -> None:
    if not 0 < len(description) <= DESCRIPTION_LIMIT:
        raise Invalid(
            f"the goal {description[:80]!r} has {len(description)} characters: use 1 to {DESCRIPTION_LIMIT}"
        )
    if not 0 < len(status) <= STATUS_LIMIT:
        raise Invalid(f"the status {status[:80]!r} has {len(status)} characters: use 1 to {STATUS_LIMIT}")
