"""`chat_send` as a function tool of the OpenAI Agents SDK."""

from collections.abc import Mapping
from typing import Any, cast

from roomful.agents_sdk.sending import Sent, send_message
from roomful.domain.errors import RoomfulError

try:
    from agents import RunContextWrapper, function_tool
except ImportError as error:
    raise ImportError("chat_send needs another package: pip install 'roomful[agents-sdk]'.") from error


def _told(context: RunContextWrapper[Any], error: Exception) -> str:
    """What the model hears of a failure: a sentence it can act on, and nothing of anybody else's errors."""
    if isinstance(error, ValueError | RoomfulError):
        return f"The message was not sent: {error}"
    return "The message was not sent: something went wrong. Do not try again at once."


@function_tool(failure_error_function=_told)
def chat_send(
    context: RunContextWrapper[Any], recipient: str, content: str, conversation_id: str | None = None
) -> Sent:
    """Send a chat message to a conversation or an agent.

    Args:
        recipient: "chat:{conversation_id}" or "agent:{AgentName}".
        content: The text of the message, not empty.
        conversation_id: For "agent:" only: the conversation it belongs to; null for the current one.
    """
    return send_message(recipient, content, conversation_id=conversation_id, context=_fields(context.context))


def _fields(context: object) -> Mapping[str, Any]:
    """A run's context is whatever the agent's author chose: a mapping, or an object with attributes."""
    if isinstance(context, Mapping):
        return cast("Mapping[str, Any]", context)
    return {"conversation_id": getattr(context, "conversation_id", None)}
