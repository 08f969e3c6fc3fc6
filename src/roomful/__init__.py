"""Roomful: people and AI agents share spaces, and any tool call can be a live message."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roomful import testing
    from roomful.app import Gateway
    from roomful.client import Client
    from roomful.executors.python import tool

__version__ = "0.1.0"
__all__ = ["Client", "Gateway", "__version__", "testing", "tool"]

_ROOMS = {"Client": "roomful.client", "Gateway": "roomful.app", "tool": "roomful.executors.python"}


def __getattr__(name: str) -> Any:
    """The public names, loaded when they are first used: `import roomful` itself costs next to nothing."""
    if name == "testing":
        return importlib.import_module("roomful.testing")
    if name in _ROOMS:
        return getattr(importlib.import_module(_ROOMS[name]), name)
    raise AttributeError(f"module 'roomful' has no attribute {name!r}")
