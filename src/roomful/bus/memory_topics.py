"""The gateway's end of a bus within its own process."""

import asyncio
import contextlib
from collections.abc import Sequence

from roomful.bus.in_memory import InMemoryBus
from roomful.bus.topics import START, BusMessage, decode_payload
from roomful.domain.envelopes import Delivery

WAIT_SECONDS = 1.0
AT_ONCE = 100


class MemoryTopics:
    """The port `Topics` over an `InMemoryBus`, which agents in other threads may share. Made on a running
    event loop."""

    def __init__(self, bus: InMemoryBus) -> None:
        self._bus = bus
        self._done: dict[str, str] = {}
        self._published = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        bus.on_publish = self._notice

    async def receive(self, topics: Sequence[str]) -> list[Delivery]:
        self._published.clear()
        found = [delivery for topic in topics for delivery in self._read(topic)]
        if not found:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._published.wait(), WAIT_SECONDS)
        return found

    async def done(self, delivery: Delivery) -> None:
        self._done[delivery.topic] = delivery.id

    async def publish(self, messages: Sequence[tuple[str, bytes]], forget: Sequence[str] = ()) -> None:
        for topic in forget:
            self._bus.forget(topic)
        for topic, payload in messages:
            self._bus.publish(topic, BusMessage(topic, decode_payload(payload)))

    async def close(self) -> None:
        self._bus.on_publish = None

    def _notice(self) -> None:
        self._loop.call_soon_threadsafe(self._published.set)

    def _read(self, topic: str) -> list[Delivery]:
        try:
            messages = self._bus.read(topic, self._done.get(topic, START), AT_ONCE)
        except ValueError:  # what was done is no longer kept: what is kept may be known by its id
            messages = self._bus.read(topic, START, AT_ONCE)
        return [Delivery(topic, message.id or "", message.payload) for message in messages]
