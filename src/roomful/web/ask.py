"""A request on its way to its handler, and the rows of which the route table is made."""

import dataclasses
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import msgspec
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive

from roomful.domain.audit import AuditAction
from roomful.domain.changes import Change, Recall
from roomful.domain.entities import Principal
from roomful.domain.errors import Conflict, Invalid
from roomful.domain.ports import Store
from roomful.domain.shape import encode_json
from roomful.web.auth import Credential
from roomful.web.bodies import BODY_LIMIT
from roomful.web.desk import Desk
from roomful.web.headers import API_HEADERS
from roomful.web.house import House
from roomful.web.queries import NoQuery, Query
from roomful.web.rules import Params, Rule

B = TypeVar("B")
Q = TypeVar("Q", bound=Query)
T = TypeVar("T")

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
KEY_LIMIT = 200
_ENCODED_HEADERS = [(name.encode(), value.encode()) for name, value in API_HEADERS.items()]


class Body(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What a route may be sent."""


class Once(msgspec.Struct, frozen=True):
    """A request with an idempotency key: asked again, it is answered as it was the first time."""

    owner: str
    key: str
    digest: bytes

    async def answer(self, store: Store) -> Response | None:
        known = await store.known_answer(self.owner, self.key)
        if known is None:
            return None
        if known.digest != self.digest:
            raise Conflict("this idempotency key was used for a different request: use a new key")
        headers = API_HEADERS | {"idempotent-replay": "true"}
        return Response(known.answer, known.status, headers, "application/json")


@dataclasses.dataclass(slots=True)
class Ask(Generic[B, Q, T]):
    """`B` is what was sent, `Q` what the address asks, `T` what the route is about."""

    desk: Desk
    principal: Principal
    credential: Credential | None
    headers: Headers
    receive: Receive
    scheme: str
    address: str
    """Where it comes from."""
    params: Params
    query: Q
    body: B
    about: T
    once: Once | None

    @property
    def house(self) -> House:
        return self.desk.house

    def audit(self, action: AuditAction, **told: Any) -> Change:
        """A row of the audit log, to be committed with what it tells of; `told` are fields of Audited."""
        return self.house.audit(self.principal, action, **told)

    def remember(self, answer: Any, status: int = 201) -> list[Change]:
        """To be committed with what the answer says was done."""
        if self.once is None:
            return []
        once = self.once
        known = encode_json(answer)
        return [Recall(owner=once.owner, key=once.key, digest=once.digest, status=status, answer=known)]


@dataclasses.dataclass(frozen=True)
class Also:
    """Another status of a right answer, and what it says: nothing, the same as ever, or an event stream."""

    status: int
    summary: str
    holds: Literal["nothing", "the same", "a stream"] = "nothing"


Handler: TypeAlias = Callable[[Ask[B, Q, T]], Awaitable[ASGIApp]]


@dataclasses.dataclass(frozen=True)
class Route(Generic[B, Q, T]):
    method: Method
    path: str
    handler: Handler[B, Q, T]
    access: Rule[T]
    summary: str
    body: type[B] | None = None
    body_limit: int = BODY_LIMIT
    query: type[Q] = NoQuery  # pyright: ignore[reportAssignmentType] - the handlers that take it say NoQuery
    answer: Any = None
    status: int = 200
    also: tuple[Also, ...] = ()
    streams: bool = False
    """The answer is an event stream."""
    is_post: bool = False
    """Counts against the limit of posts."""
    is_counted: bool = False
    """Counts too, though it posts nothing."""
    keeps_key: bool = False
    """Its handler remembers the answer for an idempotency key."""
    reads_key: bool = False
    """Its handler looks after such a key all by itself."""
    takes_bytes: bool = False
    """Its handler reads the body itself, whatever its type."""
    described_at: str = ""
    """Where whoever is refused for want of a token reads how to get one."""
    texts: tuple[str, ...] = ()
    """The parameters in its path that are texts and not ids."""
    slashed: tuple[str, ...] = ()
    """Those of them in which there may be slashes."""


AnyRoute: TypeAlias = Route[Any, Any, Any]


class JsonAnswer(Response):
    """With the headers of every answer, which are encoded once."""

    media_type = "application/json"

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        super().init_headers(headers)
        self.raw_headers = [*_ENCODED_HEADERS, *self.raw_headers]


def json_answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return JsonAnswer(encode_json(value), status, headers)


def no_content() -> Response:
    return Response(None, 204, API_HEADERS)


def key_of(headers: Headers) -> str | None:
    key = headers.get("idempotency-key")
    if key is None:
        return None
    if not 0 < len(key) <= KEY_LIMIT or not (key.isascii() and key.isprintable()):
        raise Invalid(f"Idempotency-Key: use 1 to {KEY_LIMIT} printable ASCII characters")
    return key


def digest_of_request(method: str, path: str, body: Any) -> bytes:
    """The same request has the same digest, however its JSON was spelled."""
    data = msgspec.json.encode(body, order="deterministic")
    return hashlib.sha256(f"{method} {path}\n".encode() + data).digest()
