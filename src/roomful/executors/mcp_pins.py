"""What was agreed to of a server's tools: one that is described otherwise, or is new, is another."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from roomful.domain.audit import digest_of as digest_of_json
from roomful.domain.changes import ApproveTools, Change, PinTools
from roomful.domain.mcp import Pinned
from roomful.domain.ports import Store
from roomful.domain.shape import Json

_DEFINITION: Final = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")


class Pins(Protocol):
    async def agreed(self, pinned: Pinned, digests: Mapping[str, str]) -> Mapping[str, str]:
        """What is agreed to, by the tools' names. The first time that is what the server says: `digests`."""
        ...

    async def known(self, pinned: Pinned) -> Mapping[str, str] | None:
        """The same; None before the first time."""
        ...

    async def approve(
        self, pinned: Pinned, digests: Mapping[str, str], also: Sequence[Change] = ()
    ) -> None: ...


class StoredPins:
    """In the record, for all gateways."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def agreed(self, pinned: Pinned, digests: Mapping[str, str]) -> Mapping[str, str]:
        known = await self.known(pinned)
        if known is None:
            [known] = await self._store.commit([PinTools(pinned, dict(digests))])
        return known

    async def known(self, pinned: Pinned) -> Mapping[str, str] | None:
        return await self._store.mcp_pins(pinned)

    async def approve(self, pinned: Pinned, digests: Mapping[str, str], also: Sequence[Change] = ()) -> None:
        await self._store.commit([ApproveTools(pinned, dict(digests)), *also])


def digest_of(definition: Mapping[str, Json]) -> str:
    """SHA-256 of all that a model or a person is told of a tool, whatever the order of its keys."""
    return digest_of_json({key: definition.get(key) for key in _DEFINITION})
