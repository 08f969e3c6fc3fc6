"""The gateway's end of a bus on Redis Streams: all gateways are one consumer group, and in it one consumer.

At any time one of them reads, under a lease, so that what an agent says stays in order. Whatever was handed
out and not acknowledged is handed out again after a while, to whichever gateway reads then: the one that
had it may be gone, and if it is not, the message's key tells that it is stored already.
"""

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import Generator, Sequence
from typing import Any, cast

from roomful.bus.redis_streams import ANSWER_SECONDS, CONNECT_SECONDS, FIELD, Entry, read_fields
from roomful.bus.topics import KEPT
from roomful.domain.envelopes import Delivery
from roomful.domain.errors import Invalid, Unavailable

CONSUMER = "gateway"
LEASE_SECONDS = 2.0
WAIT_SECONDS = 0.5
AT_ONCE = 16
"""Messages of each topic."""
CLAIM_SECONDS = 3.0
"""How long a message may be worked on before another gateway takes it up."""

log = logging.getLogger("roomful.outside")


class RedisTopics:
    """The port `Topics` on a Redis or Valkey server. The gateways of one deployment have one `group`."""

    def __init__(self, url: str, group: str = "roomful") -> None:
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
        self._group = group
        self._lease = f"{group}:reader"
        """The key that names the gateway which reads."""
        self._name = uuid.uuid4().hex.encode()
        self._reads_until = 0.0
        self._grouped: set[str] = set()
        self._inherited: set[str] = set()
        self._claim_at = 0.0

    async def receive(self, topics: Sequence[str]) -> list[Delivery]:
        with self._asking():
            if not await self._reads():
                await asyncio.sleep(WAIT_SECONDS)
                return []
            try:
                ready = [topic for topic in topics if topic in self._grouped or await self._join(topic)]
                if not ready:
                    await asyncio.sleep(WAIT_SECONDS)
                return await self._left(ready) or await self._overdue(ready) or await self._new(ready)
            except (self._error, OSError):
                # An answer may be lost, the groups gone, or a topic something else: all is looked at anew.
                self._grouped.clear()
                raise

    async def done(self, delivery: Delivery) -> None:
        with self._asking():
            await self._redis.xack(delivery.topic, self._group, delivery.id)

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
        """Another gateway may read at once."""
        with contextlib.suppress(self._error, OSError):
            if await self._redis.get(self._lease) == self._name:
                await self._redis.delete(self._lease)
        await self._redis.aclose()

    async def _reads(self) -> bool:
        """Whether this is the gateway that reads now."""
        now = time.monotonic()
        if now < self._reads_until - LEASE_SECONDS / 2:
            return True
        milliseconds = int(LEASE_SECONDS * 1000)
        if await self._redis.set(self._lease, self._name, nx=True, px=milliseconds):
            self._grouped.clear()
        elif await self._redis.get(self._lease) == self._name:
            await self._redis.pexpire(self._lease, milliseconds)
        else:
            return False
        self._reads_until = now + LEASE_SECONDS
        return True

    async def _join(self, topic: str) -> bool:
        """From the start: what was published before somebody looked is read too."""
        try:
            await self._redis.xgroup_create(topic, self._group, id="0", mkstream=True)
        except self._refusal as error:
            if not str(error).startswith("BUSYGROUP"):
                return False
        self._grouped.add(topic)
        self._inherited.add(topic)
        return True

    async def _new(self, topics: Sequence[str]) -> list[Delivery]:
        if not topics:
            return []
        streams = dict.fromkeys(topics, ">")
        found = await self._redis.xreadgroup(
            self._group, CONSUMER, streams, count=AT_ONCE, block=int(WAIT_SECONDS * 1000)
        )
        return [
            _delivery(name.decode(), entry)
            for name, entries in cast("list[tuple[bytes, list[Entry]]]", found)
            for entry in entries
        ]

    async def _left(self, topics: Sequence[str]) -> list[Delivery]:
        """What the gateway before this one left: it comes first, so that the order stays."""
        inherited = [topic for topic in topics if topic in self._inherited]
        found = await self._claim(inherited, 0)
        self._inherited = {delivery.topic for delivery in found}
        return found

    async def _overdue(self, topics: Sequence[str]) -> list[Delivery]:
        """What was handed out a while ago and is not finished."""
        if time.monotonic() < self._claim_at:
            return []
        self._claim_at = time.monotonic() + CLAIM_SECONDS / 2
        return await self._claim(topics, CLAIM_SECONDS)

    async def _claim(self, topics: Sequence[str], idle_seconds: float) -> list[Delivery]:
        if not topics:
            return []
        async with self._redis.pipeline(transaction=False) as pipe:
            for topic in topics:
                pipe.xautoclaim(topic, self._group, CONSUMER, int(idle_seconds * 1000), count=AT_ONCE)
            answers = await pipe.execute()
        return [
            _delivery(topic, entry)
            for topic, answer in zip(topics, answers, strict=True)
            for entry in cast("list[Entry]", answer[1])
        ]

    @contextlib.contextmanager
    def _asking(self) -> Generator[None]:
        try:
            yield
        except (self._error, OSError) as error:
            raise Unavailable(f"the bus does not answer: {error}") from error


def _delivery(topic: str, entry: Entry) -> Delivery:
    id, fields = entry
    return Delivery(topic, id.decode(), read_fields(fields))
