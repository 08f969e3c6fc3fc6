"""People at gateways: what they ask, what they read, and what they made of it."""

import asyncio
import contextvars
import json
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.servers.roomful import Event, View
from tests.simulation.loop import Node, SimLoop

PATIENCE = 60.0
"""Seconds until one who asks hangs up."""

App = Callable[[Any, Any, Any], Coroutine[Any, Any, None]]


class Door(NamedTuple):
    """A gateway that is open."""

    node: Node
    app: App


class Answer(NamedTuple):
    status: int
    """0: the connection was lost, and nobody knows."""
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Connection:
    """A request on its way through a door. `cut` loses it for the one who asked; the gateway notices."""

    def __init__(
        self,
        loop: SimLoop,
        door: Door,
        method: str,
        path: str,
        token: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.status = 0
        self.received = b""
        self.is_over = False
        self.takes = asyncio.Event()
        """Cleared, what the gateway writes is not taken."""
        self.takes.set()
        self._changed = asyncio.Event()
        self._gone = asyncio.Event()
        self._loop = loop
        self._body = b"" if body is None else json.dumps(body).encode()
        self.node = door.node
        path, _, query = path.partition("?")
        given = {"host": "127.0.0.1:8000", "authorization": f"Bearer {token}", **(headers or {})}
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
            "scheme": "http",
            "state": {"roomful.abort": self.cut},
        }
        self._context: contextvars.Context = door.node.context()
        loop.call_later(loop.lag(), self._arrive, door.app, scope, context=self._context)

    def cut(self) -> None:
        self.is_over = True
        self._gone.set()
        self._changed.set()

    async def change(self, seconds: float) -> bool:
        """False when nothing came for so long."""
        self._changed.clear()
        try:
            await asyncio.wait_for(self._changed.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def _arrive(self, app: App, scope: Any) -> None:
        if not self.is_over:
            task = self._loop.create_task(self._serve(app, scope), context=self._context)
            task.add_done_callback(self._ended)

    async def _serve(self, app: App, scope: Any) -> None:
        await app(scope, self._receive, self._send)

    async def _receive(self) -> Any:
        if (body := self._body) is not None:
            self._body = None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        await self.takes.wait()
        if self.is_over:
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            return
        self.received += message.get("body", b"")
        self.is_over = not message.get("more_body", False)
        self._changed.set()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._loop.errors.append(f"a request ended with {error!r}")
        self.cut()


async def ask(
    loop: SimLoop, door: Door | None, method: str, path: str, token: str, body: Any = None, **more: Any
) -> Answer:
    """Answers with status 0 when the connection is lost or nobody is there."""
    if door is None or door.node.is_dead:
        await asyncio.sleep(loop.lag())
        return Answer(0, b"")
    connection = Connection(loop, door, method, path, token, body, **more)
    until = loop.time() + PATIENCE
    while not connection.is_over and loop.time() < until and not door.node.is_dead:
        await connection.change(0.5)
    whole = connection.is_over and not door.node.is_dead
    connection.cut()
    return Answer(connection.status if whole else 0, connection.received)


@dataclass
class Reader:
    """Reads a space at any door, is cut, comes back where it was or where it had been before, and folds."""

    loop: SimLoop
    chance: random.Random
    token: str
    space_id: str
    doors: Callable[[], Door | None]
    heard: "Callable[[Reader, str], None]"
    number: int
    name: str
    events: list[Event] = field(default_factory=list[Event])
    has_left: bool = False
    calm: bool = False
    streams: int = 0
    awake_since: float = 0.0
    """When it went on taking what had been written to it."""

    async def read(self) -> None:
        while True:
            door = self.doors()
            if door is not None:
                await self._follow(door)
            await asyncio.sleep(0.05 + self.chance.random() * (0.1 if self.calm else 3))

    async def _follow(self, door: Door) -> None:
        headers = {"accept": "text/event-stream"}
        if self.events and not self.calm and self.chance.random() < 0.3:
            self.events = self.events[: self.chance.randint(1, len(self.events))]
        if self.events and self.events[-1].id:
            headers["last-event-id"] = self.events[-1].id
        else:
            self.events = []
        path = f"/api/spaces/{self.space_id}/stream"
        connection = Connection(self.loop, door, "GET", path, self.token, headers=headers)
        self.streams += 1
        until = self.loop.time() + self.chance.random() ** 2 * 30
        try:
            await self._take(connection, until)
        finally:
            connection.cut()

    async def _take(self, connection: Connection, until: float) -> None:
        while not connection.is_over and not connection.node.is_dead:
            await connection.change(1.0)
            *frames, connection.received = connection.received.split(b"\n\n")
            for frame in frames:
                self._hear(frame.decode())
            if not self.calm and self.loop.time() > until:
                return
            if not self.calm and self.chance.random() < 0.02:
                connection.takes.clear()
                await asyncio.sleep(self.chance.random() * 5)
                connection.takes.set()
                self.awake_since = self.loop.time()
        self.has_left = connection.status in (403, 404)

    def _hear(self, frame: str) -> None:
        self.heard(self, frame)
        fields = dict(line.split(": ", 1) for line in frame.splitlines() if not line.startswith(":"))
        if "data" in fields:
            self.events.append(
                Event(fields.get("id") or self._last(), fields["event"], json.loads(fields["data"]))
            )

    def _last(self) -> str | None:
        return self.events[-1].id if self.events else None

    def view(self) -> View:
        view = View()
        for event in self.events:
            view.apply(event)
        return view
