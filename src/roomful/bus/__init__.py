"""Two buses. `MemoryBus` carries the gateway's announcements to those who read them. `Bus`, which is either
`InMemoryBus` or `RedisBus`, carries envelopes between agents outside the gateway."""

from roomful.bus.in_memory import InMemoryBus
from roomful.bus.memory import MemoryBus
from roomful.bus.redis_streams import RedisBus
from roomful.bus.topics import Bus, BusMessage
from roomful.domain.envelopes import MessageEnvelope, chat_topic, stream_topic

__all__ = [
    "Bus",
    "BusMessage",
    "InMemoryBus",
    "MemoryBus",
    "MessageEnvelope",
    "RedisBus",
    "chat_topic",
    "stream_topic",
]
