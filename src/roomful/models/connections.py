"""HTTP/1.1 to a provider. What it answers is told in the moment it is read: no task wakes for every piece."""

import asyncio
import socket
import ssl
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Protocol, cast

import aiohappyeyeballs
import httptools
from yarl import URL

CONNECT_SECONDS = 30.0
IDLE_SECONDS = 30.0
LINGER_SECONDS = 1.0
HEAD_LIMIT = 64 * 1024
_SECOND_ADDRESS_AFTER = 0.25
_ZLIB_OR_GZIP = 47


class NoHttp(Exception):
    """What came is no answer by HTTP."""


class Listener(Protocol):
    """Whoever asked. None of these may raise."""

    def begin(self, status: int) -> None: ...
    def hear(self, data: bytes) -> None: ...
    def end(self, why: Exception | None) -> None:
        """The answer is over, or breaks off. Not called for an answer that was left."""
        ...


class Connections:
    """Kept open for a while, for the next request to the same place."""

    def __init__(self) -> None:
        self._idle: dict[URL, dict[Connection, asyncio.TimerHandle]] = {}
        self._open: set[Connection] = set()

    async def to(self, url: URL) -> "Connection":
        """One for a single request. Raises OSError, of which TimeoutError and ssl.SSLError are."""
        idle = self._idle.get(url)
        while idle:
            connection, timer = idle.popitem()
            timer.cancel()
            if connection.is_open:
                return connection
        connection = await _connected(url, self._free)
        self._open.add(connection)
        return connection

    def close(self) -> None:
        for connection in list(self._open):
            connection.close()
        for idle in self._idle.values():
            for timer in idle.values():
                timer.cancel()
        self._idle.clear()

    def _free(self, connection: "Connection") -> None:
        if not connection.is_open:
            self._open.discard(connection)
            return
        loop = asyncio.get_running_loop()
        idle = self._idle.setdefault(connection.url, {})
        idle[connection] = loop.call_later(IDLE_SECONDS, self._close_idle, connection)

    def _close_idle(self, connection: "Connection") -> None:
        self._idle[connection.url].pop(connection, None)
        connection.close()


class Connection(asyncio.Protocol):
    def __init__(self, url: URL, on_free: Callable[["Connection"], None]) -> None:
        """One request at a time. `on_free` is called when it can take another, and when it is closed."""
        self.url = url
        self._on_free = on_free
        self._transport: asyncio.Transport | None = None
        self._pieces: list[bytes] = []
        self.on_body = self._pieces.append
        self._parser = httptools.HttpResponseParser(self)
        self._listener: Listener | None = None
        self._lingering: asyncio.TimerHandle | None = None
        self._is_used = False
        self._head = 0
        self._status = 0
        self._encoding = b""
        self._inflate: Callable[[bytes], bytes] | None = None
        self._is_whole = False
        self._is_kept = False

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def ask(self, request: bytes, listener: Listener) -> None:
        assert self._transport is not None
        self._listener = listener
        self._is_used, self._is_whole = True, False
        self._head = self._status = 0
        self._encoding, self._inflate = b"", None
        self._transport.write(request)

    def leave(self, listener: Listener) -> None:
        """It has heard all it needs. If the answer is not closed yet, that is waited for, not for long."""
        if self._listener is listener:
            self._listener = None
            self._lingering = asyncio.get_running_loop().call_later(LINGER_SECONDS, self.close)

    def drop(self, listener: Listener) -> None:
        """It does not want the rest, if there is any."""
        if self._listener is listener:
            self.close()

    def close(self) -> None:
        self._listener = None
        if self._transport is not None:
            self._transport.abort()

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if not self._is_used:
            self.close()
            return
        broken: Exception | None = None
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            broken = NoHttp()
        if not self._status:
            self._head += len(data)
            if self._head > HEAD_LIMIT:
                broken = NoHttp()
        if self._pieces:
            told = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
            self._pieces.clear()
            if self._listener is not None and (self._inflate is None or (told := self._inflated(told))):
                self._listener.hear(told)
        if broken is not None:
            self._break(broken)
        elif self._is_whole:
            self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_lingering()
        listener, self._listener = self._listener, None
        self._is_used = False
        if listener is not None:
            listener.end(exc or ConnectionResetError())
        self._on_free(self)

    # What the parser calls, besides `on_body`.

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"content-encoding":
            self._encoding = value.strip().lower()

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200:
            self._status = status
            if self._encoding not in (b"", b"identity"):
                self._inflate = zlib.decompressobj(_ZLIB_OR_GZIP).decompress
            if self._listener is not None:
                self._listener.begin(status)

    def on_message_complete(self) -> None:
        self._is_whole = self._status != 0
        self._is_kept = self._parser.should_keep_alive()

    def _inflated(self, data: bytes) -> bytes:
        assert self._inflate is not None
        try:
            return self._inflate(data)
        except zlib.error:
            self._break(NoHttp())
            return b""

    def _break(self, why: Exception) -> None:
        if (listener := self._listener) is not None:
            self._listener = None
            listener.end(why)
        self.close()

    def _end(self) -> None:
        self._stop_lingering()
        self._is_used = False
        listener, self._listener = self._listener, None
        if self._is_kept:
            self._on_free(self)
        else:
            self.close()
        if listener is not None:
            listener.end(None)

    def _stop_lingering(self) -> None:
        if self._lingering is not None:
            self._lingering.cancel()
            self._lingering = None


async def _connected(url: URL, on_free: Callable[[Connection], None]) -> Connection:
    assert url.raw_host is not None
    loop = asyncio.get_running_loop()
    tls = await asyncio.to_thread(system_tls) if url.scheme == "https" else None
    async with asyncio.timeout(CONNECT_SECONDS):
        found = await loop.getaddrinfo(url.raw_host, url.port, type=socket.SOCK_STREAM)
        sock = await aiohappyeyeballs.start_connection(  # pyright: ignore[reportUnknownMemberType] - its own tuples
            found, happy_eyeballs_delay=_SECOND_ADDRESS_AFTER, interleave=1
        )
        try:
            _, connection = await loop.create_connection(
                lambda: Connection(url, on_free),
                sock=sock,
                ssl=tls,
                server_hostname=url.raw_host if tls is not None else None,
            )
        except BaseException:
            sock.close()
            raise
    return connection


@lru_cache(maxsize=1)
def system_tls() -> ssl.SSLContext:
    """Trusts what the machine trusts. Reading all of that takes long enough to do it only once."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
