"""An AI SDK chat of one person with one agent of a gateway that several tests share."""

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.clients.node import Node
from tests.http.test_delegation import same
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.roomful import Caller, Roomful, openai

_numbers = itertools.count(1)


@dataclass
class Chatting:
    """Names that no other test has."""

    house: Roomful
    ada: Caller
    version: int
    number: int = field(default_factory=lambda: next(_numbers))

    @property
    def agent(self) -> str:
        return f"shop-{self.number}"

    @property
    def chat(self) -> str:
        return f"chat-{self.number}"

    def casts(self, model: FakeOpenAI, *tools: Any, name: str = "shop", **more: Any) -> str:
        config = {"instructions": f"You are {name}.", "speaks": "text", **more}
        return self.house.agent(self.agent, openai(model.base_url), *tools, **config)

    def client(self, who: Caller | None = None, **more: Any) -> Node:
        given = {"chat": self.chat, "body": {"agentId": self.agent}, "notes": True, **more}
        token = (who or self.ada).token
        return Node("ai_sdk.mjs", url=self.house.url, token=token, version=self.version, **given)

    @contextmanager
    def sending(self, text: str = "go", **more: Any) -> "Iterator[tuple[Node, Any]]":
        with self.client(**more) as client:
            yield client, client.begin("send", text=text)

    def history(self, who: Caller | None = None) -> list[dict[str, Any]]:
        params = {"threadId": self.chat, "sdk": self.version}
        return (who or self.ada).get("/api/chat", params=params)

    def loaded(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """As a reload shows it: in version 5 without calls that are still being written."""
        if self.version > 5:
            return messages
        return [
            one | {"parts": [part for part in one["parts"] if part.get("state") != "input-streaming"]}
            for one in messages
        ]

    def agrees(self, state: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What the client has is what a reload shows; gives it."""
        stored = self.history()
        same(_compared(state["messages"]), _compared(stored))
        return stored

    def runs(self, status: str | None = None) -> list[dict[str, Any]]:
        params = {"spaceId": self.chat} | ({"status": status} if status else {})
        return self.ada.get("/api/runs", params=params)["runs"]


def _compared(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A client has no metadata of what its user wrote."""
    return [one | {"metadata": None} if one["role"] == "user" else one for one in messages]


def newest(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The last part of what the agent says."""
    return (messages[-1]["parts"] or [{}])[-1] if messages[-1]["role"] == "assistant" else {}


def shapes(message: Mapping[str, Any]) -> list[str]:
    return [f"{part['type']} {part.get('state', '')}".strip() for part in message["parts"]]
