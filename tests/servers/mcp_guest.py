"""Somebody who comes to a Roomful with the official MCP client.

    guest = McpGuest(ada, "legacy")                 # or "2026-07-28", or "auto"
    guest.call("list_spaces").structured_content

Every verb is a connection of its own: nothing is kept between two of them on either side.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from tests.servers.roomful import PATIENCE, Caller

T = TypeVar("T")
ERAS = ("legacy", "2026-07-28")


@dataclass
class McpGuest:
    who: Caller
    mode: str = "auto"
    headers: dict[str, str] = field(default_factory=dict[str, str])
    progress: list[tuple[float, str | None]] = field(default_factory=list[tuple[float, str | None]])
    """What was told about the calls so far."""

    def ask(self, question: Callable[[Client], Awaitable[T]]) -> T:
        async def main() -> T:
            headers = {"authorization": f"Bearer {self.who.token}", **self.headers}
            async with (
                httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http,
                Client(
                    streamable_http_client(f"{self.who.house.url}/mcp", http_client=http),
                    mode=self.mode,
                    cache=None,
                ) as client,
            ):
                return await question(client)

        return asyncio.run(main())

    def call(self, name: str, **arguments: Any) -> CallToolResult:
        async def note(progress: float, total: float | None, message: str | None) -> None:
            self.progress.append((progress, message))

        return self.ask(lambda client: client.call_tool(name, arguments, progress_callback=note))

    def data(self, name: str, **arguments: Any) -> Any:
        """What a call that goes well gives, as data; the client has checked it against the tool's schema."""
        result = self.call(name, **arguments)
        assert not result.is_error, text_of(result)
        return result.structured_content

    def refused(self, name: str, **arguments: Any) -> Any:
        """The problem of a call that does not."""
        result = self.call(name, **arguments)
        assert result.is_error, text_of(result)
        assert text_of(result).startswith(result.structured_content["detail"])
        return result.structured_content


def text_of(result: CallToolResult) -> str:
    [content] = result.content
    assert content.type == "text"
    return content.text
