"""Any server that speaks OpenAI's Chat Completions, streamed. No retries: the run decides about those."""

import asyncio
import ssl
from collections.abc import Callable, Sequence
from contextvars import copy_context
from functools import lru_cache

import msgspec
from yarl import URL

from roomful.domain.deltas import ModelDelta, ModelFailed, ModelRequest
from roomful.domain.errors import Invalid, RoomfulError
from roomful.domain.ports import Hear
from roomful.models import faults
from roomful.models.answer import Answer
from roomful.models.chunks import encode_request
from roomful.models.connections import CONNECT_SECONDS, Connection, Connections, NoHttp

OWN_BASE_URL = "https://api.openai.com/v1"
ERROR_BYTES = 4096
ERROR_SECONDS = 1.0
LAST_LOOK_SECONDS = 0.01


class OpenAIModel:
    """The connections of all models of this wire.

    `operator_key` goes to OpenAI's own address only: a model that names a `baseUrl` gets the key that it
    names with it, or none. Canceling `ask` closes the connection at once.
    """

    def __init__(self, *, resolve_secret: Callable[[str], str], operator_key: str | None = None) -> None:
        self._resolve_secret = resolve_secret
        self._operator_key = operator_key
        self._connections = Connections()

    async def ask(self, request: ModelRequest, hear: Hear) -> None:
        key = self._key(request)
        url = completions_url(request.ref.base_url or OWN_BASE_URL)
        asked = _wire_request(url, key, encode_request(request))
        connection = await self._connected(request, url)
        answer = _Answering(request, key, url, hear)
        connection.ask(asked, answer)
        try:
            await answer.over
        except BaseException:
            connection.drop(answer)
            raise
        finally:
            answer.stop()
        connection.leave(answer)

    async def close(self) -> None:
        self._connections.close()

    async def _connected(self, request: ModelRequest, url: URL) -> Connection:
        model = request.ref.name
        patience = asyncio.timeout(request.silence_seconds)
        try:
            async with patience:
                return await self._connections.to(url)
        except ssl.SSLError as error:
            raise faults.unreachable(model, f"TLS failed ({type(error).__name__})", retry=False) from None
        except (OSError, UnicodeError) as error:
            if patience.expired():
                raise faults.silent(model, request.silence_seconds) from None
            raise faults.unreachable(model, _why(error, url)) from None

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


class _Answering:
    """One answer, told on as it comes. `over` is done when nothing more is to be read of it.

    It is over too when nothing was heard for too long: bytes that say nothing are silence. Hearing re-arms
    no timer: the one timer looks when something was heard last.
    """

    def __init__(self, request: ModelRequest, key: str, url: URL, hear: Hear) -> None:
        self._request = request
        self._key = key
        self._url = url
        self._hear = hear
        self._in_context = copy_context().run
        self._answer = Answer(request.ref.name, [tool.name for tool in request.tools], key)
        self._status = 0
        self._is_refused = False
        self._error = b""
        self._loop = asyncio.get_running_loop()
        self.over: asyncio.Future[None] = self._loop.create_future()
        self._heard_at = self._loop.time()
        self._is_last_look = False
        self._timer = self._loop.call_later(request.silence_seconds, self._look)

    def stop(self) -> None:
        self._timer.cancel()

    def begin(self, status: int) -> None:
        self._status = status
        if status // 100 != 2:
            self._is_refused = True
            self._timer.cancel()
            self._timer = self._loop.call_later(ERROR_SECONDS, self._fail_by_status)

    def hear(self, data: bytes) -> None:
        if self._is_refused:
            self._error += data
            if len(self._error) >= ERROR_BYTES:
                self._fail_by_status()
        elif not self.over.done():
            more = self._answer.more(data)
            if more is None:
                self._tell(self._answer.feed(data))
            else:
                self._pass_on([more])

    def end(self, why: Exception | None) -> None:
        model = self._request.ref.name
        if not self._status:
            self._fail(
                faults.garbage(model, "it does not speak HTTP")
                if isinstance(why, NoHttp)
                else faults.unreachable(model, f"{_where(self._url)} closed the connection without an answer")
            )
        elif self._is_refused:
            self._fail_by_status()
        elif not self.over.done():
            self._tell(self._answer.finish())

    def _tell(self, batch: Sequence[ModelDelta]) -> None:
        if batch and not self._pass_on(batch):
            return
        if self._answer.fault is not None:
            self._fail(self._answer.fault)
        elif self._answer.ended:
            self.over.set_result(None)

    def _pass_on(self, batch: Sequence[ModelDelta]) -> bool:
        self._heard_at = self._loop.time()
        try:
            self._in_context(self._hear, batch)
        except Exception as error:  # noqa: BLE001 (whoever asked gets it)
            self._fail(error)
            return False
        return True

    def _look(self) -> None:
        """Whoever did not come to read for so long reads first what is there."""
        left = self._heard_at + self._request.silence_seconds - self._loop.time()
        if left > 0 or not self._is_last_look:
            self._is_last_look = left <= 0
            self._timer = self._loop.call_later(max(left, LAST_LOOK_SECONDS), self._look)
        else:
            fault = faults.silent(self._request.ref.name, self._request.silence_seconds)
            if self._status:
                self._tell(self._answer.finish(fault))
            else:
                self._fail(fault)

    def _fail_by_status(self) -> None:
        words = _error_message(self._error[:ERROR_BYTES])
        said = faults.excerpt(words, self._key, self._request.ref.model)
        self._fail(faults.status_fault(self._request.ref.name, self._status, said))

    def _fail(self, error: Exception) -> None:
        if not self.over.done():
            self.over.set_exception(error)


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


def _wire_request(url: URL, key: str, body: bytes) -> bytes:
    authorization = f"Authorization: Bearer {key}\r\n" if key else ""
    head = (
        f"POST {url.raw_path_qs} HTTP/1.1\r\nHost: {url.host_port_subcomponent}\r\n"
        "User-Agent: roomful\r\nAccept: text/event-stream\r\nAccept-Encoding: identity\r\n"
        f"{authorization}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _why(error: OSError | UnicodeError, url: URL) -> str:
    reason = error.strerror if isinstance(error, OSError) else None
    if isinstance(error, TimeoutError) and not reason:
        return f"{_where(url)} did not accept the connection in {CONNECT_SECONDS:g} s"
    return f"{_where(url)}, {reason or type(error).__name__}"


def _where(url: URL) -> str:
    return f"{url.host}:{url.port}"


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
