"""`send_message`: who is addressed, in which conversation, by whom, and on which bus."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import pytest

from roomful.agents_sdk import get_bus, send_message, sending, set_bus_for_testing
from roomful.bus import InMemoryBus, RedisBus
from tests.requirements import requirement
from tests.servers.redis import redis_server


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AGENT_NAME", "CHAT_TOOL_CONVERSATION_ID", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def bus() -> Iterator[InMemoryBus]:
    bus = InMemoryBus()
    set_bus_for_testing(bus)
    yield bus
    set_bus_for_testing(None)


def payloads(bus: InMemoryBus, topic: str) -> list[dict[str, Any]]:
    return [message.payload for message in bus.read(topic)]


@requirement("B-07")
def test_a_message_to_a_conversation_is_published_there_once(bus: InMemoryBus) -> None:
    sent = send_message("chat:conv1", "  hello \n")

    [payload] = payloads(bus, "chat:conv1")
    assert payload == {
        "id": sent["envelope_id"],
        "conversation_id": "conv1",
        "sender": "agent:unknown",
        "recipient": "chat:conv1",
        "type": "message",
        "content": "hello",
        "metadata": {},
        "created_at": payload["created_at"],
    }
    assert datetime.fromisoformat(payload["created_at"]).utcoffset() is not None
    assert sent == {"ok": True, "envelope_id": payload["id"], "published_to": ["chat:conv1"]}


@requirement("B-07")
def test_a_message_to_an_agent_is_one_envelope_in_the_conversation_and_at_the_agent(
    bus: InMemoryBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAT_TOOL_CONVERSATION_ID", "conv2")
    sent = send_message("agent:DevAgent", "hello")

    assert sent["published_to"] == ["chat:conv2", "chat:DevAgent"]
    [payload] = payloads(bus, "chat:conv2")
    assert payloads(bus, "chat:DevAgent") == [payload]
    assert (payload["conversation_id"], payload["recipient"]) == ("conv2", "agent:DevAgent")


def test_an_agent_with_the_name_of_the_conversation_hears_it_once(bus: InMemoryBus) -> None:
    assert send_message("agent:same", "hello", conversation_id="same")["published_to"] == ["chat:same"]
    assert len(payloads(bus, "chat:same")) == 1


@pytest.mark.parametrize(
    "recipient", ["", "  ", "room:123", "agent:", "chat:", "chat:  ", "conv1", "Chat:conv1", ":x", None]
)
@requirement("B-04")
def test_a_recipient_of_another_form_is_refused(bus: InMemoryBus, recipient: Any) -> None:
    with pytest.raises(
        ValueError, match=r"^recipient must be 'chat:\{conversation_id\}' or 'agent:\{Name\}'$"
    ):
        send_message(recipient, "hello", conversation_id="conv1")


@pytest.mark.parametrize("content", ["", "  \n\t", None])
@requirement("B-04")
def test_blank_content_is_refused(bus: InMemoryBus, content: Any) -> None:
    with pytest.raises(ValueError, match=r"^content must be non-empty$"):
        send_message("chat:conv1", content)
    assert bus.read("chat:conv1") == []


@requirement("B-04")
def test_space_around_a_recipient_is_not_part_of_it_and_colons_are(bus: InMemoryBus) -> None:
    assert send_message(" chat: a:b ", "hello")["published_to"] == ["chat:a:b"]
    assert payloads(bus, "chat:a:b")[0]["recipient"] == "chat:a:b"


@pytest.mark.parametrize(
    ("explicit", "context", "environment", "expected"),
    [
        ("one", {"conversation_id": "two"}, "three", "one"),
        (" ", {"conversation_id": "two"}, "three", "two"),
        (None, {"conversation_id": " two "}, "three", "two"),
        (None, {"conversation_id": None}, "three", "three"),
        (None, {}, " three ", "three"),
        (None, None, "three", "three"),
        (None, {"conversation_id": 7}, "", "7"),
    ],
)
@requirement("B-05")
def test_the_conversation_of_a_message_to_an_agent_is_the_nearest_known(
    bus: InMemoryBus,
    monkeypatch: pytest.MonkeyPatch,
    explicit: str | None,
    context: dict[str, Any] | None,
    environment: str,
    expected: str,
) -> None:
    monkeypatch.setenv("CHAT_TOOL_CONVERSATION_ID", environment)
    sent = send_message("agent:Dev", "hello", conversation_id=explicit, context=context)
    assert sent["published_to"] == [f"chat:{expected}", "chat:Dev"]


@requirement("B-05")
def test_without_any_conversation_a_message_to_an_agent_is_refused(bus: InMemoryBus) -> None:
    with pytest.raises(ValueError, match=r"^conversation_id not available for agent recipient$"):
        send_message("agent:Dev", "hello", context={})
    assert bus.read("chat:Dev") == []


@requirement("B-05")
def test_a_message_to_a_conversation_goes_there_whatever_else_is_known(
    bus: InMemoryBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAT_TOOL_CONVERSATION_ID", "three")
    sent = send_message("chat:conv1", "hello", conversation_id="one", context={"conversation_id": "two"})
    assert sent["published_to"] == ["chat:conv1"]


@pytest.mark.parametrize(
    ("name", "sender"), [("Dev", "agent:Dev"), ("", "agent:unknown"), ("  ", "agent:unknown")]
)
@requirement("B-06")
def test_the_sender_is_the_agent_named_by_the_environment(
    bus: InMemoryBus, monkeypatch: pytest.MonkeyPatch, name: str, sender: str
) -> None:
    monkeypatch.setenv("AGENT_NAME", name)
    send_message("chat:conv1", "hello")
    assert payloads(bus, "chat:conv1")[0]["sender"] == sender


@requirement("B-08")
def test_the_default_bus_is_redis_at_the_address_of_the_environment_made_lazily_and_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []

    class Counted(RedisBus):
        def __init__(self, url: str) -> None:
            made.append(url)
            super().__init__(url)

    monkeypatch.setattr(sending, "RedisBus", Counted)
    with redis_server() as server, ThreadPoolExecutor(8) as pool:
        monkeypatch.setenv("REDIS_URL", server.url)
        set_bus_for_testing(None)
        assert made == []
        list(pool.map(lambda number: send_message("chat:conv1", f"hello {number}"), range(40)))
        assert made == [server.url]
        assert len(get_bus().read("chat:conv1")) == 40
        given = InMemoryBus()
        set_bus_for_testing(given)
        assert get_bus() is given
        set_bus_for_testing(None)
        assert len(get_bus().read("chat:conv1")) == 40
        assert made == [server.url] * 2
        set_bus_for_testing(None)


@requirement("B-08")
def test_without_an_address_the_default_bus_is_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(sending, "RedisBus", lambda url: asked.append(url) or InMemoryBus())
    sending._Buses().get()
    assert asked == ["redis://localhost:6379/0"]


def test_sending_loads_neither_the_sdk_nor_redis() -> None:
    program = (
        "import sys; from roomful.agents_sdk import send_message, set_bus_for_testing; "
        "from roomful.bus import InMemoryBus; set_bus_for_testing(InMemoryBus()); "
        "send_message('chat:c', 'hello'); print({'agents', 'redis'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
