"""Roomful: people and AI agents share spaces, and any tool call can be a live message."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roomful.app import Gateway
    from roomful.client import Client
    from roomful.executors.python import tool

__version__ = "0.1.0"
__all__ = ["Client", "Gateway", "__version__", "tool"]


def __getattr__(name: str) -> Any:
    """The public names, loaded when they are first used: `import roomful` itself costs next to nothing."""
    if name == "tool":
        from roomful.executors.python import tool

        return tool
    if name == "Gateway":
        from roomful.app import Gateway

        return Gateway
    if name == "Client":
        from roomful.client import Client

        return Client
    raise AttributeError(f"module 'roomful' has no attribute {name!r}")
