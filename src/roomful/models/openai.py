"""Any server that speaks OpenAI's Chat Completions, streamed. No retries: the run decides about those."""

import asyncio
import io
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import lru_cache

import aiohttp
import msgspec
from multidict import CIMultiDict
from yarl import URL

from roomful.domain.deltas import ModelDelta, ModelFailed, ModelRequest
from roomful.domain.errors import Invalid, RoomfulError
from roomful.models import faults
from roomful.models.answer import Answer
from roomful.models.chunks import encode_request

OWN_BASE_URL = "https://api.openai.com/v1"
CONNECT_SECONDS = 30.0
IDLE_SECONDS = 30.0
LINGER_SECONDS = 1.0
ERROR_BYTES = 4096
ERROR_SECONDS = 1.0
_LARGE_BODY = 1024 * 1024


class OpenAIModel:
    """One HTTP session for all models of this wire, made when it is first needed.

    `operator_key` goes to OpenAI's own address only: a model that names a `baseUrl` gets the key that it
    names with it, or none. Closing the iterator of `stream` closes the connection at once.
    """

    def __init__(self, *, resolve_secret: Callable[[str], str], operator_key: str | None = None) -> None:
        self._resolve_secret = resolve_secret
        self._operator_key = operator_key
        self._session: aiohttp.ClientSession | None = None
        self._lingering: dict[aiohttp.ClientResponse, asyncio.TimerHandle] = {}

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Sequence[ModelDelta], None]:
        key = self._key(request)
        answer = Answer(request.ref.name, [tool.name for tool in request.tools], key)
        response = await self._ask(request, key)
        watch = _Watch(response, request.silence_seconds)
        try:
            while not answer.ended:
                try:
                    data = await watch.read()
                except (aiohttp.ClientError, OSError):
                    fault = (
                        faults.silent(request.ref.name, request.silence_seconds) if watch.expired else None
                    )
                    batch = answer.finish(fault)
                else:
                    batch = answer.feed(data) if data else answer.finish()
                if batch:
                    watch.heard()
                    yield batch
            if answer.fault is not None:
                raise answer.fault
            self._linger(response)
        finally:
            watch.stop()
            if response not in self._lingering:
                response.close()

    def warm(self) -> None:
        """Makes the session ahead of the first request. Needs a running event loop."""
        self._open_session()

    async def close(self) -> None:
        for response, timer in self._lingering.items():
            timer.cancel()
            response.close()
        self._lingering.clear()
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    async def _ask(self, request: ModelRequest, key: str) -> aiohttp.ClientResponse:
        model = request.ref.name
        url = completions_url(request.ref.base_url or OWN_BASE_URL)
        body = encode_request(request)
        headers = CIMultiDict({"Content-Type": "application/json", "Accept": "text/event-stream"})
        if key:
            headers["Authorization"] = f"Bearer {key}"
        try:
            async with asyncio.timeout(request.silence_seconds):
                response = await self._open_session().post(
                    url,
                    data=body if len(body) < _LARGE_BODY else io.BytesIO(body),
                    headers=headers,
                    allow_redirects=False,
                )
        except aiohttp.ClientSSLError as error:
            raise faults.unreachable(model, f"TLS failed ({type(error).__name__})", retry=False) from None
        except aiohttp.ClientResponseError:
            raise faults.garbage(model, "it does not speak HTTP") from None
        except (aiohttp.ClientError, OSError) as error:
            if isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ClientError):
                raise faults.silent(model, request.silence_seconds) from None
            raise faults.unreachable(model, _why(error, url)) from None
        if response.status // 100 != 2:
            raise await _status_fault(request, response, key)
        return response

    def _key(self, request: ModelRequest) -> str:
        """The key to send, or nothing."""
        ref = request.ref
        try:
            if ref.api_key is not None:
                key = self._resolve_secret(ref.api_key).strip()
            else:
                key = (self._operator_key or "").strip() if ref.base_url is None else ""
        except RoomfulError as error:
            raise ModelFailed(
                "model_refused", f"The key of {ref.name} cannot be had: {error.detail}"
            ) from None
        if not key and ref.base_url is None:
            raise ModelFailed(
                "model_refused", f"{ref.name} needs a key: give the model an apiKey, or a baseUrl of your own"
            )
        if not (key.isascii() and key.isprintable()):
            raise ModelFailed("model_refused", f"The key of {ref.name} has characters that no key can have")
        return key

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
                headers={"User-Agent": "roomful", "Accept-Encoding": "identity"},
            )
        return self._session

    def _linger(self, response: aiohttp.ClientResponse) -> None:
        """The answer is whole, but the server may not have closed it yet: the connection goes back to the
        pool by itself when it does, and is closed if it does not do so soon."""
        if not response.content.is_eof():
            loop = asyncio.get_running_loop()
            self._lingering[response] = loop.call_later(LINGER_SECONDS, self._forget, response)

    def _forget(self, response: aiohttp.ClientResponse) -> None:
        del self._lingering[response]
        response.close()


class _Watch:
    """Reads a response, and closes it when reading waits too long for something that is `heard`: bytes that
    say nothing are silence. Reading re-arms no timer: the one timer looks when the present wait began."""

    def __init__(self, response: aiohttp.ClientResponse, seconds: float) -> None:
        self.expired = False
        self._response = response
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._waits_since: float | None = None
        self._timer = self._loop.call_later(seconds, self._look)

    async def read(self) -> bytes:
        if self._waits_since is None:
            self._waits_since = self._loop.time()
        return await self._response.content.readany()

    def heard(self) -> None:
        self._waits_since = None

    def stop(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        left = self._seconds
        if self._waits_since is not None:
            left += self._waits_since - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._look)
        else:
            self.expired = True
            self._response.close()


@lru_cache(maxsize=256)
def completions_url(base_url: str) -> URL:
    """Raises Invalid for what is no address of a server."""
    try:
        base = URL(base_url)
    except ValueError:
        base = URL()
    if base.scheme not in ("http", "https") or not base.host:
        raise Invalid(
            f"a model's baseUrl must look like http://host:port/v1, and {base_url[:200]!r} does not"
        )
    if base.user is not None or base.password is not None:
        raise Invalid("a model's baseUrl must not hold a name or a password: use apiKey")
    return (base / "chat" / "completions").with_query(base.query)


def _why(error: Exception, url: URL) -> str:
    where = f"{url.host}:{url.port}"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return f"{where} closed the connection without an answer"
    if isinstance(error, TimeoutError):
        return f"{where} did not accept the connection in {CONNECT_SECONDS:g} s"
    reason = error.strerror if isinstance(error, OSError) else None
    return f"{where}, {reason or type(error).__name__}"


async def _status_fault(request: ModelRequest, response: aiohttp.ClientResponse, key: str) -> ModelFailed:
    said = b""
    try:
        async with asyncio.timeout(ERROR_SECONDS):
            while len(said) < ERROR_BYTES and (data := await response.content.readany()):
                said += data
    except (aiohttp.ClientError, OSError):
        pass  # the status says enough
    finally:
        response.close()
    words = faults.excerpt(_error_message(said[:ERROR_BYTES]), key, request.ref.model)
    return faults.status_fault(request.ref.name, response.status, words)


class _ErrorDetail(msgspec.Struct):
    message: str = ""


class _ErrorBody(msgspec.Struct):
    error: _ErrorDetail | str = ""
    message: str = ""


def _error_message(body: bytes) -> str:
    """What the provider says about the error; nothing of a page that is meant for browsers."""
    try:
        found = msgspec.json.decode(body, type=_ErrorBody)
    except (ValueError, RecursionError):
        text = body.decode("utf-8", "replace")
        return "" if text.lstrip().startswith(("<", "{", "[")) else text
    return (found.error if isinstance(found.error, str) else found.error.message) or found.message
