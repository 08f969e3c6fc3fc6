"""What goes to a model and what comes back from it, piece by piece. Providers differ; this does not."""

from typing import TypeAlias

from roomful.domain.agents import ModelRef
from roomful.domain.shape import Frozen, Json
from roomful.domain.tools import ModelTool
from roomful.domain.usage import Usage


class SystemMessage(Frozen, tag_field="role", tag="system"):
    text: str


class UserMessage(Frozen, tag_field="role", tag="user"):
    text: str
    attachments: tuple[Json, ...] = ()


class AskedCall(Frozen):
    """A call as the model made it. `id` is ours: provider ids repeat."""

    id: str
    name: str
    arguments: str


class AssistantMessage(Frozen, tag_field="role", tag="assistant"):
    text: str = ""
    calls: tuple[AskedCall, ...] = ()


class ToolMessage(Frozen, tag_field="role", tag="tool"):
    call_id: str
    content: str


ModelMessage: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolMessage


class ModelRequest(Frozen):
    ref: ModelRef
    agent_id: str
    messages: tuple[ModelMessage, ...]
    tools: tuple[ModelTool, ...]
    silence_seconds: float = 120


class TextPiece(Frozen, tag_field="type", tag="text"):
    text: str


class ReasoningPiece(Frozen, tag_field="type", tag="reasoning"):
    text: str


class CallOpened(Frozen, tag_field="type", tag="call"):
    """A tool call begins. `index` tells the calls of one answer apart; pieces of several may interleave."""

    index: int
    name: str
    provider_id: str = ""


class CallPiece(Frozen, tag_field="type", tag="piece"):
    """The next characters of a call's arguments."""

    index: int
    arguments: str


class UsageReport(Frozen, tag_field="type", tag="usage"):
    usage: Usage


ModelDelta: TypeAlias = TextPiece | ReasoningPiece | CallOpened | CallPiece | UsageReport


class ModelFailed(Exception):
    """The provider could not answer. `retry` says whether asking again may help."""

    def __init__(self, code: str, message: str, *, retry: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retry = retry
