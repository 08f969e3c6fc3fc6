"""Literal secrets in configurations, unreadable at rest."""

import base64
import hashlib
import secrets

from roomful.domain.errors import Invalid


class SecretBox:
    """AES-GCM under a key derived from ROOMFUL_SECRET_KEY. Without the key nothing is sealed or opened."""

    def __init__(self, secret_key: str | None) -> None:
        self._key = hashlib.sha256(secret_key.encode()).digest() if secret_key else None

    @property
    def can_seal(self) -> bool:
        return self._key is not None

    def seal(self, secret: str) -> str:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        if self._key is None:
            raise Invalid("a literal secret needs ROOMFUL_SECRET_KEY; write ${env.NAME} instead")
        nonce = secrets.token_bytes(12)
        sealed = nonce + AESGCM(self._key).encrypt(nonce, secret.encode(), None)
        return base64.urlsafe_b64encode(sealed).decode()

    def open(self, sealed: str) -> str:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        if self._key is None:
            raise Invalid("this secret was sealed with a ROOMFUL_SECRET_KEY that is not set now")
        data = base64.urlsafe_b64decode(sealed)
        try:
            return AESGCM(self._key).decrypt(data[:12], data[12:], None).decode()
        except InvalidTag:
            raise Invalid("this secret was sealed with another ROOMFUL_SECRET_KEY") from None
