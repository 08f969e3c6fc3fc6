"""A connection that can go nowhere but to the addresses that were judged."""

import socket
import ssl
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import Connection
from aiohttp.tracing import Trace

from roomful.egress.addresses import pack

_AddressInfo: TypeAlias = tuple[
    int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[Any, ...]
]


def session_to(addresses: Sequence[str], *, idle: float, tls: ssl.SSLContext) -> aiohttp.ClientSession:
    """For one request, sent once: no proxies, no cookies, no credentials from files, no connection kept."""
    connector = _Once(
        resolver=_Judged(addresses),
        socket_factory=_socket_only_to(addresses),
        use_dns_cache=False,
        force_close=True,
        ssl=tls,
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=idle, sock_read=idle),
    )


@lru_cache(maxsize=1)
def system_tls() -> ssl.SSLContext:
    """Trusts what the machine trusts. Reading all of that takes long enough to do it only once."""
    return ssl.create_default_context()


class _Once(aiohttp.TCPConnector):
    """Connects once: aiohttp sends a GET, PUT or DELETE again when the host hangs up, and we never do."""

    _used = False

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 (the library's own signature)
    ) -> Connection:
        if self._used:
            raise aiohttp.ClientConnectionError("the one connection has been used")
        self._used = True
        return await super().connect(req, traces, timeout)


class _Judged(AbstractResolver):
    """Gives aiohttp the addresses that were judged, whatever the name would resolve to by now."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._addresses
        ]

    async def close(self) -> None:
        pass


def _socket_only_to(addresses: Sequence[str]) -> Callable[[_AddressInfo], socket.socket]:
    """The last door: aiohttp asks no resolver for literal addresses, but it asks this for every socket."""
    judged = {pack(address) for address in addresses}

    def make(info: _AddressInfo) -> socket.socket:
        family, kind, proto, _, address = info
        if pack(str(address[0])) not in judged:
            raise OSError("not an address that was judged")
        made = socket.socket(family, kind, proto)
        made.setblocking(False)
        return made

    return make
