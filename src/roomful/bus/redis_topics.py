"""The gateway's end of a bus on Redis Streams: all gateways are one consumer group, and in it one consumer.

Whatever was handed out and not acknowledged is handed out again after a while, to whichever gateway asks:
the one that had it may be gone, and if it is not, the message's key tells that it is stored already.
"""

import logging
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from roomful.bus.redis_streams import ANSWER_SECONDS, CONNECT_SECONDS, FIELD, Entry, read_fields
from roomful.bus.topics import KEPT
from roomful.domain.envelopes import Delivery
from roomful.domain.errors import Invalid, Unavailable

GROUP = "roomful"
CONSUMER = "gateway"
WAIT_MS = 1000
AT_ONCE = 16
"""Messages of each topic."""
CLAIM_SECONDS = 3.0
"""How long a message may be worked on before another gateway takes it up."""

log = logging.getLogger("roomful.outside")


class RedisTopics:
    """The port `Topics` on a Redis or Valkey server."""

    def __init__(self, url: str) -> None:
        try:
            from redis.asyncio import Redis
            from redis.asyncio.retry import Retry
            from redis.backoff import NoBackoff
            from redis.exceptions import RedisError, ResponseError
        except ImportError:
            raise Invalid("--bus redis:// needs another package: pip install 'roomful[redis]'") from None
        self._error = RedisError
        self._refusal = ResponseError
        try:
            self._redis: Any = Redis.from_url(  # pyright: ignore[reportUnknownMemberType]
                url,
                socket_connect_timeout=CONNECT_SECONDS,
                socket_timeout=ANSWER_SECONDS,
                retry=Retry(NoBackoff(), 0),
            )
        except ValueError:  # its words may repeat a part of the password
            raise Invalid("--bus: the address is like redis://user:password@host:6379/0") from None
        self._grouped: set[str] = set()
        self._claim_at = 0.0

    async def receive(self, topics: Sequence[str]) -> list[Delivery]:
        with self._asking():
            ready = [topic for topic in topics if topic in self._grouped or await self._group(topic)]
            if not ready:
                return []
            try:
                return await self._claimed(ready) or await self._new(ready)
            except self._refusal as error:
                # The server lost its groups, or a topic became something else: all of it is looked at anew.
                self._grouped.clear()
                if "NOGROUP" in str(error):
                    return []
                raise

    async def done(self, delivery: Delivery) -> None:
        with self._asking():
            await self._redis.xack(delivery.topic, GROUP, delivery.id)

    async def publish(self, messages: Sequence[tuple[str, bytes]], forget: Sequence[str] = ()) -> None:
        if not messages and not forget:
            return
        with self._asking():
            async with self._redis.pipeline(transaction=False) as pipe:
                if forget:
                    pipe.delete(*forget)
                for topic, payload in messages:
                    pipe.xadd(topic, {FIELD: payload}, maxlen=KEPT, approximate=True)
                answers = await pipe.execute(raise_on_error=False)
            for error in answers:
                if isinstance(error, self._refusal) and "WRONGTYPE" in str(error):
                    log.warning("a topic holds something else and was not written to: %s", error)
                elif isinstance(error, Exception):
                    raise error

    async def close(self) -> None:
        await self._redis.aclose()

    async def _group(self, topic: str) -> bool:
        """From the start: what was published before somebody looked is read too."""
        try:
            await self._redis.xgroup_create(topic, GROUP, id="0", mkstream=True)
        except self._refusal as error:
            if not str(error).startswith("BUSYGROUP"):
                return False
        self._grouped.add(topic)
        return True

    async def _new(self, topics: Sequence[str]) -> list[Delivery]:
        streams = dict.fromkeys(topics, ">")
        found = await self._redis.xreadgroup(GROUP, CONSUMER, streams, count=AT_ONCE, block=WAIT_MS)
        return [
            _delivery(name.decode(), entry)
            for name, entries in cast("list[tuple[bytes, list[Entry]]]", found)
            for entry in entries
        ]

    async def _claimed(self, topics: Sequence[str]) -> list[Delivery]:
        """What somebody was given a while ago and did not finish."""
        if time.monotonic() < self._claim_at:
            return []
        async with self._redis.pipeline(transaction=False) as pipe:
            for topic in topics:
                pipe.xautoclaim(topic, GROUP, CONSUMER, int(CLAIM_SECONDS * 1000), count=AT_ONCE)
            answers = await pipe.execute()
        self._claim_at = time.monotonic() + CLAIM_SECONDS / 2
        return [
            _delivery(topic, entry)
            for topic, answer in zip(topics, answers, strict=True)
            for entry in cast("list[Entry]", answer[1])
        ]

    @contextmanager
    def _asking(self) -> Generator[None]:
        try:
            yield
        except (self._error, OSError) as error:
            raise Unavailable(f"the bus does not answer: {error}") from error


def _delivery(topic: str, entry: Entry) -> Delivery:
    id, fields = entry
    return Delivery(topic, id.decode(), read_fields(fields))
