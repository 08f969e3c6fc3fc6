"""The client. Every hop of every request takes the same door: parse, judge, resolve once, connect there.

The library that connects is loaded by the first request: it is a quarter of a start."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final

from roomful.domain.outbound import (
    EgressFailed,
    EgressRefused,
    OutboundRequest,
    OutboundResponse,
    OutboundStream,
)
from roomful.egress import bodies
from roomful.egress.addresses import is_public, pack
from roomful.egress.hops import REDIRECTS, Hop
from roomful.egress.resolving import Resolve, SystemResolver
from roomful.egress.urls import Target, parse_allowed

if TYPE_CHECKING:
    import aiohttp

PORTS: Final = frozenset({80, 443, 8080, 8443})
MAX_BODY: Final = 10 * 1024 * 1024
_MAX_REDIRECTS: Final = 10
_MAX_ADDRESSES: Final = 16
_HOW_TO_ALLOW: Final = "the operator can allow its host:port in ROOMFUL_ALLOW_HOSTS"


class HttpEgress:
    """The Egress port over aiohttp.

    `allow` holds the operator's `host:port` pairs: there, and only there, any address and port is right.
    A connection serves one request, so nothing is shared between tools. `close` it when done.
    """

    def __init__(
        self,
        *,
        allow: Iterable[str] = (),
        resolve: Resolve | None = None,
        ports: Iterable[int] = PORTS,
        max_body: int = MAX_BODY,
        idle: float = 15.0,
        concurrent: int = 64,
        tls: ssl.SSLContext | None = None,
        on_refused: Callable[[], None] = lambda: None,
    ) -> None:
        self._allow = frozenset(parse_allowed(pair) for pair in allow)
        self._system = SystemResolver()
        self._resolve: Resolve = resolve or self._system
        self._ports = frozenset(ports)
        self._max_body = max_body
        self._idle = idle
        self._slots = asyncio.Semaphore(concurrent)
        self._tls = tls
        self._on_refused = on_refused

    async def warm(self) -> None:
        """Loads ahead what the first request would have to wait for."""
        await asyncio.to_thread(_system_tls)

    def close(self) -> None:
        self._system.close()

    async def send(self, request: OutboundRequest) -> OutboundResponse:
        async with _within(request.timeout), self._slots, self._opened(request) as stream:
            body = await bodies.gather(stream.chunks(), self._max_body)
            return OutboundResponse(stream.status, stream.headers, body)

    @asynccontextmanager
    async def stream(self, request: OutboundRequest) -> AsyncGenerator[OutboundStream, None]:
        """The body comes in pieces of at most 64 KiB; how many of them to take is the reader's decision."""
        async with _within(request.timeout), self._opened(request) as stream:
            yield stream

    @asynccontextmanager
    async def _opened(self, request: OutboundRequest) -> AsyncGenerator[_Stream, None]:
        async with AsyncExitStack() as stack:
            try:
                stream = await stack.enter_async_context(self._reached(request))
            except EgressRefused:
                self._on_refused()
                raise
            yield stream

    @asynccontextmanager
    async def _reached(self, request: OutboundRequest) -> AsyncGenerator[_Stream, None]:
        hop = Hop.first(request)
        left = min(request.redirects, _MAX_REDIRECTS)
        while True:
            async with AsyncExitStack() as stack:
                response = await self._answer(stack, hop)
                if response.status not in REDIRECTS or not request.redirects:
                    yield _Stream(response)
                    return
                location = response.headers.get("location", "")
            if not left:
                raise EgressFailed("the host redirects too often")
            left -= 1
            hop = hop.redirected(response.status, location)

    async def _answer(self, stack: AsyncExitStack, hop: Hop) -> aiohttp.ClientResponse:
        from roomful.egress import connecting, faults

        addresses = await self._judge(hop.target)
        opened = connecting.session_to(addresses, idle=self._idle, tls=self._tls or _system_tls())
        session = await stack.enter_async_context(opened)
        with faults.told():
            response = await stack.enter_async_context(
                session.request(
                    hop.method,
                    hop.url,
                    headers=hop.sent_headers,
                    skip_auto_headers=("Content-Type",),
                    data=hop.body,
                    allow_redirects=False,
                )
            )
        if response.status < 200:
            raise EgressFailed("the host wants to speak another protocol than HTTP")
        return response

    async def _judge(self, target: Target) -> list[str]:
        """The addresses of the host, all of them right: one that is not spoils the others."""
        allowed = target.authority in self._allow
        if not allowed and target.port not in self._ports:
            raise EgressRefused(f"port {target.port} is not open to tools; {_HOW_TO_ALLOW}")
        addresses = await self._look_up(target)
        packed = [pack(address) for address in addresses]
        if not packed or not all(one is not None and (allowed or is_public(one)) for one in packed):
            # One sentence for both cases: a model must not learn which inner names exist.
            raise EgressRefused(f"the host is unknown or its address is not public; {_HOW_TO_ALLOW}")
        return addresses[:_MAX_ADDRESSES]

    async def _look_up(self, target: Target) -> list[str]:
        try:
            return list(dict.fromkeys(await self._resolve(target.host, target.port)))
        except (OSError, ValueError):
            return []


class _Stream:
    """An answer whose head has come."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = _plain_headers(response)
        self._received = response.content.iter_chunked(bodies.PIECE)

    async def chunks(self) -> AsyncIterator[bytes]:
        from roomful.egress import faults

        with faults.told():
            async for piece in bodies.decode(self._received, self.headers.get("content-encoding", "")):
                yield piece


def _system_tls() -> ssl.SSLContext:
    from roomful.egress.connecting import system_tls

    return system_tls()


def _plain_headers(response: aiohttp.ClientResponse) -> dict[str, str]:
    plain: dict[str, str] = {}
    for name, value in response.headers.items():
        text = value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        known = plain.get(name.lower())
        plain[name.lower()] = text if known is None else f"{known}, {text}"
    return plain


@asynccontextmanager
async def _within(seconds: float | None) -> AsyncGenerator[None, None]:
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            yield
    except TimeoutError:
        if limit.expired():
            raise EgressFailed(f"no complete answer within {seconds:g} s") from None
        raise
