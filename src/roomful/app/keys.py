"""The admin key and the house's signing secrets. A running gateway follows what is kept of them."""

import hashlib
import hmac
import secrets
from collections.abc import Sequence

import msgspec

from roomful.app.sealing import listed_keys
from roomful.domain.changes import Change, PutMeta
from roomful.domain.ports import Clock, Ids, Store
from roomful.settings import Settings

ADMIN_DIGEST = "admin_key_sha256"
SECRET = "house_secret"
"""Made once; names the deployment, and signs until it is replaced by one of `SIGNING`."""
SIGNING = "signing_secrets"


class Signing(msgspec.Struct, frozen=True):
    """The first one signs. The others are good until their time."""

    secret: str
    until: float | None = None


_decode = msgspec.json.Decoder(list[Signing]).decode


class Keys:
    """`house_secret` never changes. If the settings hold the admin key, that one counts here."""

    def __init__(self, settings: Settings, store: Store, clock: Clock, house_secret: str) -> None:
        self._given = _digest(settings.admin_key) if settings.admin_key else None
        self._sealing = listed_keys(settings.secret_key)
        self._store = store
        self._clock = clock
        self.house_secret = house_secret
        self.admin_digest = b""
        self._signing = [Signing(house_secret)]

    async def refresh(self) -> None:
        stored = await self._store.get_meta(ADMIN_DIGEST)
        self.admin_digest = bytes.fromhex(self._given or stored or "")
        self._signing = await read_signing(self._store, self.house_secret)

    def signing(self) -> list[bytes]:
        """For addresses that are given out: the first one signs, any of them is good."""
        return [_derived(one, b"callbacks") for one in self._good()]

    def webhooks(self) -> list[bytes]:
        """For webhooks whose tool has no secret of its own: whoever knows one of them can check."""
        return [_derived(one, b"webhooks") for one in self._sealing or self._good()]

    def _good(self) -> list[str]:
        now = self._clock.now()
        return [one.secret for one in self._signing if one.until is None or now < one.until]


async def read_signing(store: Store, house_secret: str) -> list[Signing]:
    stored = await store.get_meta(SIGNING)
    return [Signing(house_secret)] if stored is None else _decode(stored.encode())


async def keep_admin_key(store: Store, settings: Settings, ids: Ids) -> str | None:
    """The operator's own key replaces whatever was kept, so that no older one comes back without it. If there
    is none at all, one is made: of several gateways that start at once, the one that made it has it."""
    known = await store.get_meta(ADMIN_DIGEST)
    if settings.admin_key:
        if known != (digest := _digest(settings.admin_key)):
            await store.commit([PutMeta(ADMIN_DIGEST, digest)])
        return None
    if known is not None:
        return None
    key = ids.secret()
    await store.set_meta(ADMIN_DIGEST, _digest(key))
    return key if await store.get_meta(ADMIN_DIGEST) == _digest(key) else None


def new_admin_key() -> tuple[str, Change]:
    key = secrets.token_urlsafe(32)
    return key, PutMeta(ADMIN_DIGEST, _digest(key))


def new_signing(known: Sequence[Signing], now: float, grace: float) -> Change:
    """One more in front; those that were good stay so for the grace time at most."""
    kept = [
        Signing(one.secret, now + grace if one.until is None else min(one.until, now + grace))
        for one in known
        if one.until is None or now < one.until
    ]
    return PutMeta(SIGNING, msgspec.json.encode([Signing(secrets.token_hex(32)), *kept]).decode())


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def _derived(secret: str, use: bytes) -> bytes:
    return hmac.digest(secret.encode(), use, hashlib.sha256)
