"""The only way out for tools, as a port."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

import msgspec

from roomful.domain.errors import RoomfulError

OWN_HEADERS: Final = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te", "trailer"}
    | {"expect", "proxy-authorization", "proxy-connection"}
)
"""Those that whoever sends a request writes; a tool cannot set them."""


class EgressRefused(RoomfulError):
    """The request was never sent: its URL, port, address, method or headers are not allowed."""

    code = "forbidden"


class EgressFailed(RoomfulError):
    """The request was sent, or tried, and no usable answer came."""

    code = "unavailable"


class OutboundRequest(msgspec.Struct, frozen=True):
    method: str
    url: str
    headers: Mapping[str, str] = {}
    body: bytes | None = None
    timeout: float | None = 30.0
    """Seconds for everything together; None bounds only the silence between two bytes."""
    redirects: int = 0
    """How many to follow; each is judged like a first URL, and takes no secret to another origin."""


class OutboundResponse(msgspec.Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    """Names in lower case; of a repeated header the values joined by a comma."""
    body: bytes
    """Decompressed."""


class OutboundStream(Protocol):
    status: int
    headers: Mapping[str, str]

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives, decompressed. Raises EgressFailed."""
        ...


class Egress(Protocol):
    """The only way out for tools.

    A host is resolved once and the connection goes to an address that was judged; private ones are reached
    only where the operator allowed `host:port`. Answers are bounded in size and time, cookies are not kept.
    Raises EgressRefused and EgressFailed, whose sentences a model may read.
    """

    async def send(self, request: OutboundRequest) -> OutboundResponse: ...
    def stream(self, request: OutboundRequest) -> AbstractAsyncContextManager[OutboundStream]: ...
