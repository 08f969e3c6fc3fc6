"""One recorded tool call, in whichever way its version of Mastra stored it."""

from typing import Literal, cast

import msgspec

from roomful.domain.shape import UNSET, Json, Unset, encode_json
from roomful.recall.mastra.reading import Object

_AGENT = "agent-"


class RecordedCall(msgspec.Struct, frozen=True):
    """`unknown` is a call whose end was never stored. A failure may have a result too: the older version
    stores what the tool threw as its output."""

    id: str
    tool_name: str
    status: Literal["complete", "error", "unknown"]
    args: Json | Unset = UNSET
    result: Json | Unset = UNSET
    error: str | Unset = UNSET

    @property
    def output(self) -> Object:
        return _fields(self.result)

    @property
    def thread_id(self) -> str | None:
        """The thread of the sub-agent that this call asked."""
        named = self.output.get("subAgentThreadId")
        return named if isinstance(named, str) and named else None

    @property
    def agent_id(self) -> str | None:
        """The sub-agent that this call asked, if it is a delegation."""
        name = self.tool_name.removeprefix(_AGENT)
        is_delegation = name and (name != self.tool_name or self.thread_id is not None)
        return name if is_delegation else None

    @property
    def prompt(self) -> str | None:
        prompt = _fields(self.args).get("prompt")
        return prompt.strip() if isinstance(prompt, str) else None


def recorded_call(part: Object) -> RecordedCall:
    dynamic = part["type"] == "dynamic-tool"
    status, result, error = _end(part)
    return RecordedCall(
        id=part["toolCallId"],
        tool_name=part["toolName"] if dynamic else part["type"].removeprefix("tool-"),
        status=status,
        args=part.get("input", part.get("rawInput", UNSET)),
        result=result,
        error=error,
    )


def _end(part: Object) -> tuple[Literal["complete", "error", "unknown"], Json | Unset, str | Unset]:
    state = part.get("state", "output-available" if "output" in part else None)
    match state:
        case "output-available":
            output = part.get("output")
            thrown = _thrown(output)
            return ("complete", output, UNSET) if thrown is None else ("error", output, thrown)
        case "output-error":
            return "error", part.get("output", UNSET), _as_text(part.get("errorText", "failed"))
        case "output-denied":
            return "error", UNSET, "denied"
        case _:
            return "unknown", part.get("output", UNSET), UNSET


def _thrown(output: Json) -> str | None:
    """What an error says that was stored as if it were an output."""
    fields = _fields(output)
    is_error = fields.get("domain") in ("TOOL", "AGENT") and {"category", "code"} <= fields.keys()
    message = fields.get("message")
    return message if is_error and isinstance(message, str) else None


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else encode_json(value).decode()


def _fields(value: Json) -> Object:
    return cast(Object, value) if isinstance(value, dict) else {}
