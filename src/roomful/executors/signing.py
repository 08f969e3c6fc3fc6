"""Webhooks are signed: `v1=` and the hex HMAC-SHA256 of `id.timestamp.body`, good for five minutes."""

import hashlib
import hmac
from collections.abc import Iterable
from typing import Final

ID_HEADER: Final = "X-Roomful-Id"
TIMESTAMP_HEADER: Final = "X-Roomful-Timestamp"
SIGNATURE_HEADER: Final = "X-Roomful-Signature"
WINDOW: Final = 300.0


def signature(key: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1=" + hmac.new(key, signed, hashlib.sha256).hexdigest()


def verify_signature(
    keys: Iterable[bytes],
    *,
    message_id: str,
    timestamp: str,
    signatures: str,
    body: bytes,
    now: float,
    window: float = WINDOW,
) -> bool:
    """For receivers. Several keys let one be replaced; `signatures` may hold several, split by commas.

    A true answer says who sent it and when; that it comes once is the receiver's to check, by the id."""
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        return False
    if abs(now - int(timestamp)) > window:
        return False
    given = [one.strip().encode("utf-8", "replace") for one in signatures.split(",")[:8]]
    right = [signature(key, message_id, int(timestamp), body).encode() for key in keys]
    return any(hmac.compare_digest(one, other) for one in given for other in right)
