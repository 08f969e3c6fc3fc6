"""What a server said of its tools when it was first heard: a tool that is described otherwise is another."""

import hashlib
from typing import Final, Protocol

import msgspec

from roomful.domain.shape import Json

_DEFINITION: Final = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
_encode = msgspec.json.Encoder(order="deterministic").encode


class Pins(Protocol):
    """Remembers one digest for each tool of each server of each agent. An operator approves a changed
    definition by setting its digest."""

    async def get(self, agent_id: str, server: str, tool: str) -> str | None: ...
    async def set(self, agent_id: str, server: str, tool: str, digest: str) -> None: ...


class MemoryPins:
    """As long as the process lives."""

    def __init__(self) -> None:
        self._digests: dict[tuple[str, str, str], str] = {}

    async def get(self, agent_id: str, server: str, tool: str) -> str | None:
        return self._digests.get((agent_id, server, tool))

    async def set(self, agent_id: str, server: str, tool: str, digest: str) -> None:
        self._digests[agent_id, server, tool] = digest


def digest_of(definition: dict[str, Json]) -> str:
    """SHA-256 of all that a model or a person is told of a tool, whatever the order of its keys."""
    return hashlib.sha256(_encode({key: definition.get(key) for key in _DEFINITION})).hexdigest()
