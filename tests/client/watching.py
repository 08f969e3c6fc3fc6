"""What tests of the client share: a live space compared with a page of it, and a connection that breaks."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Self

import msgspec

from roomful import Client
from roomful.client import Happening, LiveSpace
from roomful.domain.answers import Snapshot
from roomful.domain.events import Position, RunChanged, TextDelta
from roomful.domain.runs import ENDED
from tests.http.test_delegation import same
from tests.servers.roomful import PATIENCE, Caller


def run(story: Coroutine[Any, Any, None]) -> None:
    async def within() -> None:
        async with asyncio.timeout(2 * PATIENCE):
            await story

    asyncio.run(within())


def client_of(caller: Caller, **more: Any) -> Client:
    return Client(more.pop("url", caller.house.url), caller.token, **more)


def offset(position: str) -> tuple[str, int]:
    parsed = Position.parse(position)
    assert parsed is not None, position
    return parsed.epoch, parsed.offset


def state(space: LiveSpace) -> Any:
    return msgspec.to_builtins(space.messages())


async def compare(space: LiveSpace, caller: Caller) -> list[Happening]:
    """A page, and the live space brought to just that position, are the same. What happened until then."""
    page = await asyncio.to_thread(
        caller.get, f"/api/spaces/{space.space_id}/messages", params={"limit": 200}
    )
    epoch, last = offset(page["position"])
    happened: list[Happening] = []
    while offset(space.position)[0] != epoch or offset(space.position)[1] < last:
        happened.append(await anext(space))
    assert offset(space.position) == (epoch, last)
    same(state(space), page["messages"])
    return happened


async def until(space: LiveSpace, found: Callable[[Happening], bool]) -> list[Happening]:
    happened: list[Happening] = []
    async for event in space:
        happened.append(event)
        if found(event):
            return happened
    raise AssertionError("it ended")


def over(space: LiveSpace, run_id: str) -> Callable[[Happening], bool]:
    """The run has ended; a view that began anew does not hold it any more."""
    return lambda event: ended(run_id)(event) or (isinstance(event, Snapshot) and run_id not in space.runs)


def ended(run_id: str | None = None) -> Callable[[Happening], bool]:
    def found(event: Happening) -> bool:
        is_run = isinstance(event, RunChanged) and run_id in (None, event.run_id)
        return is_run and isinstance(event, RunChanged) and event.status in ENDED

    return found


def of(kind: type[Any]) -> Callable[[Happening], bool]:
    return lambda event: isinstance(event, kind)


def check_no_gap(events: Sequence[Happening], begun: dict[str, int]) -> None:
    """Every character came once. `begun` is how long each text already was."""
    lengths = dict(begun)
    for event in events:
        if isinstance(event, TextDelta):
            assert lengths.get(event.part_id, 0) == event.offset
            lengths[event.part_id] = event.offset + len(event.delta)


class Breaking:
    """A way to a server that ends each connection after so many bytes of what the server says; when the list
    is used up, none."""

    def __init__(self, port: int, cuts: Sequence[int] = ()) -> None:
        self._target = port
        self.cuts = list(cuts)
        self.connections = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.connections += 1
        left = self.cuts.pop(0) if self.cuts else None
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        ways = [
            asyncio.create_task(self._pass(reader, back, None)),
            asyncio.create_task(self._pass(there, writer, left)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            writer.close()
            back.transport.abort()

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, left: int | None
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if left is not None and len(data) >= left:
                    writer.write(data[:left])
                    await writer.drain()
                    return
                left = left - len(data) if left is not None else None
                writer.write(data)
                await writer.drain()
