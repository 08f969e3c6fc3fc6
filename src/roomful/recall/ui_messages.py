"""A space's messages as the AI SDK's UI messages. Pure: the same messages, stored or folded from live events,
give the same JSON. What one run shows is one message there, also where a mention closed it here.

What the SDK's own reader makes of a stream can only grow at its end: so what happens inside a sub-agent's
sub-agents stands behind all calls of their step.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal, assert_never

from roomful.domain.messages import Message, Part, ReasoningPart, TextPart, ToolCallPart
from roomful.domain.shape import UNSET, Json, Unset
from roomful.domain.trails import Child, ChildCall, ChildStatus
from roomful.domain.usage import Usage
from roomful.recall.argument_text import ArgumentText
from roomful.recall.harmless import harmless
from roomful.recall.ui_nouns import (
    GAP,
    AgentData,
    AgentStatus,
    InnerCall,
    InnerError,
    InnerResult,
    Sdk,
    Slot,
    ToolState,
    TotalUsage,
    UiAgent,
    UiApproval,
    UiMessage,
    UiMetadata,
    UiPart,
    UiStep,
    UiText,
    UiToolCall,
)

NO_OUTCOME = {"canceled": "This call was canceled.", "unknown": "Nobody knows what became of this call."}
FAILED = "failed"


def ui_messages(messages: Iterable[Message], viewer: str | None, sdk: Sdk) -> list[UiMessage]:
    """Every message that was not deleted; those of one run together, where the first of them stands."""
    runs: dict[str, list[Message]] = {}
    for message in messages:
        if not message.deleted:
            runs.setdefault(message.run_id or message.id, []).append(message)
    taken = {message.id for said in runs.values() for message in said}
    return [ui_message(said, viewer, sdk, taken) for said in runs.values()]


def ui_message(
    said: Sequence[Message], viewer: str | None, sdk: Sdk, taken: Collection[str] = ()
) -> UiMessage:
    """One message, or all those of one run."""
    id, metadata = ui_head(said, viewer, taken)
    return UiMessage(id, said[0].role, metadata, list(_loaded(slots(said, sdk), sdk)))


def ui_head(
    said: Sequence[Message], viewer: str | None, taken: Collection[str] = ()
) -> tuple[str, UiMetadata]:
    """All but the parts. One's own message is known by the id that one's client gave it, unless that is the
    id of another."""
    first, last = said[0], said[-1]
    is_mine = first.entity_id == viewer and first.client_message_id not in taken
    own_id = first.client_message_id if is_mine else UNSET
    metadata = UiMetadata(
        created_at=first.created_at,
        space_id=first.space_id,
        entity_id=first.entity_id,
        seq=first.seq,
        status=last.status,
        run_id=first.run_id,
        message_id=first.id if own_id else UNSET,
        attachments=first.attachments or UNSET,
    )
    return own_id or first.id, metadata


def _loaded(slots: Iterable[Slot], sdk: Sdk) -> Iterator[UiPart]:
    """What is not behind a gap. A client of version 5 that has loaded half a call would go on with it, behind
    what it is told again: it gets whole ones."""
    for _, part in slots:
        if part is None:
            break
        if sdk > 5 or not isinstance(part, UiToolCall) or part.state != "input-streaming":
            yield part


def slots(said: Sequence[Message], sdk: Sdk) -> Iterator[Slot]:
    parts = [part for message in said for part in message.parts]
    if said[0].run_id is UNSET:
        for part in parts:
            yield from _slots_of(part, said[0].role, sdk)
            yield from _inside(part)
        return
    steps: list[list[Part]] = []
    for part in parts:
        if not steps or (part.step or 0) > (steps[-1][0].step or 0):
            steps.append([])
        steps[-1].append(part)
    for number, step in enumerate(steps):
        yield Slot(f"step {number}", UiStep())
        for part in step:
            yield from _slots_of(part, "assistant", sdk)
        for part in step:
            yield from _inside(part)
    if steps and said[-1].status == "final" and _was_answered(steps[-1], sdk):
        yield Slot(f"step {len(steps)}", UiStep())


def _was_answered(step: Sequence[Part], sdk: Sdk) -> bool:
    """Whether people were asked in it and none is asked any more. The model has had their answers, though it
    showed nothing after them: without another step a client would send them again."""
    asked = [_tool_call(part, sdk) for part in step if isinstance(part, ToolCallPart) and part.asks]
    return bool(asked) and all(call.is_settled for call in asked)


def _slots_of(part: Part, role: str, sdk: Sdk) -> Iterator[Slot]:
    match part:
        case TextPart():
            yield Slot(
                part.id, UiText("text", part.text, _text_state(part) if role == "assistant" else UNSET)
            )
        case ReasoningPart():
            yield Slot(part.id, UiText("reasoning", part.text, _text_state(part), part.id))
        case ToolCallPart():
            call = _tool_call(part, sdk)
            yield Slot(part.tool_call_id, call)
            if part.child is not UNSET:
                yield _agent(part.child, [part.tool_call_id])
            elif part.agent_id is not UNSET and not call.is_settled:
                yield GAP
        case _:
            assert_never(part)


def _inside(part: Part) -> Iterator[Slot]:
    """Every sub-agent's own sub-agents, at any depth."""
    if isinstance(part, ToolCallPart) and part.child is not UNSET:
        is_open = part.status in ("ready", "running", "waiting")
        yield from _below(part.child, [part.tool_call_id], is_open=is_open)


def _below(child: Child, ancestry: list[str], *, is_open: bool) -> Iterator[Slot]:
    for call in child.calls or []:
        if call.child is not UNSET:
            path = [*ancestry, call.tool_call_id]
            yield _agent(call.child, path)
            yield from _below(call.child, path, is_open=is_open)
    if is_open and child.status == "running":
        yield GAP


def _agent(child: Child, ancestry: list[str]) -> Slot:
    data = agent_data(child)
    if len(ancestry) > 1:
        data.ancestry = ancestry
    return Slot(f"agent {ancestry[-1]}", UiAgent(id=child.run_id, data=data))


def _text_state(part: TextPart | ReasoningPart) -> Literal["streaming", "done"]:
    return "streaming" if part.status == "streaming" else "done"


def _tool_call(part: ToolCallPart, sdk: Sdk) -> UiToolCall:
    made = UiToolCall(
        type=f"tool-{_tool_name(part)}", tool_call_id=part.tool_call_id, state=_state(part, sdk)
    )
    made.input = _seen(part.args, made.state)
    if part.asks is UNSET and part.run_id is not UNSET:
        made.provider_executed = True
    if part.provider_call_id is not UNSET:
        made.call_provider_metadata = {"roomful": {"providerCallId": part.provider_call_id}}
    if sdk > 5 and part.approval is not UNSET:
        made.approval = UiApproval(part.tool_call_id, part.approval.approved, part.approval.reason)
    args: Json = part.args
    if made.state == "input-streaming" and args is not UNSET:
        made.raw_input = ArgumentText().begin(harmless(args))
    elif made.state == "output-available":
        made.output = _seen(part.result, made.state)
    elif made.state == "output-error":
        made.error_text = part.error or NO_OUTCOME.get(part.status, FAILED)
    return made


def _seen(value: Json | Unset, state: ToolState) -> Json | Unset:
    """The SDK wants a value there: null where the space sees none."""
    return None if value is UNSET and state != "input-streaming" else value


def _tool_name(part: ToolCallPart) -> str:
    agent_id = part.child.agent_id if part.child is not UNSET else part.agent_id
    return part.tool_name if agent_id is UNSET else f"agent-{agent_id}"


def _state(part: ToolCallPart, sdk: Sdk) -> ToolState:
    approved = part.approval.approved if sdk > 5 and part.approval is not UNSET else None
    match part.status:
        case "streaming":
            return "input-streaming"
        case "waiting" if approved is UNSET:
            return "approval-requested"
        case "ready" | "running" | "waiting":
            return "approval-responded" if approved else "input-available"
        case "complete":
            return "output-available"
        case "error" if approved is False:
            return "output-denied"
        case "error" | "canceled" | "unknown":
            return "output-error"


def agent_data(child: Child) -> AgentData:
    calls = child.calls or []
    return AgentData(
        id=child.agent_id,
        status=_STATUS[child.status],
        text=child.text,
        tool_calls=[InnerCall(call.tool_call_id, _inner_name(call), call.args) for call in calls],
        tool_results=[_result(call) for call in calls if call.status in ("complete", "error")],
        tool_errors=[
            InnerError(call.tool_call_id, _inner_name(call), call.args, call.error or FAILED)
            for call in calls
            if call.status == "error" or call.error is not UNSET
        ],
        steps=[],
        finish_reason=child.finish_reason,
        usage=_usage(child.usage),
    )


_STATUS: dict[ChildStatus, AgentStatus] = {
    "running": "running",
    "completed": "finished",
    "failed": "failed",
    "canceled": "canceled",
}


def _result(call: ChildCall) -> InnerResult:
    """A failure that came with a result of its own keeps it; any other one is `{error}`."""
    result = call.result
    if call.status == "error" and (result is UNSET or result is None):
        result = {"error": call.error or FAILED}
    return InnerResult(call.tool_call_id, _inner_name(call), call.args, result)


def _inner_name(call: ChildCall) -> str:
    return call.tool_name if call.child is UNSET else f"agent-{call.child.agent_id}"


def _usage(usage: Usage | None) -> TotalUsage | None:
    return usage and TotalUsage(usage.input_tokens, usage.output_tokens, usage.total)
