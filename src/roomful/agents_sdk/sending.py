"""Sends what an agent outside the gateway says: one envelope, to a conversation and perhaps to an agent."""

import threading
from collections.abc import Mapping
from typing import Any, TypedDict

from roomful.bus import Bus, BusMessage, MessageEnvelope, RedisBus, chat_topic
from roomful.bus.redis_streams import LOCAL
from roomful.settings import outside_agent


class Sent(TypedDict):
    ok: bool
    envelope_id: str
    published_to: list[str]


class _Buses:
    """The bus that a test gave, else one made on first use and kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._given: Bus | None = None
        self._made: RedisBus | None = None

    def get(self) -> Bus:
        with self._lock:
            if self._given is not None:
                return self._given
            if self._made is None:
                self._made = RedisBus(outside_agent().redis_url or LOCAL)
            return self._made

    def give(self, bus: Bus | None) -> None:
        with self._lock:
            made, self._made, self._given = self._made, None, bus
        if made is not None:
            made.close()


_buses = _Buses()


def get_bus() -> Bus:
    """Redis at REDIS_URL, unless `set_bus_for_testing` gave another."""
    return _buses.get()


def set_bus_for_testing(bus: Bus | None) -> None:
    """None goes back to the default, which is made anew."""
    _buses.give(bus)


def send_message(
    recipient: str,
    content: str,
    *,
    conversation_id: str | None = None,
    context: Mapping[str, Any] | None = None,
) -> Sent:
    """Publishes to the conversation, and to the agent if one is addressed.

    `recipient` is `chat:{conversation_id}` or `agent:{Name}`. Where an agent is addressed, the conversation
    is the one named here, else that of the run's context, else that of the environment.
    """
    kind, name = _address(recipient)
    text = (content or "").strip()
    if not text:
        raise ValueError("content must be non-empty")
    conversation = name if kind == "chat" else _conversation_id(conversation_id, context)
    envelope = MessageEnvelope(
        conversation_id=conversation,
        sender=f"agent:{outside_agent().name or 'unknown'}",
        recipient=f"{kind}:{name}",
        content=text,
    )
    topics = list(dict.fromkeys([chat_topic(conversation), chat_topic(name)]))
    bus, payload = get_bus(), envelope.model_dump(mode="json")
    for topic in topics:
        bus.publish(topic, BusMessage(topic=topic, payload=payload))
    return Sent(ok=True, envelope_id=envelope.id, published_to=topics)


def _address(recipient: str) -> tuple[str, str]:
    kind, _, name = (recipient or "").strip().partition(":")
    name = name.strip()
    if kind not in ("chat", "agent") or not name:
        raise ValueError("recipient must be 'chat:{conversation_id}' or 'agent:{Name}'")
    return kind, name


def _conversation_id(explicit: str | None, context: Mapping[str, Any] | None) -> str:
    for value in (explicit, (context or {}).get("conversation_id"), outside_agent().conversation_id):
        if known := str(value or "").strip():
            return known
    raise ValueError("conversation_id not available for agent recipient")
