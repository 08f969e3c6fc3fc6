"""A space's messages as the AI SDK's UI messages (versions 5 and 6). Pure: the same message, stored or folded
from live events, gives the same JSON."""

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias, assert_never

from roomful.domain.messages import Message, MessageStatus, Part, ReasoningPart, TextPart, ToolCallPart
from roomful.domain.shape import UNSET, Json, Noun, Unset
from roomful.domain.trails import Child, ChildCall, ChildStatus
from roomful.domain.usage import Usage

ToolState = Literal["input-streaming", "input-available", "output-available", "output-error"]
AgentStatus = Literal["running", "finished", "failed", "canceled"]

NO_OUTCOME = {"canceled": "This call was canceled.", "unknown": "Nobody knows what became of this call."}
FAILED = "failed"


class UiText(Noun):
    type: Literal["text", "reasoning"]
    text: str
    state: Literal["streaming", "done"] | Unset = UNSET


class UiToolCall(Noun):
    """`type` is `tool-` and the tool's name, or `tool-agent-` and the agent's id. What the space may not see
    is absent."""

    type: str
    tool_call_id: str
    state: ToolState
    input: Json | Unset = UNSET
    output: Json | Unset = UNSET
    error_text: str | Unset = UNSET
    call_provider_metadata: Json | Unset = UNSET
    """`{"roomful": {"providerCallId"}}` for an imported call: the id it had where it was made."""


class InnerCall(Noun):
    tool_call_id: str
    tool_name: str
    args: Json | Unset = UNSET


class InnerResult(InnerCall):
    result: Json | Unset = UNSET


class InnerError(InnerCall):
    error: str = ""


class TotalUsage(Noun):
    input_tokens: int
    output_tokens: int
    total_tokens: int


class AgentData(Noun):
    """What a sub-agent did. A call is complete when `tool_results` has its id: a failed one is there too.

    `ancestry` is there for a sub-agent of a sub-agent: the calls from the message's own down to its own.
    """

    id: str
    status: AgentStatus
    text: str
    tool_calls: list[InnerCall]
    tool_results: list[InnerResult]
    tool_errors: list[InnerError]
    steps: list[Json]
    finish_reason: str | None
    usage: TotalUsage | None
    ancestry: list[str] | Unset = UNSET


class UiAgent(Noun):
    """`id` is the sub-agent's run; null for one that ran elsewhere."""

    id: str | None
    data: AgentData
    type: Literal["data-tool-agent"] = "data-tool-agent"


UiPart: TypeAlias = UiText | UiToolCall | UiAgent


class UiMetadata(Noun):
    created_at: str
    space_id: str
    entity_id: str
    seq: int
    status: MessageStatus
    run_id: str | Unset = UNSET
    attachments: list[str] | Unset = UNSET


class UiMessage(Noun):
    id: str
    role: Literal["user", "assistant"]
    metadata: UiMetadata
    parts: list[Json]
    """UiPart: a union that only the SDK's own `type` tells apart."""


def ui_messages(messages: Iterable[Message]) -> list[UiMessage]:
    """Every message that was not deleted, in the same order."""
    return [ui_message(message) for message in messages if not message.deleted]


def ui_message(message: Message) -> UiMessage:
    return UiMessage(
        id=message.id,
        role=message.role,
        metadata=UiMetadata(
            created_at=message.created_at,
            space_id=message.space_id,
            entity_id=message.entity_id,
            seq=message.seq,
            status=message.status,
            run_id=message.run_id,
            attachments=message.attachments or UNSET,
        ),
        parts=[made for part in message.parts for made in _parts(part, message.role)],
    )


def _parts(part: Part, role: str) -> Iterator[UiPart]:
    match part:
        case TextPart():
            yield UiText("text", part.text, _text_state(part) if role == "assistant" else UNSET)
        case ReasoningPart():
            yield UiText("reasoning", part.text, _text_state(part))
        case ToolCallPart():
            yield _tool_call(part)
            if part.child is not UNSET:
                yield from _agents(part.child, [part.tool_call_id])
        case _:
            assert_never(part)


def _text_state(part: TextPart | ReasoningPart) -> Literal["streaming", "done"]:
    return "streaming" if part.status == "streaming" else "done"


def _tool_call(part: ToolCallPart) -> UiToolCall:
    name = part.tool_name if part.child is UNSET else _agent_tool(part.child)
    made = UiToolCall(type=f"tool-{name}", tool_call_id=part.tool_call_id, state=_state(part))
    made.input = part.args
    if part.provider_call_id is not UNSET:
        made.call_provider_metadata = {"roomful": {"providerCallId": part.provider_call_id}}
    if made.state == "output-available":
        made.output = part.result
    elif made.state == "output-error":
        made.error_text = part.error or NO_OUTCOME.get(part.status, FAILED)
    return made


def _state(part: ToolCallPart) -> ToolState:
    match part.status:
        case "streaming":
            return "input-streaming"
        case "ready" | "running" | "waiting":
            return "input-available"
        case "complete":
            return "output-available"
        case "error" | "canceled" | "unknown":
            return "output-error"


def _agents(child: Child, ancestry: list[str]) -> Iterator[UiAgent]:
    """The sub-agent, and behind it each one that it asked itself, at any depth."""
    data = agent_data(child)
    if len(ancestry) > 1:
        data.ancestry = ancestry
    yield UiAgent(id=child.run_id, data=data)
    for call in child.calls or []:
        if call.child is not UNSET:
            yield from _agents(call.child, [*ancestry, call.tool_call_id])


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
    return call.tool_name if call.child is UNSET else _agent_tool(call.child)


def _agent_tool(child: Child) -> str:
    return f"agent-{child.agent_id}"


def _usage(usage: Usage | None) -> TotalUsage | None:
    return usage and TotalUsage(usage.input_tokens, usage.output_tokens, usage.total)
