"""Addresses to which the result of a call can be brought later. Each is for one call and works once."""

import hashlib
import hmac

from roomful.app.keys import Keys
from roomful.domain.runs import Call
from roomful.settings import Settings, address


class Callbacks:
    """The addresses it gave out stay good over a restart, and for a while over a rotation."""

    def __init__(self, settings: Settings, keys: Keys) -> None:
        self._public_url = settings.public_url.rstrip("/")
        self._base = self._public_url or address(settings.host, settings.port)
        self._keys = keys

    def served_at(self, url: str) -> None:
        """Where this gateway answers, if the operator did not say how others reach it."""
        self._base = self._public_url or url

    def url(self, call: Call) -> str:
        return f"{self._base}/api/callbacks/{call.id}/{_sign(self._keys.signing()[0], call.id)}"

    async def check(self, call_id: str, key: str) -> bool:
        """Another gateway may have signed with a newer secret than this one has heard of."""
        if not self._is_signed(call_id, key):
            await self._keys.refresh()
        return self._is_signed(call_id, key)

    def _is_signed(self, call_id: str, key: str) -> bool:
        right = [_sign(one, call_id).encode() for one in self._keys.signing()]
        return any(hmac.compare_digest(one, key.encode()) for one in right)


def _sign(key: bytes, call_id: str) -> str:
    return hmac.digest(key, call_id.encode(), hashlib.sha256).hex()
