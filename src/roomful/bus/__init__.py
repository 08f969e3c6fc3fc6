"""Two buses. `MemoryBus` carries the gateway's announcements to those who read them. `Bus`, which is either
`InMemoryBus` or `RedisBus`, carries envelopes between agents outside the gateway; the gateway takes part in
that by `MemoryTopics` or `RedisTopics`."""

from roomful.bus.in_memory import InMemoryBus
from roomful.bus.memory import MemoryBus
from roomful.bus.memory_topics import MemoryTopics
from roomful.bus.redis_streams import RedisBus
from roomful.bus.redis_topics import RedisTopics
from roomful.bus.topics import Bus, BusMessage
from roomful.domain.envelopes import MessageEnvelope, chat_topic, stream_topic

__all__ = [
    "Bus",
    "BusMessage",
    "InMemoryBus",
    "MemoryBus",
    "MemoryTopics",
    "MessageEnvelope",
    "RedisBus",
    "RedisTopics",
    "chat_topic",
    "stream_topic",
]
