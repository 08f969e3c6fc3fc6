"""A run as its agent's owner looks into it: what it did, where that was seen, when, and what it took."""

from roomful.domain.runs import CallStatus, Place, Run, WaitsFor
from roomful.domain.shape import UNSET, Json, Noun, Unset
from roomful.domain.tools import Visibility
from roomful.domain.usage import Cost, Usage


class InspectedStep(Noun):
    number: int
    text: str
    usage: Usage
    started_at: str | Unset = UNSET
    ended_at: str | Unset = UNSET
    is_open: bool | Unset = UNSET
    """The model still writes it."""


class InspectedCall(Noun):
    """What is not the asker's to see is unset, not null."""

    tool_call_id: str
    tool_name: str
    step: int
    index: int
    status: CallStatus
    visibility: Visibility
    args: Json | Unset = UNSET
    result: Json | Unset = UNSET
    error: str | Unset = UNSET
    space_ids: list[str] = []
    """Its route; `places` are the parts that were opened there."""
    places: list[Place] = []
    target_entity_id: str | Unset = UNSET
    active_space_id: str | Unset = UNSET
    waits_for: WaitsFor | Unset = UNSET
    answered_by: str | Unset = UNSET
    answered_at: str | Unset = UNSET
    reason: str | Unset = UNSET
    started_at: str | Unset = UNSET
    ended_at: str | Unset = UNSET
    child_run_id: str | Unset = UNSET
    """The run that it started, which is among the runs of the inspection."""


class InspectedRun(Noun):
    run: Run
    agent_name: str
    steps: list[InspectedStep]
    calls: list[InspectedCall]
    usage: Usage
    cost: Cost | Unset = UNSET


class NamedSpace(Noun):
    space_id: str
    name: str


class Bound(Noun):
    """One of the agent's `limits`; null: there is none."""

    name: str
    used: float
    limit: float | None


class Inspection(Noun):
    """`runs` are the run and those that it called, at any depth, oldest first; `usage` and `cost` are of them
    all. The cost is unset unless everything that was used has a price."""

    run: Run
    runs: list[InspectedRun]
    spaces: list[NamedSpace]
    bounds: list[Bound]
    usage: Usage
    cost: Cost | Unset = UNSET
