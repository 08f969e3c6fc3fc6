"""What happened inside a delegation, as the part that shows it holds it: a tree of runs and their calls."""

from typing import Literal

from roomful.domain.shape import UNSET, Json, Noun, Unset
from roomful.domain.usage import Usage

ChildStatus = Literal["running", "completed", "failed", "canceled"]
ChildCallStatus = Literal["running", "complete", "error", "canceled", "unknown"]


class ChildCall(Noun):
    """A call that a sub-agent made. What its own visibility hides is unset, not null."""

    tool_call_id: str
    tool_name: str
    status: ChildCallStatus
    args: Json | Unset = UNSET
    result: Json | Unset = UNSET
    error: str | Unset = UNSET
    child: "Child | Unset" = UNSET


class Child(Noun):
    """A sub-agent's run. `run_id` is null for one that ran elsewhere; `finish_reason` and `usage` are null
    until it has ended, and where nobody knows them."""

    run_id: str | None
    agent_id: str
    name: str
    status: ChildStatus
    text: str = ""
    calls: list[ChildCall] | Unset = UNSET
    """Left out of the news of its end: they were told one by one."""
    finish_reason: str | None = None
    usage: Usage | None = None
