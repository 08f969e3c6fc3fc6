"""An agent outside a Roomful process, on the bus they share."""

from collections.abc import Callable
from typing import Any

from roomful.bus import Bus, BusMessage, MessageEnvelope
from tests.servers.cluster import eventually
from tests.servers.roomful import PATIENCE, Caller, Roomful

MEMBERS = ("ada", "scout")


class Outside:
    """Speaks as the agent `id` and reads what it is told."""

    def __init__(self, bus: Bus, id: str = "scout") -> None:
        self.bus = bus
        self.id = id

    def say(self, text: str, *, to: str = "chat:room", **changes: Any) -> MessageEnvelope:
        fields: dict[str, Any] = {"conversation_id": "room", "sender": f"agent:{self.id}", "recipient": to}
        envelope = MessageEnvelope(content=text, **fields | changes)
        self.publish(envelope.model_dump(mode="json"), f"chat:{envelope.conversation_id}")
        return envelope

    def publish(self, payload: dict[str, Any], topic: str = "chat:room") -> None:
        self.bus.publish(topic, BusMessage(topic, payload))

    def told(self, count: int = 1) -> list[dict[str, Any]]:
        """The envelopes on its topic, once there are so many."""
        return self.read(f"chat:{self.id}", count)

    def read(self, topic: str, count: int = 1) -> list[dict[str, Any]]:
        messages = wait(lambda: found if len(found := self.bus.read(topic)) >= count else None)
        return [message.payload for message in messages]


def wait(look: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """What `look` finds, once it does."""
    return eventually(look, "what is looked for", seconds)


def furnish(house: Roomful, *members: str) -> Caller:
    """Ada and the agent outside in one room, with whoever else is there already."""
    ada = house.person("ada")
    house.person("scout", kind="agent")
    house.space("room", *MEMBERS, *members)
    return ada


def texts(caller: Caller, space_id: str = "room") -> list[str]:
    messages = caller.messages(space_id, limit=200)
    return [part["text"] for message in messages for part in message["parts"] if part["type"] == "text"]


def wait_for_texts(caller: Caller, *wanted: str) -> None:
    wait(lambda: set(wanted) <= set(texts(caller)))
