"""The line to one client: it can be cut, and it says when the client has hung up."""

import asyncio
import contextlib
from collections.abc import Callable

from starlette.types import Receive, Scope

ABORT = "roomful.abort"
"""Where the server puts a connection's way to be cut although its client reads nothing any more."""
WHEN_GONE = "roomful.when_gone"
"""Where it puts whom to tell what is to be called when the client has gone, so that nobody has to listen."""
IS_CLEAR = "roomful.is_clear"
"""Where it puts a way to ask whether the client has taken all that was sent of a stream before."""
WRITE = "roomful.write"
"""And a way to send a piece of it then, without waiting."""
FAREWELL_SECONDS = 1.0


class Line:
    """`on_gone` is called once, when the client has hung up or was cut off."""

    __slots__ = ("_abort", "_is_gone", "_listener", "_on_gone", "_waiter", "_when_gone", "is_clear", "write")

    def __init__(self, scope: Scope, receive: Receive, on_gone: Callable[[], None]) -> None:
        state = scope.get("state", {})
        self._abort: Callable[[], None] | None = state.get(ABORT)
        self._when_gone: Callable[[Callable[[], None] | None], None] | None = state.get(WHEN_GONE)
        self.is_clear: Callable[[], bool] = state.get(IS_CLEAR, _never)
        self.write: Callable[[bytes], None] = state.get(WRITE, _nowhere)
        self._on_gone = on_gone
        self._is_gone = False
        self._waiter: asyncio.Future[None] | None = None
        self._listener: asyncio.Task[None] | None = None
        if self._when_gone is not None:
            self._when_gone(self._gone)
        else:
            self._listener = asyncio.create_task(self._listen(receive))

    async def cut(self) -> None:
        if self._abort is None:
            return
        self._abort()
        if not self._is_gone:
            self._waiter = asyncio.get_running_loop().create_future()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._waiter, FAREWELL_SECONDS)

    def close(self) -> None:
        if self._when_gone is not None:
            self._when_gone(None)
        if self._listener is not None:
            self._listener.cancel()

    async def _listen(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._gone()

    def _gone(self) -> None:
        if self._is_gone:
            return
        self._is_gone = True
        self._on_gone()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _never() -> bool:
    return False


def _nowhere(_: bytes) -> None:
    raise AssertionError("the line is never clear")
