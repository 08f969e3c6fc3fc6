"""Literal secrets in configurations, unreadable at rest."""

from __future__ import annotations

import base64
import hashlib
import secrets
from typing import TYPE_CHECKING

from roomful.domain.errors import Invalid
from roomful.settings import split

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM


def listed_keys(secret_key: str | None) -> list[str]:
    """`new,old`: the first one seals, all of them open. One that has a comma in it opens too."""
    listed = split(secret_key or "")
    return [*listed, secret_key] if secret_key and [secret_key] != listed else listed


class SecretBox:
    """AES-GCM under keys derived from ROOMFUL_SECRET_KEY. Without a key nothing is sealed or opened."""

    def __init__(self, secret_key: str | None) -> None:
        self._keys = [hashlib.sha256(key.encode()).digest() for key in listed_keys(secret_key)]

    @property
    def can_seal(self) -> bool:
        return bool(self._keys)

    def seal(self, secret: str) -> str:
        if not self._keys:
            raise Invalid("a literal secret needs ROOMFUL_SECRET_KEY; write ${env.NAME} instead")
        nonce = secrets.token_bytes(12)
        sealed = nonce + _cipher(self._keys[0]).encrypt(nonce, secret.encode(), None)
        return base64.urlsafe_b64encode(sealed).decode()

    def open(self, sealed: str) -> str:
        if not self._keys:
            raise Invalid("this secret was sealed with a ROOMFUL_SECRET_KEY that is not set now")
        for key in self._keys:
            if (secret := _opened(key, sealed)) is not None:
                return secret
        raise Invalid("this secret was sealed with another ROOMFUL_SECRET_KEY")

    def is_current(self, sealed: str) -> bool:
        """Whether the first key sealed it."""
        return bool(self._keys) and _opened(self._keys[0], sealed) is not None


def _cipher(key: bytes) -> AESGCM:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError as error:
        raise Invalid("a literal secret needs another package: pip install 'roomful[secrets]'") from error
    return AESGCM(key)


def _opened(key: bytes, sealed: str) -> str | None:
    cipher = _cipher(key)
    from cryptography.exceptions import InvalidTag

    data = base64.urlsafe_b64decode(sealed)
    try:
        return cipher.decrypt(data[:12], data[12:], None).decode()
    except InvalidTag:
        return None
