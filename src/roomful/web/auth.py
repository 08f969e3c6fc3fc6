"""Who is asking. One extractor for every route: a bearer token, or the cookie of the page."""

import functools
import hashlib
import hmac
import ipaddress
from collections.abc import Iterator
from urllib.parse import urlsplit

import msgspec
from starlette.datastructures import Headers
from starlette.types import Scope

from roomful.domain.changes import AddToken
from roomful.domain.entities import ADMIN, OPERATOR, Principal, Token
from roomful.domain.errors import Forbidden, Invalid, Unauthorized
from roomful.domain.ports import Clock, Ids
from roomful.web.house import House

COOKIE = "roomful_session"
ACT_AS = "x-roomful-as"
FRESH_SECONDS = 1.0
REMEMBERED = 10_000
ADDRESSES = 256
"""So many are read once and not at each request. Few, for a proxy may hand on what is none, at any length."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
SECRETS_IN_QUERIES = frozenset(
    {"token", "access_token", "accesstoken", "api_key", "apikey", "admin_key", "key", "authorization", "auth"}
)


NOBODY = Principal(entity_id="", kind="service", token_id="")


class Credential(msgspec.Struct, frozen=True):
    """What a request showed. The token itself is forgotten at once."""

    digest: bytes
    by_cookie: bool = False


class Auth:
    """Recognises callers, and remembers for a second whom it recognised."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._known: dict[bytes, tuple[Principal, float]] = {}
        self._usual: dict[tuple[bytes, str], None] = {}
        """Tokens that were right, and where from. One that is used elsewhere may be a guess there."""
        self._forgotten = 0

    async def caller(self, headers: Headers, method: str, address: str) -> tuple[Principal, Credential]:
        credential = extract(headers)
        check_origin(headers, method, credential)
        if credential is None:
            raise Unauthorized("say who you are: send Authorization: Bearer and your token")
        principal = await self.known_from(address, credential.digest)
        if (name := headers.get(ACT_AS)) is not None:
            principal = await self._acting_as(principal, name)
        return principal, credential

    async def known_from(self, address: str, digest: bytes) -> Principal:
        """Raises Unauthorized; and RateLimited where too many wrong tokens came from, so that it cannot be
        found out there whether one is right."""
        usual, now = (digest, address), self._house.clock.now()
        if usual not in self._usual:
            self._house.limits.check_guess(address, now)
        self._usual.pop(usual, None)
        principal = await self.recognise(digest)
        if principal is None:
            if (unnoted := self._house.limits.guessed(address, now)) is not None:
                detail = {"address": address, "unnoted": unnoted}
                await self._house.store.commit([self._house.audit(NOBODY, "sign_in.failed", detail=detail)])
            raise Unauthorized("this token is not valid, or not any more")
        self._usual[usual] = None
        if len(self._usual) > REMEMBERED:
            del self._usual[next(iter(self._usual))]
        return principal

    async def recognise(self, digest: bytes) -> Principal | None:
        if self.is_admin_key(digest):
            return OPERATOR
        now = self._house.clock.now()
        known = self._known.get(digest)
        if known is not None and 0 <= now - known[1] < FRESH_SECONDS:
            return known[0]
        forgotten = self._forgotten
        principal = await self._house.store.principal(digest)
        self._known.pop(digest, None)
        if principal is not None and forgotten == self._forgotten:
            self._known[digest] = (principal, now)
            if len(self._known) > REMEMBERED:
                del self._known[next(iter(self._known))]
        return principal

    def is_admin_key(self, digest: bytes) -> bool:
        return hmac.compare_digest(digest, self._house.admin_digest())

    def forget(self, entity_id: str) -> None:
        """Somebody's tokens changed: nothing that was known of them holds."""
        self._forgotten += 1
        for digest, (principal, _) in list(self._known.items()):
            if principal.entity_id == entity_id:
                del self._known[digest]

    async def _acting_as(self, principal: Principal, entity_id: str) -> Principal:
        if not principal.is_admin:
            raise Forbidden("only the admin key may act for somebody else")
        entity = await self._house.store.entity(entity_id)
        if entity is None:
            raise Invalid(f"X-Roomful-As: there is no entity {entity_id[:80]!r}")
        return Principal(entity_id=entity.id, kind=entity.kind, token_id=ADMIN)


def digest_of(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def new_token(clock: Clock, ids: Ids, entity_id: str) -> tuple[str, AddToken]:
    """What to show its owner, this once, and what to store of it."""
    secret = ids.secret()
    token = Token(id=ids.new("tok"), entity_id=entity_id, created_at=clock.iso())
    return secret, AddToken(token, digest_of(secret))


def address_of(scope: Scope) -> str:
    """Where a request comes from. One who has an IPv6 network has 2**64 addresses: they count as one."""
    client = scope.get("client")
    return _network_of(str(client[0])) if client else ""


@functools.lru_cache(maxsize=ADDRESSES)
def _network_of(host: str) -> str:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host[:64]
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(address.ipv4_mapped or ipaddress.ip_network((address, 64), strict=False))


def extract(headers: Headers) -> Credential | None:
    """The header counts where both are given: whoever writes it means it."""
    given = headers.getlist("authorization")
    if len(given) > 1:
        raise Unauthorized("send one Authorization header")
    if given:
        scheme, _, token = given[0].partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise Unauthorized("send Authorization: Bearer and your token")
        return Credential(digest_of(token.strip()))
    tokens = set(_cookies(headers))
    if len(tokens) > 1:
        raise Unauthorized(f"there is more than one {COOKIE} cookie: clear them and sign in again")
    return Credential(digest_of(tokens.pop()), by_cookie=True) if tokens else None


def check_origin(headers: Headers, method: str, credential: Credential | None) -> None:
    """A browser adds the cookie by itself, so what changes something has to come from our own page."""
    if method in SAFE_METHODS or (credential is not None and not credential.by_cookie):
        return
    origin = headers.get("origin")
    if origin is None and credential is None:
        return
    if origin is None or urlsplit(origin).netloc.lower() != headers.get("host", "").lower():
        raise Forbidden("with the cookie, only this gateway's own page may do this; others send a token")


def check_host(headers: Headers, allowed: frozenset[str]) -> bool:
    """Against DNS rebinding: a name that is not ours is somebody else's page talking to us."""
    return _is_ours(headers.get("host", ""), allowed)


def check_page(headers: Headers, allowed: frozenset[str]) -> None:
    """Where only programs are expected: a page of somebody else may not ask, whatever token it has."""
    origin = headers.get("origin")
    if origin is not None and not _is_ours(urlsplit(origin).netloc, allowed):
        raise Forbidden("no page of another origin may ask here: the operator lists names in ROOMFUL_HOSTS")


def _is_ours(authority: str, allowed: frozenset[str]) -> bool:
    host = authority.lower()
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return bool(name) and name.removesuffix(".") in allowed


def _cookies(headers: Headers) -> Iterator[str]:
    for line in headers.getlist("cookie"):
        for pair in line.split(";"):
            name, _, value = pair.strip().partition("=")
            if name == COOKIE and value:
                yield value
