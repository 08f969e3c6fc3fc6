"""A run's conversation with its model, rebuilt from rows: the same after a restart as before it."""

from collections.abc import Mapping, Sequence

from roomful.domain.deltas import AskedCall, AssistantMessage, ModelMessage, ToolMessage, UserMessage
from roomful.domain.runs import Call, Step
from roomful.domain.shape import UNSET, Json, encode_json


def transcript(
    steps: Sequence[Step], calls: Sequence[Call], handed: Mapping[int, Sequence[str]] | None = None
) -> list[ModelMessage]:
    """What the model said so far and what became of each call. Every call has an outcome in words. `handed`
    are words that came in between, by the step before which they came."""
    between = handed or {}
    by_step: dict[int, list[Call]] = {}
    for call in calls:
        by_step.setdefault(call.step, []).append(call)
    messages: list[ModelMessage] = []
    for step in steps:
        messages.extend(UserMessage(text=words) for words in between.get(step.number, ()))
        made = by_step.get(step.number, [])
        asked = tuple(AskedCall(id=c.id, name=c.tool_name, arguments=_arguments(c)) for c in made)
        if step.text or asked:
            messages.append(AssistantMessage(text=step.text, calls=asked))
        messages.extend(ToolMessage(call_id=call.id, content=told(call)) for call in made)
    last = steps[-1].number if steps else -1
    later = sorted(number for number in between if number > last)
    messages.extend(UserMessage(text=words) for number in later for words in between[number])
    return messages


def _arguments(call: Call) -> str:
    """As the model wrote them, where that is more than what was executed."""
    return encode_json(call.args).decode() if call.raw_args is UNSET else call.raw_args


def told(call: Call) -> str:
    """A call's outcome as the model reads it."""
    match call.status:
        case _ if call.told is not UNSET:
            return _as_text(call.told)
        case "complete":
            return _as_text(call.result)
        case "error":
            return f"Error: {call.error or 'the call failed'}"
        case "canceled":
            return "This call was canceled before it had a result."
        case "unknown":
            return (
                "It is not known whether this call took effect: the gateway stopped while it ran. "
                "Check before you repeat it."
            )
        case "ready" | "running" | "waiting":
            return "This call has no result yet."


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else encode_json(value).decode()
