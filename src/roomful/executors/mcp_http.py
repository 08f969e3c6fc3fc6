"""The SDK's HTTP, through the one way out: every request is judged and sent by Egress."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Final

import anyio
import httpx2

from roomful.domain.errors import RoomfulError
from roomful.domain.outbound import Egress, EgressFailed, OutboundRequest, OutboundStream
from roomful.executors.mcp_results import LARGEST_RESULT

_LONGEST: Final = 600.0
_PARTING: Final = 3.0
"""Seconds for the request that ends a session."""
_EGRESS_SETS: Final = frozenset({"host", "connection", "content-length", "accept-encoding", "user-agent"})
_PASSED_ON: Final = ("content-type", "location", "mcp-session-id")
_SESSION: Final = "mcp-session-id"
_NOT_SENT: Final = 502


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Never raises for what a host can do wrong: the SDK gets a JSON-RPC error to give to the one who asked,
    where an exception would end the session of all. `headers` is asked for every request."""

    def __init__(self, egress: Egress, headers: Callable[[], Mapping[str, str]]) -> None:
        self._egress = egress
        self._headers = headers
        self.lost_session = False
        """The server no longer knows the session: what was asked was not done."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET" and "last-event-id" not in request.headers:
            return httpx2.Response(405)  # the stream of what a server says unasked: nobody would listen
        body = await request.aread()
        stack = AsyncExitStack()
        try:
            async with stack:
                outbound = self._outbound(request, body)
                stream = await stack.enter_async_context(self._egress.stream(outbound))
                return await self._answer(request, stream, stack)
        except RoomfulError as error:
            return _failed(error.detail)

    def _outbound(self, request: httpx2.Request, body: bytes) -> OutboundRequest:
        ours = {name: value for name, value in request.headers.items() if name not in _EGRESS_SETS}
        authors = {name: value for name, value in self._headers().items() if name.lower() not in ours}
        return OutboundRequest(
            request.method,
            str(request.url),
            {**authors, **ours},
            body or None,
            timeout=_PARTING if request.method == "DELETE" else _LONGEST,
        )

    async def _answer(
        self, request: httpx2.Request, stream: OutboundStream, stack: AsyncExitStack
    ) -> httpx2.Response:
        headers = {name: stream.headers[name] for name in _PASSED_ON if name in stream.headers}
        kind = headers.get("content-type", "").lower()
        if stream.status == 404 and _SESSION in request.headers:
            self.lost_session = True
        if stream.status >= 400 and not kind.startswith("application/json"):
            return _failed(f"the server answered HTTP {stream.status}", stream.status)
        if kind.startswith("text/event-stream"):
            events = _Events(stream, stack.pop_all())
            return httpx2.Response(stream.status, headers=headers, stream=events)
        body = b"".join([piece async for piece in _bounded(stream)])
        return httpx2.Response(stream.status, headers=headers, content=body)


class _Events(httpx2.AsyncByteStream):
    def __init__(self, stream: OutboundStream, stack: AsyncExitStack) -> None:
        self._stream = stream
        self._stack = stack

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in _bounded(self._stream):
                yield piece
        except EgressFailed as error:
            raise httpx2.SSEError(error.detail) from None

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True):
            await self._stack.aclose()


async def _bounded(stream: OutboundStream) -> AsyncIterator[bytes]:
    size = 0
    async for piece in stream.chunks():
        size += len(piece)
        if size > LARGEST_RESULT:
            raise EgressFailed(f"the answer is larger than {LARGEST_RESULT // 1024 // 1024} MiB")
        yield piece


def _failed(sentence: str, status: int = _NOT_SENT) -> httpx2.Response:
    error = {"code": -32000, "message": sentence}
    return httpx2.Response(status, json={"jsonrpc": "2.0", "id": None, "error": error})
