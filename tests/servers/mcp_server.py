"""Real MCP servers, made with the official SDK, in processes of their own.

    with McpHttpServer() as server:         # streamable HTTP on loopback
        server.url
    STDIO                                   # the command of one that speaks over its standard streams

The server reads a file, if it was given one, each time its tools are listed: so a test can change what a
tool says of itself, or let the server hang.
"""

import contextlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

import httpx

STDIO = (sys.executable, "-P", str(Path(__file__)), "stdio")
ECHOED = "x-secret"
PATIENCE = 30.0


class McpHttpServer:
    """`with` starts it and stops it. `words` is a file whose text is the description of `weather`, or `hang`;
    with `+` in front there is one more tool, `extra`.
    The flag `old` makes it a server of the years before 2026, `json` one that answers without streams."""

    def __init__(self, folder: Path, *flags: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.words = folder / "words.txt"
        self._log = folder / "mcp.txt"
        self._flags = flags
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def authority(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> Self:
        command = [sys.executable, "-P", __file__, "http", str(self.port), str(self.words), *self._flags]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE
        while self._process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(httpx.TransportError):
                httpx.get(self.url)
                return self
            time.sleep(0.05)
        raise AssertionError(f"the MCP server did not answer:\n{self._log.read_text()}")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def _make(words: Path | None, *, old: bool = False) -> Any:
    import anyio
    from mcp import MCPError
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Context
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp_types import (
        METHOD_NOT_FOUND,
        CallToolResult,
        ElicitRequest,
        ElicitRequestFormParams,
        InputRequiredResult,
        TextContent,
    )

    async def without_discover(ctx: Any, call_next: Any) -> Any:
        if ctx.method == "server/discover":
            raise MCPError(code=METHOD_NOT_FOUND, message="Method not found")
        return await call_next(ctx)

    server = MCPServer("tests", log_level="WARNING", middleware=[without_discover] if old else [])

    @server.tool()
    async def weather(city: str) -> dict[str, Any]:
        """The weather in a city."""
        return {"city": city, "degrees": 21}

    @server.tool(name="say.twice", structured_output=False)
    async def say_twice(text: str) -> list[str]:
        """Says it twice."""
        return [text, text]

    @server.tool()
    async def fail() -> str:
        """Always fails."""
        raise ToolError("no such luck")

    @server.tool(structured_output=False)
    async def large(size: int) -> str:
        """A long answer."""
        return "x" * size

    @server.tool(structured_output=False)
    async def slow(seconds: float) -> str:
        """Takes its time."""
        await anyio.sleep(seconds)
        return "at last"

    @server.tool(structured_output=False)
    async def surroundings() -> str:
        """The names of the environment's variables, and the process."""
        return " ".join([str(os.getpid()), *sorted(os.environ)])

    @server.tool(structured_output=False)
    async def secret(ctx: Context) -> str:
        """What came in a header."""
        return f"got {(ctx.headers or {}).get(ECHOED, 'nothing')}"

    @server.tool(structured_output=False)
    async def book(ctx: Context, room: str) -> CallToolResult | InputRequiredResult:
        """Asks before it books."""
        responses = ctx.input_responses
        if not responses:
            schema = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
            params = ElicitRequestFormParams(message=f"Book {room}?", requested_schema=schema)
            return InputRequiredResult(
                input_requests={"confirm": ElicitRequest(params=params)}, request_state=f"room={room}"
            )
        answer = responses["confirm"].model_dump(exclude_none=True)
        said = f"{answer['action']} {answer.get('content')} {ctx.request_state}"
        return CallToolResult(content=[TextContent(text=said)])

    list_tools = server.list_tools

    def said() -> str:
        return words.read_text() if words is not None and words.exists() else ""

    async def list_with_words() -> Any:
        tools = await list_tools()
        text = said()
        if text == "hang":
            await anyio.sleep(60)
        if text.startswith("+"):
            [fail] = [t for t in tools if t.name == "fail"]
            tools = [*tools, fail.model_copy(update={"name": "extra", "description": text[1:]})]
        elif text:
            tools = [t.model_copy(update={"description": text}) if t.name == "weather" else t for t in tools]
        return tools

    server.list_tools = list_with_words  # pyright: ignore[reportAttributeAccessIssue]
    return server


def _main(kind: str, *args: str) -> None:
    if kind == "stdio":
        _make(Path(args[0]) if args else None).run("stdio")
    else:
        port, words, *flags = args
        _make(Path(words), old="old" in flags).run(
            "streamable-http", host="127.0.0.1", port=int(port), json_response="json" in flags
        )


if __name__ == "__main__":
    _main(*sys.argv[1:])
