"""A space in a terminal: `roomful chat`."""

from roomful.client.terminal.chat import chat

__all__ = ["chat"]
