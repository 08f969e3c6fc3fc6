"""A space, live: what it holds now, and what happens next."""

from collections import deque
from collections.abc import Callable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import NamedTuple, Self, TypeAlias

from roomful.client.connection import Connection, NotNow, Request, Stream, path_of
from roomful.client.pausing import Pauses
from roomful.client.sse import Frame
from roomful.domain.answers import Snapshot, run_as_told
from roomful.domain.errors import Unavailable
from roomful.domain.events import Position, RunChanged, SpaceEvent
from roomful.domain.fold import SpaceView
from roomful.domain.messages import Message, ToolCallPart
from roomful.domain.reading import Draining, Truncated, read_event
from roomful.domain.shape import UNSET
from roomful.domain.spaces import Member

Happening: TypeAlias = SpaceEvent | Snapshot
"""What following a space yields: an event, or a snapshot when the view began anew."""
OnConnection: TypeAlias = Callable[[bool], None]


class WaitingCard(NamedTuple):
    """`message` shows it, `part` is what is seen of it. `run` goes on with the answer; None where no run
    waits for one, and the answer starts one."""

    message: Message
    part: ToolCallPart
    run: RunChanged | None

    @property
    def run_id(self) -> str:
        """What to answer it with."""
        return self.part.run_id or self.message.run_id or ""


class LiveSpace:
    """`async with` opens it and loads what is there; `async for` yields what happens, each event after it was
    applied here. Nothing is read ahead: the view changes only while somebody asks for the next event.

    A connection that is lost is made again, from the last position. Where that is not known any more the view
    begins anew, and the snapshot is yielded. It ends by raising: when the token is not valid any more, or the
    space is not there for its owner.
    """

    def __init__(self, connection: Connection, space_id: str, on_connection: OnConnection | None) -> None:
        self.space_id = space_id
        self._connection = connection
        self._on_connection = on_connection
        self._view = SpaceView()
        self._position: Position | None = None
        self._has_more = False
        self._frames: deque[Frame] = deque()
        self._stream: Stream | None = None
        self._closing = AsyncExitStack()
        self._pauses = Pauses(connection.patience)
        self._wait = 0.0
        self._is_lost = False
        self._is_closed = False

    async def __aenter__(self) -> Self:
        try:
            while self._position is None:
                await self._next()
        except BaseException:
            await self._leave()
            raise
        self._pauses = Pauses(None)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_closed = True
        await self._leave()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Happening:
        return await self._next()

    @property
    def position(self) -> str:
        """Of the last event that was applied, as the gateway counts."""
        return str(self._position or "")

    @property
    def has_more(self) -> bool:
        """There are messages before the first one here."""
        return self._has_more

    @property
    def members(self) -> dict[str, Member]:
        return self._view.members

    @property
    def runs(self) -> dict[str, RunChanged]:
        """Runs that have not ended."""
        return self._view.runs

    def messages(self) -> list[Message]:
        """Oldest first, each with all that was written so far."""
        return self._view.messages()

    def message(self, message_id: str) -> Message | None:
        return self._view.message(message_id)

    def waiting(self) -> list[WaitingCard]:
        """Cards that people may answer, oldest first."""
        held_up = {
            pending.tool_call_id: run
            for run in self._view.runs.values()
            for pending in run.pending_tool_calls or ()
            if pending.asks_people and pending.waits_for != "reply"
        }
        return [
            WaitingCard(message, part, held_up.get(part.tool_call_id))
            for message in self.messages()
            for part in message.parts
            if isinstance(part, ToolCallPart)
            and part.status == "waiting"
            and (part.asks is not UNSET or part.tool_call_id in held_up)
        ]

    async def _next(self) -> Happening:
        while not self._is_closed:
            while self._frames:
                if (happened := await self._take(self._frames.popleft())) is not None:
                    return happened
            try:
                await self._read()
            except NotNow as lost:
                await self._lost(lost)
        raise StopAsyncIteration

    async def _read(self) -> None:
        if self._stream is None:
            last = str(self._position) if self._position is not None else None
            path = path_of("spaces", self.space_id, "stream")
            request = Request(method="GET", path=path, query={"args": "ops"}, streams=True)
            self._stream = await self._closing.enter_async_context(self._connection.stream(request, last))
        frames = await self._stream.read()
        if frames is None:
            raise NotNow(Unavailable(f"the stream of {self.space_id!r} was ended"), self._wait)
        self._found()
        self._frames.extend(frames)

    async def _lost(self, lost: NotNow) -> None:
        await self._leave()
        self._wait = 0.0
        if not self._is_lost:
            self._is_lost = True
            self._tell(False)
        if not await self._pauses.wait(lost.wait):
            raise lost.error

    def _found(self) -> None:
        self._pauses.succeeded()
        if self._is_lost:
            self._is_lost = False
            self._tell(True)

    def _tell(self, is_connected: bool) -> None:
        if self._on_connection is not None:
            self._on_connection(is_connected)

    async def _leave(self) -> None:
        self._stream = None
        await self._closing.aclose()

    async def _take(self, frame: Frame) -> Happening | None:
        position = Position.parse(frame.id) if frame.id is not None else None
        told = read_event(frame.name, frame.data)
        if position is not None and self._knows(position) and not isinstance(told, Snapshot):
            return None
        match told:
            case Truncated():
                await self._begin_anew()
                return None
            case Draining():
                self._wait = told.retry_ms / 1000
                return None
            case Snapshot():
                self._load(told)
            case None:
                pass
            case _:
                self._view.apply(told)
        self._position = position or self._position
        return told

    def _knows(self, position: Position) -> bool:
        known = self._position
        return known is not None and known.epoch == position.epoch and position.offset <= known.offset

    async def _begin_anew(self) -> None:
        """What was too large to be told is in the next snapshot."""
        self._position = None
        self._frames.clear()
        await self._leave()

    def _load(self, snapshot: Snapshot) -> None:
        self._view = SpaceView()
        self._has_more = snapshot.has_more
        runs = [run_as_told(run, self.space_id) for run in snapshot.runs]
        self._view.load(snapshot.messages, snapshot.members, runs)
