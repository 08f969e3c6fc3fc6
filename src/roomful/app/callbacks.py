"""Addresses to which the result of a call can be brought later. Each is for one call and works once."""

import hashlib
import hmac

from roomful.domain.runs import Call
from roomful.settings import Settings


class Callbacks:
    """`secret` is the house's own: the addresses it gave out stay good over a restart."""

    def __init__(self, settings: Settings, secret: str) -> None:
        self._base = settings.public_url.rstrip("/") or f"http://{settings.host}:{settings.port}"
        self._key = hmac.digest(secret.encode(), b"callbacks", hashlib.sha256)
        own = settings.secret_key or secret
        self.webhook_key = hmac.digest(own.encode(), b"webhooks", hashlib.sha256)
        """Signs webhooks whose tool has no secret of its own."""

    def url(self, call: Call) -> str:
        return f"{self._base}/api/callbacks/{call.id}/{self._sign(call.id)}"

    def check(self, call_id: str, key: str) -> bool:
        return hmac.compare_digest(self._sign(call_id).encode(), key.encode())

    def _sign(self, call_id: str) -> str:
        return hmac.digest(self._key, call_id.encode(), hashlib.sha256).hex()
