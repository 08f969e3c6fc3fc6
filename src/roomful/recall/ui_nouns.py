"""The AI SDK's UI messages and their parts."""

from typing import Literal, NamedTuple, TypeAlias

from roomful.domain.messages import MessageStatus
from roomful.domain.shape import UNSET, Json, Noun, Unset

Sdk: TypeAlias = Literal[5, 6, 7]
ToolState = Literal[
    "input-streaming",
    "input-available",
    "approval-requested",
    "approval-responded",
    "output-available",
    "output-error",
    "output-denied",
]
AgentStatus = Literal["running", "finished", "failed", "canceled"]


class UiStep(Noun):
    type: Literal["step-start"] = "step-start"


class UiText(Noun):
    type: Literal["text", "reasoning"]
    text: str
    state: Literal["streaming", "done"] | Unset = UNSET
    id: str | Unset = UNSET


class UiApproval(Noun):
    id: str
    approved: bool | Unset = UNSET
    reason: str | Unset = UNSET


class UiToolCall(Noun):
    """`type` is `tool-` and the tool's name, or `tool-agent-` and the agent's id. What the space may not see
    is null."""

    type: str
    tool_call_id: str
    state: ToolState
    input: Json | Unset = UNSET
    raw_input: str | Unset = UNSET
    output: Json | Unset = UNSET
    error_text: str | Unset = UNSET
    provider_executed: bool | Unset = UNSET
    """The client has nothing to do with it."""
    approval: UiApproval | Unset = UNSET
    call_provider_metadata: Json | Unset = UNSET
    """`{"roomful": {"providerCallId"}}` for an imported call: the id it had where it was made."""

    @property
    def is_settled(self) -> bool:
        return self.state.startswith("output-")


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


UiPart: TypeAlias = UiStep | UiText | UiToolCall | UiAgent


class Slot(NamedTuple):
    """A part and what it is known by. None where something may still come that has to stand there."""

    key: str
    part: UiPart | None


GAP = Slot("", None)


class UiMetadata(Noun):
    created_at: str
    space_id: str
    entity_id: str
    seq: int
    status: MessageStatus
    run_id: str | Unset = UNSET
    message_id: str | Unset = UNSET
    """Of one's own message that is known by the id its client gave it: the id it has here."""
    attachments: list[str] | Unset = UNSET


class UiMessage(Noun):
    id: str
    role: Literal["user", "assistant"]
    metadata: UiMetadata
    parts: list[Json]
    """UiPart: a union that only the SDK's own `type` tells apart."""
