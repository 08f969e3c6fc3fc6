"""AG-UI's events as frames. A field that has nothing to say is absent, never null."""

from collections.abc import Sequence

from roomful.domain.messages import ToolCallPart
from roomful.domain.shape import UNSET, Json, encode_json
from roomful.web.faces.ag_ui_messages import Called, Result, Said, Subagent

PROTOCOL_VERSION = "1.0"
REATTACH = "reattach"
"""The code of an error after which the thread is to be replayed: the run itself goes on."""

DECISION = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "editedArgs": {"type": "object"},
        "reason": {"type": "string"},
        "remember": {"enum": ["tool", "arguments"]},
    },
    "required": ["approved"],
}


def event(type: str, **fields: Json) -> bytes:
    told = {name: value for name, value in fields.items() if value is not UNSET and value is not None}
    return b"data: " + encode_json({"type": type, **told}) + b"\n\n"


def error(code: str, message: str) -> bytes:
    return event("RUN_ERROR", message=message, code=code)


def begin_words(said: Said) -> bytes:
    by = said.by.id if said.by is not None else UNSET
    if said.role == "reasoning":
        return event("REASONING_START", messageId=said.id) + event(
            "REASONING_MESSAGE_START", messageId=said.id, role="reasoning", metadata=said.metadata
        )
    name = said.by.name if said.by is not None else UNSET
    return event(
        "TEXT_MESSAGE_START",
        messageId=said.id,
        role="assistant",
        name=name,
        subagentRunId=by,
        metadata=said.metadata,
    )


def more_words(said: Said, delta: str) -> bytes:
    by = said.by.id if said.by is not None else UNSET
    kind = "REASONING_MESSAGE_CONTENT" if said.role == "reasoning" else "TEXT_MESSAGE_CONTENT"
    return event(kind, messageId=said.id, delta=delta, subagentRunId=by)


def end_words(said: Said) -> bytes:
    by = said.by.id if said.by is not None else UNSET
    if said.role == "reasoning":
        return event("REASONING_MESSAGE_END", messageId=said.id) + event("REASONING_END", messageId=said.id)
    return event("TEXT_MESSAGE_END", messageId=said.id, subagentRunId=by)


def begin_call(call: Called, said: Said) -> bytes:
    return event(
        "TOOL_CALL_START",
        toolCallId=call.id,
        toolCallName=call.name,
        parentMessageId=said.id,
        subagentRunId=said.by.id if said.by is not None else UNSET,
        metadata=call.metadata,
    )


def more_arguments(call_id: str, delta: str) -> bytes:
    return event("TOOL_CALL_ARGS", toolCallId=call_id, delta=delta)


def end_call(call_id: str) -> bytes:
    return event("TOOL_CALL_END", toolCallId=call_id)


def result_came(result: Result) -> bytes:
    return event(
        "TOOL_CALL_RESULT",
        messageId=result.id,
        toolCallId=result.call_id,
        content=result.content,
        role="tool",
        subagentRunId=result.by.id if result.by is not None else UNSET,
        metadata=result.metadata,
    )


def begin_subagent(one: Subagent) -> bytes:
    return event(
        "SUBAGENT_STARTED",
        subagentRunId=one.id,
        name=one.name,
        parentToolCallId=one.call_id,
        parentSubagentRunId=one.parent.id if one.parent is not None else UNSET,
    )


def end_subagent(one: Subagent) -> bytes:
    match one.status:
        case "running":
            return event("SUBAGENT_FINISHED", subagentRunId=one.id, outcome={"type": "suspended"})
        case "completed":
            return event("SUBAGENT_FINISHED", subagentRunId=one.id, outcome={"type": "success"})
        case "failed":
            return event("SUBAGENT_ERROR", subagentRunId=one.id, message="The agent could not finish.")
        case "canceled":
            return event(
                "SUBAGENT_ERROR", subagentRunId=one.id, message="The agent was stopped.", code="canceled"
            )


def interrupts(parts: Sequence[ToolCallPart]) -> Json:
    return {"type": "interrupt", "interrupts": [_interrupt(part) for part in parts]}


def _interrupt(part: ToolCallPart) -> Json:
    about: dict[str, Json] = {"toolName": part.tool_name, "runId": part.run_id or ""}
    if part.question is not UNSET:
        about["question"] = part.question
    told: dict[str, Json] = {
        "id": part.tool_call_id,
        "toolCallId": part.tool_call_id,
        "reason": "input_required",
        "metadata": {"roomful": about},
    }
    if part.asks == "approval":
        told |= {"reason": "tool_call", "responseSchema": DECISION}
    return told
