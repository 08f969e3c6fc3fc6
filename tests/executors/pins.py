"""What was agreed to of a server's tools, kept in memory."""

from collections.abc import Mapping, Sequence

from roomful.domain.changes import Change
from roomful.domain.mcp import Pinned


class MemoryPins:
    """As long as the process lives."""

    def __init__(self) -> None:
        self._digests: dict[Pinned, dict[str, str]] = {}

    async def agreed(self, pinned: Pinned, digests: Mapping[str, str]) -> Mapping[str, str]:
        return self._digests.setdefault(pinned, dict(digests))

    async def known(self, pinned: Pinned) -> Mapping[str, str] | None:
        return self._digests.get(pinned)

    async def approve(self, pinned: Pinned, digests: Mapping[str, str], also: Sequence[Change] = ()) -> None:
        self._digests[pinned] |= digests
