"""The web application without a server: a house whose agents do nothing, and visitors who ask it things."""

import asyncio
import contextlib
import hashlib
import inspect
import itertools
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from roomful.app.clock import SystemClock
from roomful.app.others import Alone
from roomful.bus import MemoryBus
from roomful.domain.changes import AddEntity, AddSpace, AddToken, Change, PutMember
from roomful.domain.entities import Entity, Token
from roomful.domain.errors import Conflict
from roomful.domain.events import Announcement, SpaceEvent
from roomful.domain.ports import McpServers, Store
from roomful.domain.run_changes import SaveRun
from roomful.domain.runs import Lease, Run
from roomful.domain.spaces import Role, Space
from roomful.runs.agents import Agents
from roomful.runs.answers import Answers
from roomful.runs.bounds import Bounds
from roomful.runs.inspecting import Inspecting
from roomful.runs.intake import Intake
from roomful.runs.outside.envelopes import Envelopes
from roomful.runs.replies import Replies
from roomful.runs.starting import Starting
from roomful.runs.waking import Waking
from roomful.runs.worker import Worker
from roomful.spaces.access import Access
from roomful.spaces.announcer import Announcer
from roomful.spaces.auditing import AuditLog
from roomful.spaces.blobs import Blobs
from roomful.spaces.history import History
from roomful.store import open_store
from roomful.web import House, WebApp, make_app
from roomful.web.limits import Limits

ADMIN_KEY = "the-admin-key"
PATIENCE = 10.0


class CountedIds:
    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def new(self, prefix: str) -> str:
        return f"{prefix}_{next(self._numbers):08}"

    def secret(self) -> str:
        return f"secret-{next(self._numbers):08}"


class IdleWorker:
    """Takes no run up, so that a test says itself what becomes of one."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def reserve(self, run_id: str) -> Lease | None:
        return None

    def voice(self, run_id: str) -> None:
        return None

    def drain(self) -> None:
        """There is nothing to hand over."""

    async def cancel(self, run_id: str, also: Sequence[Change] = ()) -> Run:
        run = await self._store.run(run_id)
        assert run is not None
        canceled = msgspec.structs.replace(run, status="canceled")
        await self._store.commit([SaveRun(canceled), *also])
        return canceled


class FirstAnswers:
    """The first answer to a call counts."""

    def __init__(self, store: Store) -> None:
        self.given: dict[str, Any] = {}
        self._store = store

    async def answer(
        self,
        principal: Any,
        run_id: str,
        call_id: str,
        result: Any,
        *,
        also: Sequence[Change] = (),
        **more: Any,
    ) -> None:
        if call_id in self.given:
            raise Conflict("answered already", outcome={"result": self.given[call_id]})
        self.given[call_id] = result
        await self._store.commit(also)

    async def member_left(self, space_id: str) -> None:
        assert space_id

    async def space_removed(self, space_id: str, runs: Any) -> None:
        assert all(run.trigger.space_id == space_id for run in runs)


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Event(NamedTuple):
    id: str
    name: str
    data: Any


class Stream:
    """An open answer. `sends` are the pieces as they were written."""

    def __init__(self) -> None:
        self.start: dict[str, Any] = {}
        self.sends: list[bytes] = []
        self.is_over = False
        self.aborted = asyncio.Event()
        self.hold = asyncio.Event()
        """Cleared, the client reads nothing: a write does not return."""
        self.hold.set()
        self.task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._gone = asyncio.Event()

    async def send(self, message: Any) -> None:
        await self.hold.wait()
        if message["type"] == "http.response.start":
            self.start = message
        else:
            self.sends.append(message.get("body", b""))
            self.is_over = not message.get("more_body", False)
        self._changed.set()

    def abort(self) -> None:
        self.aborted.set()
        self._gone.set()

    def hang_up(self) -> None:
        self._gone.set()

    async def wait_gone(self) -> None:
        await self._gone.wait()

    @property
    def text(self) -> str:
        return b"".join(self.sends).decode()

    @property
    def events(self) -> list[Event]:
        frames = (frame for frame in self.text.split("\n\n")[:-1] if not frame.startswith(":"))
        return [_event(frame) for frame in frames]

    def heard(self) -> list[Event]:
        """The events, without the frame that only says where a stream begins."""
        frames = self.text.split("\n\n")[:-1]
        return [_event(frame) for frame in frames if "\ndata: " in frame]

    def names(self) -> list[str]:
        return [event.name for event in self.events]

    async def until(self, is_so: "Callable[[Stream], object]") -> None:
        async with asyncio.timeout(PATIENCE):
            while not is_so(self):
                self._changed.clear()
                await self._changed.wait()

    async def event(self, name: str, count: int = 1) -> Event:
        await self.until(lambda stream: stream.names().count(name) >= count)
        return [event for event in self.events if event.name == name][count - 1]

    async def over(self) -> None:
        assert self.task is not None
        async with asyncio.timeout(PATIENCE):
            await self.task


def _event(frame: str) -> Event:
    fields = dict(line.split(": ", 1) for line in frame.splitlines())
    return Event(fields.get("id", ""), fields["event"], json.loads(fields["data"]))


class Visit:
    """The house, its application, and whoever knocks."""

    def __init__(self, house: House, answers: FirstAnswers) -> None:
        self.house = house
        self.answers = answers
        self.app: WebApp = make_app(house)
        self._streams: list[Stream] = []

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = None,
        headers: Mapping[str, str] = {},
        pieces: list[bytes] | None = None,
    ) -> Answer:
        stream = self.open(method, path, body, token=token, headers=headers, pieces=pieces)
        await stream.over()
        given = {name.decode(): value.decode() for name, value in stream.start["headers"]}
        return Answer(stream.start["status"], given, b"".join(stream.sends))

    def open(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = None,
        headers: Mapping[str, str] = {},
        pieces: list[bytes] | None = None,
    ) -> Stream:
        stream = Stream()
        if pieces is None:
            pieces = [body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()]
        given = {"host": "127.0.0.1:8000", **headers}
        if token is not None:
            given["authorization"] = f"Bearer {token}"
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in given.items()],
            "scheme": "http",
            "state": {"roomful.abort": stream.abort},
        }
        said = iter(pieces)
        count = len(pieces)

        async def receive() -> Any:
            nonlocal count
            if count:
                count -= 1
                return {"type": "http.request", "body": next(said), "more_body": count > 0}
            await stream.wait_gone()
            return {"type": "http.disconnect"}

        stream.task = asyncio.create_task(self.app(scope, receive, stream.send))
        self._streams.append(stream)
        return stream

    async def person(self, entity_id: str, *, kind: Any = "human", token: str | None = None) -> str:
        """Somebody new, and their token."""
        token = token or f"token-of-{entity_id}"
        now = self.house.clock.iso()
        entity = Entity(id=entity_id, name=entity_id.title(), kind=kind, created_at=now)
        made = Token(id=f"tok_{entity_id}", entity_id=entity_id, created_at=now)
        digest = hashlib.sha256(token.encode()).digest()
        await self.house.store.commit([AddEntity(entity), AddToken(made, digest)])
        return token

    async def space(self, space_id: str, **members: Role) -> None:
        space = Space(id=space_id, name=space_id.title(), created_at=self.house.clock.iso())
        put = [PutMember(space_id, who, role) for who, role in members.items()]
        await self.house.store.commit([AddSpace(space), *put])

    def announce(self, space_id: str, event: SpaceEvent, **more: Any) -> None:
        self.house.announcer([Announcement(event=event, space_id=space_id, **more)])

    async def leave(self) -> None:
        """Whoever still reads hangs up."""
        for stream in self._streams:
            stream.hang_up()
            stream.hold.set()
            if stream.task is not None:
                await asyncio.wait([stream.task], timeout=PATIENCE)
        self._streams.clear()

    async def close(self) -> None:
        await self.leave()
        await self.house.store.close()


async def open_visit(**changes: Any) -> Visit:
    clock, ids = SystemClock(), CountedIds()
    store = await open_store("sqlite://:memory:", clock)
    bus = MemoryBus(clock, lambda: "ep0ch")
    access, announcer = Access(store), Announcer(bus)
    worker = cast(Worker, IdleWorker(store))
    answers = FirstAnswers(store)
    starting = Starting(worker=worker, announcer=announcer, clock=clock, ids=ids)
    bounds = Bounds(store, clock, ids)
    agents = Agents(store, lambda config: config)
    intake = Intake(
        store=store,
        access=access,
        announcer=announcer,
        starting=starting,
        waking=Waking(store=store, starting=starting, clock=clock),
        replies=Replies(store=store, worker=worker, announcer=announcer, clock=clock),
        bounds=bounds,
        clock=clock,
        ids=ids,
    )
    fields: dict[str, Any] = {
        "store": store,
        "bus": bus,
        "others": Alone(),
        "clock": clock,
        "ids": ids,
        "access": access,
        "announcer": announcer,
        "audit": AuditLog(clock, ids),
        "history": History(store, announcer),
        "blobs": Blobs(store, clock, ids),
        "intake": intake,
        "envelopes": Envelopes(store=store, access=access, intake=intake),
        "worker": worker,
        "answers": cast(Answers, answers),
        "inspecting": Inspecting(store=store, agents=agents, bounds=bounds, worker=worker),
        "mcp": cast(McpServers, None),
        "limits": Limits(0, 0),
        "admin_digest": hashlib.sha256(ADMIN_KEY.encode()).digest,
        "allowed_hosts": frozenset({"127.0.0.1", "localhost", "::1"}),
        "check_config": lambda config, source: config,
        "check_callback": _no,
        "is_ready": _yes,
    }
    return Visit(House(**fields | changes), answers)


async def _no(call_id: str, key: str) -> bool:
    return False


async def _yes() -> bool:
    return True


@contextlib.asynccontextmanager
async def visiting(**changes: Any) -> AsyncIterator[Visit]:
    visit = await open_visit(**changes)
    try:
        yield visit
    finally:
        await visit.close()


def story(**changes: Any) -> Callable[[Callable[..., Coroutine[Any, Any, None]]], Callable[..., None]]:
    """A test whose first argument is a house of its own; `changes` are other fields of the house."""

    def decorate(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
        def run(**given: Any) -> None:
            async def tell() -> None:
                async with visiting(**changes) as house:
                    await test(house, **given)

            asyncio.run(tell())

        signature = inspect.signature(test)
        parameters = list(signature.parameters.values())[1:]
        run.__signature__ = signature.replace(parameters=parameters)  # pyright: ignore[reportFunctionMemberAccess]
        run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
        return run

    return decorate
