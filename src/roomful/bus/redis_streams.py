"""Messages by topic for several processes: each topic is a Redis stream of that name."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeAlias, cast

import msgspec

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
from roomful.domain.errors import Unavailable
from roomful.domain.shape import Json

LOCAL = "redis://localhost:6379/0"
CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 5.0
WAIT_MS = 1000
"""The longest wait that is asked of the server at once: a server that is gone is noticed soon."""
FIELD = b"payload"

Entry: TypeAlias = tuple[bytes, dict[bytes, bytes]]


class RedisBus:
    """A `Bus` on a Redis or Valkey server. Nothing is sent twice: after Unavailable the caller decides."""

    def __init__(self, url: str = LOCAL, *, max_length: int = KEPT) -> None:
        try:
            from redis import Redis, RedisError
            from redis.backoff import NoBackoff
            from redis.retry import Retry
        except ImportError as error:
            raise ImportError("RedisBus needs another package: pip install 'roomful[redis]'.") from error
        self._max_length = check_length(max_length)
        self._error = RedisError
        try:
            self._redis = Redis.from_url(  # pyright: ignore[reportUnknownMemberType]
                url,
                socket_connect_timeout=CONNECT_SECONDS,
                socket_timeout=ANSWER_SECONDS,
                retry=Retry(NoBackoff(), 0),
            )
        except ValueError:  # its words may repeat a part of the password
            raise ValueError("The bus has an address like redis://user:password@host:6379/0.") from None

    def publish(self, topic: str, message: BusMessage) -> str:
        payload = encode_message(topic, message)
        with self._asking():
            id = self._redis.xadd(topic, {FIELD: payload}, maxlen=self._max_length, approximate=False)
        return cast("bytes", id).decode()

    def read(self, topic: str, last_id: str | None = None, limit: int = 100) -> list[BusMessage]:
        cursor = check_read(last_id, limit)
        with self._asking():
            return [_message(topic, entry) for entry in self._found(topic, cursor, limit)]

    def read_blocking(
        self, topic: str, last_id: str | None = None, limit: int = 100, block_ms: int = 1000
    ) -> list[BusMessage]:
        """What the server says when it ends a wait is only a hint: `read` decides what is new."""
        check_read(last_id, limit, block_ms)
        until = time.monotonic() + block_ms / 1000
        while not (found := self.read(topic, last_id, limit)):
            left = int((until - time.monotonic()) * 1000)
            if left < 1:
                break
            with self._asking():
                self._redis.xread({topic: last_id or START}, count=1, block=min(left, WAIT_MS))
        return found

    def close(self) -> None:
        self._redis.close()

    def _found(self, topic: str, cursor: Cursor | None, limit: int) -> list[Entry]:
        if cursor is None:
            return self._range(topic, limit, newest=True)[::-1]
        if cursor == parse_id(START):
            return self._range(topic, limit)
        # One command that begins at the cursor's own message: no trimming can come between check and read.
        entries = self._range(topic, limit + 1, since=format_id(cursor))
        if not entries or parse_id(entries[0][0].decode()) != cursor:
            raise no_such_message(topic, cursor, self._ends(topic))
        return entries[1:]

    def _ends(self, topic: str) -> tuple[Cursor, Cursor] | None:
        ends = self._range(topic, 1) + self._range(topic, 1, newest=True)
        return (parse_id(ends[0][0].decode()), parse_id(ends[-1][0].decode())) if ends else None

    def _range(self, topic: str, count: int, *, since: str = "-", newest: bool = False) -> list[Entry]:
        entries = (
            self._redis.xrevrange(topic, count=count)
            if newest
            else self._redis.xrange(topic, min=since, count=count)
        )
        return cast("list[Entry]", entries)

    @contextmanager
    def _asking(self) -> Generator[None]:
        try:
            yield
        except self._error as error:
            raise Unavailable(f"The bus does not answer: {error}") from error


def _message(topic: str, entry: Entry) -> BusMessage:
    id, fields = entry
    return BusMessage(topic, read_fields(fields), id.decode())


def read_fields(fields: dict[bytes, bytes]) -> dict[str, Json]:
    """What another program wrote in another form is handed on as the texts it has: no reader gets stuck."""
    try:
        return decode_payload(fields[FIELD])
    except (KeyError, msgspec.DecodeError, UnicodeError, RecursionError):
        return {_text(name): _text(value) for name, value in fields.items()}


def _text(value: bytes) -> str:
    return value.decode(errors="replace")
