"""What a space may know of a run: that it is there, how it stands, which of its cards are shown here."""

from collections.abc import Sequence

import msgspec

from roomful.domain.events import AgentActive, Announcement, RunChanged
from roomful.domain.runs import WAITING, Run, RunError, Trigger, WaitsFor
from roomful.domain.shape import UNSET, Unset

GENERAL = {
    "model_silent": "The agent's model did not answer in time.",
    "model_rate_limited": "The agent's model has too much to do.",
    "model_unavailable": "The agent's model is in trouble.",
    "model_unreachable": "The agent's model could not be reached.",
    "limit": "The agent stopped at one of its limits.",
    "internal": "Something went wrong inside the gateway.",
}
"""What a space is told of a failure; the details are on the run's own stream."""


def run_event(run: Run, space_id: str) -> RunChanged:
    """The run's state as this space may know it; without a space, whole."""
    kinds: list[WaitsFor] = [one.waits_for for one in run.pending_tool_calls if one.waits_for is not UNSET]
    shown = [call for call in run.pending_tool_calls if space_id in call.space_ids or not space_id]
    pending = [msgspec.structs.replace(call, space_ids=[space_id]) if space_id else call for call in shown]
    return RunChanged(
        space_id=space_id,
        run_id=run.id,
        entity_id=run.agent_id,
        status=run.status,
        trigger=trigger_seen(run, (space_id,)) if space_id else run.trigger,
        pending_tool_calls=pending or UNSET,
        asks_people=any(one.asks_people for one in run.pending_tool_calls)
        if run.status in WAITING
        else UNSET,
        waits_for=kinds if kinds and run.status in WAITING else UNSET,
        error=_in_general(run.error) if space_id else run.error,
        root_run_id=run.root_run_id if run.parent_call_id is not UNSET else UNSET,
    )


def run_began(run: Run, space_id: str) -> list[Announcement]:
    """What a space hears when a run begins, or first shows itself, there."""
    active = AgentActive(space_id=space_id, entity_id=run.agent_id, run_id=run.id)
    return [
        Announcement(event=event, space_id=space_id, run_id=run.id)
        for event in (run_event(run, space_id), active)
    ]


def trigger_seen(run: Run, through: Sequence[str]) -> Trigger:
    """What started the run, for those who were there; others learn only what kind of thing it was."""
    trigger = run.trigger
    if trigger.space_id is UNSET or trigger.space_id not in through:
        return Trigger(type=trigger.type)
    return msgspec.structs.replace(trigger, payload=UNSET, read_spaces=UNSET)


def run_through(run: Run, through: Sequence[str]) -> Run:
    """A run as those may know it who see it through these spaces."""
    told = [run_event(run, space_id) for space_id in through]
    pending = {call.tool_call_id: call for event in told for call in event.pending_tool_calls or ()}
    return msgspec.structs.replace(
        run,
        trigger=trigger_seen(run, through),
        active_space_id=run.active_space_id if run.active_space_id in through else UNSET,
        pending_tool_calls=list(pending.values()),
        error=told[0].error,
        usage=UNSET,
        started_by=run.started_by if run.trigger.space_id in through else UNSET,
        called_as=UNSET,
        at_work_since=UNSET,
        read_spaces=UNSET,
        trace=UNSET,
        asks_in=run.asks_in if run.asks_in in through else UNSET,
        shown_in=[space_id for space_id in run.shown_in if space_id in through],
    )


def _in_general(error: RunError | Unset) -> RunError | Unset:
    if error is UNSET:
        return UNSET
    return RunError(code=error.code, message=GENERAL.get(error.code, "The agent could not finish."))
