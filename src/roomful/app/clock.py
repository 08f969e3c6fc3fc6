"""The real clock and real chance. Everything that needs time or an id is given one of these."""

import secrets
import time
from datetime import UTC, datetime


class SystemClock:
    def now(self) -> float:
        return time.time()

    def iso(self) -> str:
        return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class RandomIds:
    def new(self, prefix: str) -> str:
        return f"{prefix}_{secrets.token_urlsafe(16)}"

    def secret(self) -> str:
        return secrets.token_urlsafe(32)
