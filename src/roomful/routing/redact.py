"""What a space may know of a call, by the tool's visibility. Nothing else decides it."""

from typing import assert_never

from roomful.domain.events import CallCompleted, CallFailed, CallReady, SpaceEvent, TextEnded
from roomful.domain.grants import hash_of
from roomful.domain.messages import ApprovalCard, ToolCallPart
from roomful.domain.runs import Call, Place, Run
from roomful.domain.shape import UNSET, Json, Unset
from roomful.domain.tools import Approvers, ToolSpec, Visibility


def shown_args(call: Call) -> Json | Unset:
    return call.args if call.visibility is Visibility.FULL else UNSET


def shown_result(call: Call) -> Json | Unset:
    if call.is_withheld:
        return UNSET
    match call.visibility:
        case Visibility.FULL | Visibility.RESULT:
            return call.result
        case Visibility.STATUS | Visibility.HIDDEN:
            return UNSET
        case _:
            assert_never(call.visibility)


def shown_error(call: Call) -> str:
    error = call.error or "failed"
    return (
        error
        if not call.is_withheld and call.visibility in (Visibility.FULL, Visibility.RESULT)
        else "failed"
    )


def ready_event(call: Call, place: Place) -> CallReady:
    return CallReady(
        space_id=place.space_id,
        message_id=place.message_id,
        part_id=place.part_id,
        run_id=call.run_id,
        tool_call_id=call.id,
        tool_name=call.tool_name,
        args=shown_args(call),
    )


def text_end(call: Call, place: Place) -> TextEnded:
    return TextEnded(
        space_id=place.space_id,
        message_id=place.message_id,
        part_id=place.part_id,
        run_id=call.run_id,
        tool_call_id=call.id,
    )


def settled_event(call: Call, place: Place) -> CallCompleted | CallFailed:
    """A call that ended well or badly, as the space of this place may see it."""
    if call.status == "complete":
        return CallCompleted(
            space_id=place.space_id,
            message_id=place.message_id,
            part_id=place.part_id,
            run_id=call.run_id,
            tool_call_id=call.id,
            tool_name=call.tool_name,
            args=shown_args(call),
            output=shown_result(call),
        )
    return CallFailed(
        space_id=place.space_id,
        message_id=place.message_id,
        part_id=place.part_id,
        run_id=call.run_id,
        tool_call_id=call.id,
        tool_name=call.tool_name,
        error=shown_error(call),
        args=shown_args(call),
    )


def ask_people(part: ToolCallPart, call: Call, spec: ToolSpec | None, run: Run) -> None:
    """What a card says to whom it asks: what it is about, and who of them may answer."""
    is_approval = call.waits_for == "approval"
    if is_approval:
        part.approval = ApprovalCard(
            agent_id=run.agent_id,
            args_hash=hash_of(call.tool_name, call.args),
            trigger_space_id=run.trigger.space_id,
            trigger_entity_id=run.trigger.entity_id,
            from_space_ids=call.held.sources if call.held else UNSET,
            to_space_ids=call.held.space_ids if call.held else UNSET,
        )
    approvers = approvers_of(call, spec)
    if approvers == Approvers():
        return
    if spec is not None and spec.is_poll and not is_approval:
        part.closers = approvers
    else:
        part.approvers = approvers


def approvers_of(call: Call, spec: ToolSpec | None) -> Approvers:
    """Who alone may answer a call that waits; of a poll, who may close it."""
    if call.held:
        return Approvers(entities=tuple(call.held.approvers))
    return Approvers() if spec is None else spec.approvers_of(call.waits_for)


NOWHERE = Place(space_id="", message_id="", part_id="")


def whole_event(call: Call) -> SpaceEvent:
    """The same for the run's own stream, which sees everything."""
    seen = Call(
        id=call.id,
        run_id=call.run_id,
        step=call.step,
        index=call.index,
        tool_name=call.tool_name,
        args=call.args,
        status=call.status,
        result=call.result,
        error=call.error,
        visibility=Visibility.FULL,
    )
    is_open = call.status in ("ready", "waiting")
    return ready_event(seen, NOWHERE) if is_open else settled_event(seen, NOWHERE)
