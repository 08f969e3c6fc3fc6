"""The answer to a call that waits: a stream of how far it has come, and at its end the result."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from starlette.types import Receive, Scope, Send

from roomful.domain.shape import Json
from roomful.web.headers import API_HEADERS
from roomful.web.mcp.rpc import notification
from roomful.web.mcp.tool import Tell
from roomful.web.sse import HEARTBEAT

MOST_UNTOLD = 100
_JSON = "application/json"
_EVENTS = "text/event-stream"


class Reply:
    """`work` makes the response. Whoever hangs up is no longer worked for. Without `as_stream` the client
    reads no events and waits in silence."""

    def __init__(
        self,
        work: Callable[[Tell], Awaitable[bytes]],
        *,
        as_stream: bool,
        progress_token: Json,
        heartbeat: float,
    ) -> None:
        self._work = work
        self._as_stream = as_stream
        self._token = progress_token
        self._heartbeat = heartbeat
        self._untold: list[str] = []
        self._told = 0
        self._changed = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.create_task(_until_gone(receive))
        work = asyncio.ensure_future(self._work(self._tell))
        for task in (gone, work):
            task.add_done_callback(lambda _: self._changed.set())
        try:
            if self._as_stream:
                await send(_start(_EVENTS))
            while not work.done() and not gone.done():
                data = await self._news()
                if data and self._as_stream:
                    await send({"type": "http.response.body", "body": data, "more_body": True})
            if work.done():
                await self._end(work.result(), send)
        finally:
            gone.cancel()
            work.cancel()
            await asyncio.wait([gone, work])

    def _tell(self, sentence: str) -> None:
        if self._token is not None and len(self._untold) < MOST_UNTOLD:
            self._untold.append(sentence)
            self._changed.set()

    async def _news(self) -> bytes:
        """What there is to say, or that there is nothing, at most so long after the last word."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._heartbeat):
                await self._changed.wait()
        is_silent = not self._changed.is_set()
        self._changed.clear()
        return HEARTBEAT if is_silent else self._progress()

    def _progress(self) -> bytes:
        untold, self._untold = self._untold, []
        events: list[bytes] = []
        for sentence in untold:
            self._told += 1
            said = {"progressToken": self._token, "progress": self._told, "message": sentence}
            events.append(_event(notification("notifications/progress", said)))
        return b"".join(events)

    async def _end(self, response: bytes, send: Send) -> None:
        if self._as_stream:
            data = self._progress() + _event(response)
        else:
            await send(_start(_JSON))
            data = response
        await send({"type": "http.response.body", "body": data, "more_body": False})


def _start(kind: str) -> dict[str, Json]:
    headers = {**API_HEADERS, "content-type": kind, "x-accel-buffering": "no"}
    return {
        "type": "http.response.start",
        "status": 200,
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }


def _event(data: bytes) -> bytes:
    return b"event: message\ndata: " + data + b"\n\n"


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
