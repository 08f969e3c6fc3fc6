"""The way to a gateway: one request, or one stream, at a time. What is lost on the way is said apart from
what the gateway said, because only the first may be tried again."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar, overload
from urllib.parse import quote, urlsplit

import aiohttp
import msgspec
from yarl import URL

from roomful.client.pausing import Pauses
from roomful.client.sse import Frame, FrameReader
from roomful.domain.errors import Invalid, RoomfulError, Unavailable
from roomful.domain.reading import read_problem
from roomful.domain.shape import Json, check_id, encode_json

T = TypeVar("T")
CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 60.0
LONGEST_PROBLEM = 64 * 1024
_PASSING = frozenset({429, 502, 503, 504})
"""Answers that say: not now."""


class NotNow(Exception):
    """It may work later: no connection, a lost one, or an answer that says so. `wait` is in seconds."""

    def __init__(self, error: RoomfulError, wait: float = 0.0) -> None:
        super().__init__(error.detail)
        self.error = error
        self.wait = wait


class Request(msgspec.Struct, frozen=True, kw_only=True):
    method: str
    path: str
    body: Json = None
    query: Mapping[str, str] = {}
    key: str | None = None
    """The same key gives the same answer: with one, a POST may be sent again."""
    repeatable: bool = True
    streams: bool = False
    """A reader comes back after any fault of the server's; who wants something done is told of it."""


def path_of(*parts: str) -> str:
    """Each part is one step, whatever is in it."""
    return "/api/" + "/".join(quote(part, safe="") for part in parts)


class Connection:
    def __init__(self, url: str, token: str, *, acts_as: str | None, patience: float, silence: float) -> None:
        self._base = _checked_url(url)
        self._headers = {"authorization": f"Bearer {_checked_token(token)}", "accept": "application/json"}
        if acts_as is not None:
            self._headers["x-roomful-as"] = check_id(acts_as)
        self.patience = patience
        self._silence = silence
        self._session: aiohttp.ClientSession | None = None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                headers=self._headers, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=True
            )
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    @overload
    async def ask(self, request: Request, answer: type[T]) -> T: ...
    @overload
    async def ask(self, request: Request, answer: None) -> None: ...
    async def ask(self, request: Request, answer: type[T] | None) -> T | None:
        """The answer, decoded; an error that the gateway told, raised. What got lost is sent again, if that
        is safe, as long as there is patience."""
        pauses = Pauses(self.patience)
        while True:
            try:
                body = await self._once(request)
                break
            except NotNow as lost:
                if not request.repeatable or not await pauses.wait(lost.wait):
                    raise lost.error from None
        if answer is None:
            return None
        try:
            return msgspec.json.decode(body, type=answer)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Invalid(f"{request.path}: the answer cannot be read: {error}", malformed=True) from None

    async def _once(self, request: Request) -> bytes:
        timeout = aiohttp.ClientTimeout(total=ANSWER_SECONDS, sock_connect=CONNECT_SECONDS)
        async with self._send(request, timeout, {}) as response:
            try:
                return await response.read()
            except (aiohttp.ClientError, OSError, TimeoutError) as error:
                raise NotNow(_lost(self._base, error)) from None

    @asynccontextmanager
    async def _send(
        self, request: Request, times: aiohttp.ClientTimeout, headers: Mapping[str, str]
    ) -> AsyncGenerator[aiohttp.ClientResponse]:
        """The answer to a request that the gateway accepted. A redirect would carry the token elsewhere and
        is none of its answers."""
        more = dict(headers)
        if request.key is not None:
            more["idempotency-key"] = request.key
        data = None
        if request.body is not None:
            data, more["content-type"] = encode_json(request.body), "application/json"
        url = URL(self._base + request.path, encoded=True).with_query(dict(request.query))
        try:
            response = await self._open().request(
                request.method, url, data=data, headers=more, timeout=times, allow_redirects=False
            )
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise NotNow(_lost(self._base, error)) from None
        try:
            if response.status >= 300:
                raise await self._refusal(request, response)
            yield response
        finally:
            if response.content.at_eof():
                response.release()
            else:
                response.close()

    async def _refusal(self, request: Request, response: aiohttp.ClientResponse) -> Exception:
        wait = _seconds(response.headers.get("retry-after"))
        try:
            body = await response.content.read(LONGEST_PROBLEM)
        except (aiohttp.ClientError, OSError, TimeoutError):
            body = b""
        error = read_problem(response.status, body, wait or 1.0)
        passes = response.status in _PASSING or (request.streams and response.status >= 500)
        return NotNow(error, wait) if passes else error

    @asynccontextmanager
    async def stream(self, request: Request, last: str | None = None) -> AsyncGenerator["Stream"]:
        headers = {"accept": "text/event-stream", "accept-encoding": "identity"}
        if last is not None:
            headers["last-event-id"] = last
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=self._silence)
        async with self._send(request, timeout, headers) as response:
            if response.content_type != "text/event-stream":
                raise NotNow(Unavailable(f"{self._base} answered with {response.content_type}, not a stream"))
            yield Stream(self._base, response)


class Stream:
    """An open stream of frames."""

    def __init__(self, base: str, response: aiohttp.ClientResponse) -> None:
        self._base = base
        self._response = response
        self._reader = FrameReader()

    async def read(self) -> list[Frame] | None:
        """The frames that came, perhaps none yet; None when the gateway ended the stream."""
        try:
            chunk = await self._response.content.readany()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise NotNow(_lost(self._base, error)) from None
        return self._reader.feed(chunk) if chunk else None


def _lost(base: str, error: Exception) -> Unavailable:
    words = str(error) or type(error).__name__
    return Unavailable(f"no answer from {base}: {words}")


def _seconds(text: str | None) -> float:
    """Of a Retry-After; a date is not understood and counts as none."""
    return float(text) if text is not None and text.isascii() and text.isdigit() else 0.0


def _checked_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise Invalid(f"{url[:200]!r} is not the address of a gateway: write http://host:port")
    if parts.username or parts.password:
        raise Invalid("an address with a password in it ends up in logs: give the token by itself")
    return url.rstrip("/")


def _checked_token(token: str) -> str:
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise Invalid("the token is empty or has characters in it that no token has")
    return token


def as_query(**values: Any) -> dict[str, str]:
    """Those that were given."""
    return {name: str(value) for name, value in values.items() if value is not None}
