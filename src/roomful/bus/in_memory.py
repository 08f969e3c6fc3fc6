"""Messages by topic within one process."""

import threading
import time
from bisect import bisect_left
from collections.abc import Callable

from roomful.bus.topics import (
    KEPT,
    START,
    BusMessage,
    Cursor,
    check_length,
    check_read,
    decode_payload,
    encode_message,
    format_id,
    no_such_message,
    parse_id,
)

MOST_TOPICS = 10_000
_FIRST = parse_id(START)


class InMemoryBus:
    """A `Bus` that ends with its process. Of too many topics the one that was silent longest is forgotten."""

    def __init__(self, *, max_length: int = KEPT) -> None:
        self._max_length = check_length(max_length)
        self._topics: dict[str, list[tuple[Cursor, bytes]]] = {}
        self._newest: Cursor = _FIRST
        self._changed = threading.Condition()
        self.on_publish: Callable[[], None] | None = None
        """Called after each message, in the thread of whoever published it."""

    def publish(self, topic: str, message: BusMessage) -> str:
        payload = encode_message(topic, message)
        with self._changed:
            log = self._topics[topic] = self._topics.pop(topic, [])
            log.append((self._next(), payload))
            del log[: -self._max_length]
            if len(self._topics) > MOST_TOPICS:
                del self._topics[next(iter(self._topics))]
            self._changed.notify_all()
            id = format_id(self._newest)
        if (tell := self.on_publish) is not None:
            tell()
        return id

    def forget(self, topic: str) -> None:
        """Empties a topic: no cursor there is known any more."""
        with self._changed:
            self._topics.pop(topic, None)

    def read(self, topic: str, last_id: str | None = None, limit: int = 100) -> list[BusMessage]:
        return self.read_blocking(topic, last_id, limit, block_ms=0)

    def read_blocking(
        self, topic: str, last_id: str | None = None, limit: int = 100, block_ms: int = 1000
    ) -> list[BusMessage]:
        cursor = check_read(last_id, limit, block_ms)
        found: list[tuple[Cursor, bytes]] = []

        def look() -> bool:
            nonlocal found
            found = self._found(topic, cursor, limit)
            return bool(found)

        with self._changed:
            self._changed.wait_for(look, block_ms / 1000)
        return [BusMessage(topic, decode_payload(payload), format_id(at)) for at, payload in found]

    def _found(self, topic: str, cursor: Cursor | None, limit: int) -> list[tuple[Cursor, bytes]]:
        log = self._topics.get(topic, [])
        if cursor is None:
            return log[-limit:]
        if cursor == _FIRST:
            return log[:limit]
        place = bisect_left(log, cursor, key=lambda entry: entry[0])
        if place == len(log) or log[place][0] != cursor:
            raise no_such_message(topic, cursor, (log[0][0], log[-1][0]) if log else None)
        return log[place + 1 : place + 1 + limit]

    def _next(self) -> Cursor:
        """Ids grow also when the clock does not: milliseconds, and a number within one."""
        now = time.time_ns() // 1_000_000
        last, number = self._newest
        self._newest = (now, 0) if now > last else (last, number + 1)
        return self._newest
