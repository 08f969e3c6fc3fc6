"""One session with one MCP server, kept open by a task of its own. The only file that knows the SDK."""

import asyncio
import logging
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final, TypeVar, cast

import httpx2
import mcp_types
from mcp import Client, MCPError
from mcp.client import Transport
from mcp.client.session import ClientRequestContext
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import BaseModel, TypeAdapter, ValidationError

from roomful.domain.agents import McpServer
from roomful.domain.errors import RoomfulError
from roomful.domain.outbound import Egress
from roomful.domain.shape import Json
from roomful.executors.mcp_http import GuardedTransport
from roomful.executors.mcp_results import LARGEST_RESULT, told
from roomful.tools import Env, expand_headers, expand_url

T = TypeVar("T")
log = logging.getLogger("roomful.mcp")

IDLE: Final = 300.0
"""Seconds after which a session that nobody used is closed."""
_STARTING: Final = 60.0
"""Seconds for a server to get ready: some programs fetch themselves first. Nobody waits that long."""
_PAGES: Final = 16
_PARTING: Final = 8.0
_RESULT: Final = TypeAdapter[mcp_types.CallToolResult | mcp_types.InputRequiredResult](
    mcp_types.CallToolResult | mcp_types.InputRequiredResult
)
_OURSELVES: Final = mcp_types.Implementation(name="roomful", version="1")


class McpFailed(Exception):
    """The server cannot be reached, or answered nothing usable; in a sentence that a model may read."""


class Session:
    """Anybody may call while it `is_open`; the task enters the SDK's scopes and leaves them again."""

    def __init__(self, server: McpServer, egress: Egress, env: Env) -> None:
        self._name = server.name
        self._is_program = bool(server.command)
        self._guard = GuardedTransport(egress, lambda: expand_headers(server.headers, {}, env))
        self._transport = _program(server) if self._is_program else _endpoint(server, self._guard, env)
        self._client: Client | None = None
        self._fault = "the session has ended"
        self._ready = asyncio.Event()
        self._closing = asyncio.Event()
        self._busy = 0
        self._used = asyncio.get_running_loop().time()
        self._task = asyncio.create_task(self._hold(), name=f"mcp {server.name}")

    @property
    def is_open(self) -> bool:
        return not self._task.done() and not self._closing.is_set() and not self._guard.lost_session

    @property
    def has_ended(self) -> bool:
        return self._task.done()

    @property
    def is_busy(self) -> bool:
        return self._busy > 0

    @property
    def is_forgotten(self) -> bool:
        """The server does not know this session any more: what was asked of it was not done."""
        return self._guard.lost_session

    async def list_tools(self) -> list[dict[str, Json]]:
        """Every definition as the server gave it. Raises McpFailed."""
        definitions: list[dict[str, Json]] = []
        cursor: str | None = None
        for _ in range(_PAGES):
            page = await self._ask(partial(_page, mcp_types.PaginatedRequestParams(cursor=cursor)))
            definitions += [_plain(tool) for tool in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                break
        return definitions

    async def call(
        self, tool: str, args: dict[str, Json], responses: dict[str, Json] | None, state: str | None
    ) -> dict[str, Json]:
        """The result as the server gave it, `input_required` included. Raises McpFailed.

        Not by the SDK's `call_tool`: that checks the result against a schema of the server's, whose patterns
        could keep this process busy for ever.
        """
        params: dict[str, Json] = {"name": tool, "arguments": args}
        if responses is not None:
            params |= {"inputResponses": responses}
        if state is not None:
            params |= {"requestState": state}
        try:
            checked = mcp_types.CallToolRequestParams.model_validate(params)
        except ValidationError:
            raise McpFailed("the arguments or the answer cannot be sent to an MCP server") from None
        request = mcp_types.CallToolRequest(params=checked)
        return _plain(await self._ask(lambda client: client.session.send_request(request, _RESULT)))

    async def close(self) -> None:
        """Ends the session, and the program if there is one, in bounded time."""
        self.abandon()
        _, late = await asyncio.wait({self._task}, timeout=_PARTING)
        for task in late:
            task.cancel()

    def abandon(self) -> None:
        """Lets it end by itself, at once if it is not ready yet. Twice is once: what ends must not be
        hurried, or a program would outlive it."""
        if not self._closing.is_set() and not self._ready.is_set():
            self._task.cancel()
        self._closing.set()

    async def _ask(self, question: Callable[[Client], Awaitable[T]]) -> T:
        self._busy += 1
        try:
            await self._ready.wait()
            if self._client is None:
                raise McpFailed(self._fault)
            return await question(self._client)
        except MCPError as error:
            if self._is_program and error.code == mcp_types.CONNECTION_CLOSED:
                self._closing.set()  # the program has ended: the next call starts it again
            raise McpFailed(told(error.message)) from None
        except ValidationError:
            raise McpFailed("the answer is not what an MCP server says") from None
        finally:
            self._busy -= 1
            self._used = asyncio.get_running_loop().time()

    async def _hold(self) -> None:
        try:
            async with asyncio.timeout(_STARTING) as clock, self._connected() as client:
                clock.reschedule(None)
                self._client = client
                self._ready.set()
                await self._until_unused()
        except Exception as error:  # noqa: BLE001 (the SDK raises whatever a server makes it raise)
            self._fault = _reason(error)
            if self._ready.is_set():
                log.warning("the session with the MCP server %s broke: %s", self._name, self._fault)
        finally:
            self._client = None
            self._ready.set()

    def _connected(self) -> Client:
        return Client(self._transport, client_info=_OURSELVES, elicitation_callback=_nobody_there, cache=None)

    async def _until_unused(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._closing.is_set() and (self._busy or loop.time() < self._used + IDLE):
            with suppress(TimeoutError):
                async with asyncio.timeout(IDLE):
                    await self._closing.wait()
        self._closing.set()


def _page(params: mcp_types.PaginatedRequestParams, client: Client) -> Awaitable[mcp_types.ListToolsResult]:
    return client.session.list_tools(params=params)


def _plain(model: BaseModel) -> dict[str, Json]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def _nobody_there(
    context: ClientRequestContext, params: mcp_types.ElicitRequestParams
) -> mcp_types.ElicitResult:
    """An older server asks in the middle of a call, while nobody can wait with it. The newer way is an
    outcome, and does not come here."""
    return mcp_types.ElicitResult(action="cancel")


def _program(server: McpServer) -> Transport:
    """Only an operator's own files can name a command. It gets PATH, HOME and their like, and no secret."""
    program, *args = server.command
    parameters = StdioServerParameters(command=program, args=args)
    return stdio_client(parameters, errlog=sys.__stderr__ or sys.stderr)


@asynccontextmanager
async def _endpoint(server: McpServer, guard: GuardedTransport, env: Env) -> AsyncGenerator[Any, None]:
    url = expand_url(server.url or "", {}, env)
    # trust_env: a proxy of the environment would be a way around the guard.
    async with (
        httpx2.AsyncClient(transport=guard, trust_env=False, timeout=None) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=LARGEST_RESULT) as streams,
    ):
        yield streams


def _reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    match error:
        case MCPError():
            return told(error.message)
        case RoomfulError():
            return error.detail
        case TimeoutError():
            return "it does not get ready"
        case OSError():
            return "its program cannot be started"
        case _:
            return "it does not answer as an MCP server does"
