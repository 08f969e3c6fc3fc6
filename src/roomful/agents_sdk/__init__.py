"""For agents outside the gateway: a tool of the OpenAI Agents SDK to take part in conversations with."""

from typing import TYPE_CHECKING, Any

from roomful.agents_sdk.sending import get_bus, send_message, set_bus_for_testing

if TYPE_CHECKING:
    from roomful.agents_sdk.tool import chat_send

__all__ = ["chat_send", "get_bus", "send_message", "set_bus_for_testing"]


def __getattr__(name: str) -> Any:
    """The tool needs the SDK and is loaded when it is first used; `send_message` works without."""
    if name != "chat_send":
        raise AttributeError(f"module 'roomful.agents_sdk' has no attribute {name!r}")
    from roomful.agents_sdk.tool import chat_send

    return chat_send
