"""A message and what comes of it, until everybody whom it woke has done or waits for a person."""

from collections.abc import AsyncGenerator

import msgspec

from roomful.client.connection import Connection, NotNow, Request, path_of
from roomful.client.pausing import Pauses
from roomful.domain.answers import run_as_told
from roomful.domain.errors import Unavailable
from roomful.domain.events import MessageChanged, RunChanged, SpaceEvent
from roomful.domain.messages import Message
from roomful.domain.reading import Draining, Snapshot, Truncated, read_event
from roomful.domain.runs import ENDED, WAITING, Run
from roomful.domain.shape import UNSET, Json


class Asking:
    """One post that is watched. When the connection is lost the same message is posted again: the gateway
    knows it by its `clientMessageId`, says again what there is so far, and goes on from there."""

    def __init__(self, connection: Connection, space_id: str, body: dict[str, Json]) -> None:
        self._connection = connection
        self._space_id = space_id
        path = path_of("spaces", space_id, "messages")
        self._request = Request(method="POST", path=path, body=body, query={"args": "ops"}, streams=True)
        self._busy: set[str] = set()
        self._wait = 0.0

    async def events(self) -> AsyncGenerator[SpaceEvent, None]:
        pauses = Pauses(self._connection.patience)
        while True:
            try:
                async with self._connection.stream(self._request) as stream:
                    while (frames := await stream.read()) is not None:
                        pauses.succeeded()
                        for frame in frames:
                            if (event := await self._read(frame.name, frame.data)) is not None:
                                yield event
                async for event in self._left_over():
                    yield event
                if not self._busy:
                    return
                lost = NotNow(Unavailable("the stream was ended too early"), self._wait)
            except NotNow as error:
                lost = error
            if not await pauses.wait(max(lost.wait, self._wait)):
                raise lost.error
            self._wait = 0.0

    async def _read(self, name: str, data: bytes) -> SpaceEvent | None:
        told = read_event(name, data)
        match told:
            case Truncated():
                return await self._fetched(told.url)
            case Draining():
                self._wait = told.retry_ms / 1000
                return None
            case Snapshot() | None:
                return None
            case RunChanged():
                self._note(told)
                return told
            case _:
                return told

    def _note(self, event: RunChanged) -> None:
        """Runs that another one called are its own business."""
        if event.status in ENDED or event.status in WAITING:
            self._busy.discard(event.run_id)
        elif event.root_run_id is UNSET:
            self._busy.add(event.run_id)

    async def _fetched(self, url: str) -> MessageChanged | None:
        """The message that was too large for the stream, but for what still grows in it: that goes on by its
        own events, and would grow twice if it were taken up as it is by now."""
        prefix = f"/api/spaces/{self._space_id}/messages/"
        if not url.startswith(prefix):
            return None
        message_id = url.removeprefix(prefix)
        request = Request(method="GET", path=path_of("spaces", self._space_id, "messages", message_id))
        message = await self._connection.ask(request, Message)
        settled = [part for part in message.parts if part.status != "streaming"]
        return MessageChanged(self._space_id, msgspec.structs.replace(message, parts=settled))

    async def _left_over(self) -> AsyncGenerator[RunChanged, None]:
        """A gateway also ends the stream of a reader that is too slow: whether it was the end is known by
        how the runs are."""
        for run_id in sorted(self._busy):
            request = Request(method="GET", path=path_of("runs", run_id))
            event = run_as_told(await self._connection.ask(request, Run), self._space_id)
            self._note(event)
            if event.run_id not in self._busy:
                yield event
