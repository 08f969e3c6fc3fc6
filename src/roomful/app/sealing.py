"""Literal secrets in configurations, unreadable at rest."""

import base64
import hashlib

from roomful.domain.errors import Invalid
from roomful.settings import split


def listed_keys(secret_key: str | None) -> list[str]:
    """`new,old`: the first one seals, all of them open. One that has a comma in it opens too."""
    listed = split(secret_key or "")
    return [*listed, secret_key] if secret_key and [secret_key] != listed else listed


class SecretBox:
    """XSalsa20-Poly1305 with keys made of ROOMFUL_SECRET_KEY. Without one nothing is sealed or opened."""

    def __init__(self, secret_key: str | None) -> None:
        self._keys = [hashlib.sha256(key.encode()).digest() for key in listed_keys(secret_key)]

    @property
    def can_seal(self) -> bool:
        return bool(self._keys)

    def seal(self, secret: str) -> str:
        if not self._keys:
            raise Invalid("a literal secret needs ROOMFUL_SECRET_KEY; write ${env.NAME} instead")
        from nacl.secret import SecretBox as Box

        return base64.urlsafe_b64encode(Box(self._keys[0]).encrypt(secret.encode())).decode()

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


def _opened(key: bytes, sealed: str) -> str | None:
    from nacl.exceptions import CryptoError
    from nacl.secret import SecretBox as Box

    try:
        return Box(key).decrypt(base64.urlsafe_b64decode(sealed)).decode()
    except CryptoError:
        return None
