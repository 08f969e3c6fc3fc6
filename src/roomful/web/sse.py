"""Server-sent events, written straight to ASGI. Whatever can be sent at once goes out in one write."""

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable
from weakref import WeakValueDictionary

from starlette.types import Message, Receive, Scope, Send

from roomful.domain.arguments import Growth
from roomful.domain.entities import Principal
from roomful.domain.errors import RoomfulError
from roomful.domain.events import CutReason, MemberLeft
from roomful.domain.ports import Entry, Subscription, Tell
from roomful.domain.shape import encode_json
from roomful.domain.wire import EVENT_LIMIT, frame, growth_frame, one_frame
from roomful.web.auth import Credential
from roomful.web.headers import API_HEADERS
from roomful.web.line import FAREWELL_SECONDS, Line
from roomful.web.readers import Readers

HEARTBEAT = b": still here\n\n"
DRAINING = one_frame("draining", b'{"retryMs":1000}')

_HEADERS = {
    **API_HEADERS,
    "content-type": "text/event-stream",
    "cache-control": "no-store, no-transform",
    "x-accel-buffering": "no",
}


_NONE: Mapping[str, str] = {}


class Manner:
    """What a protocol wants of a stream besides its frames. `draining` are the last words to a reader who
    should come back in a moment, to another gateway or to this one."""

    def __init__(self, *, headers: Mapping[str, str] = _NONE, draining: bytes = DRAINING) -> None:
        encoded = [(name.encode(), value.encode()) for name, value in {**_HEADERS, **headers}.items()]
        self.start: Message = {"type": "http.response.start", "status": 200, "headers": encoded}
        self.draining = draining


PLAIN = Manner()


class Feed(Protocol):
    """What one stream tells."""

    @property
    def space_id(self) -> str | None: ...
    @property
    def has_ended(self) -> bool:
        """Nothing comes after what was said last."""
        ...

    async def open(self, *, before: Subscription | None = None) -> tuple[Subscription, bytes]:
        """Where to follow from, and what to say first. What it raises becomes a problem answer. `before` is
        what was followed until something may have been missed: then it begins anew."""
        ...

    def frames(self, entries: list[Entry]) -> bytes: ...
    def close(self) -> None: ...


@runtime_checkable
class PlainFeed(Protocol):
    """One whose frames of more of an argument, which everybody may see, differ in offset and text alone."""

    def growth(self, growth: Growth) -> tuple[bytes, bytes, bytes] | None:
        """What is before the offset, between it and the text, and behind that. None: not of this one."""
        ...


def frame_of(entry: Entry, epoch: str, form: int) -> bytes:
    return b"id: %b.%d\n%b\n" % (epoch.encode(), entry.offset, frame(entry.announcement, form))


def growth_of(growth: Growth, epoch: str, form: int) -> tuple[bytes, bytes, bytes] | None:
    """The same for more of one argument: what is around the offset and the text, as JSON."""
    around = growth_frame(growth, form)
    return (b"id: %b." % epoch.encode(), b"\n" + around[0], around[1] + b"\n") if around is not None else None


class SharedFrames:
    """The newest frames of one channel in one form: readers who stand side by side send the same bytes."""

    __slots__ = ("__weakref__", "_epoch", "_form", "_newest")

    def __init__(self, epoch: str, form: int) -> None:
        self._epoch = epoch
        self._form = form
        self._newest: tuple[int, int, bytes | None] = (0, 0, None)

    def of(self, entries: list[Entry]) -> bytes | None:
        """None when some of it is not for everybody, or ends somebody's stream."""
        first, last, frames = self._newest
        if first != entries[0].offset or last != entries[-1].offset:
            frames = None if any(map(_is_personal, entries)) else self._join(entries)
            self._newest = (entries[0].offset, entries[-1].offset, frames)
        return frames

    def _join(self, entries: list[Entry]) -> bytes:
        return b"".join([frame_of(entry, self._epoch, self._form) for entry in entries])


def _is_personal(entry: Entry) -> bool:
    return entry.announcement.audience is not None or isinstance(entry.announcement.event, MemberLeft)


class FrameShelf:
    """Where readers of the same channel find each other's frames; kept only as long as somebody reads."""

    def __init__(self) -> None:
        self._shared: WeakValueDictionary[tuple[str, str, int], SharedFrames] = WeakValueDictionary()

    def of(self, channel: str, epoch: str, form: int) -> SharedFrames:
        key = (channel, epoch, form)
        shared = self._shared.get(key)
        if shared is None:
            shared = self._shared[key] = SharedFrames(epoch, form)
        return shared


class EventStream:
    """One open stream. `opened` first, so that what goes wrong until then is an ordinary answer."""

    def __init__(
        self,
        feed: Feed,
        readers: Readers,
        principal: Principal,
        credential: Credential,
        heartbeat: float,
        manner: Manner = PLAIN,
    ) -> None:
        self.principal = principal
        self.digest = credential.digest
        self._feed = feed
        self._readers = readers
        self._heartbeat = heartbeat
        self._manner = manner
        self._subscription: Subscription | None = None
        self._opening = b""
        self._ended: CutReason | None = None
        self._writer: asyncio.Task[Any] | None = None
        self._is_writing = False
        self._is_stuck = False
        self._is_gone = False
        self._line: Line | None = None

    @property
    def space_id(self) -> str | None:
        return self._feed.space_id

    async def opened(self) -> "EventStream":
        self._readers.admit(self)
        try:
            self._subscription, self._opening = await self._feed.open()
        except BaseException:
            self._close()
            raise
        return self

    def end(self, reason: CutReason) -> None:
        self._ended = reason
        if self._subscription is not None:
            self._subscription.close(reason)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self._subscription is not None
        self._writer = asyncio.current_task()
        self._subscription.on_cut = self._free
        line = self._line = Line(scope, receive, self._hung_up)
        try:
            await self._write(send, self._manner.start)
            last = await self._tell(self._subscription, send)
            async with asyncio.timeout(FAREWELL_SECONDS):
                await send(self._last_words(last))
        except TimeoutError:
            await line.cut()
        except asyncio.CancelledError:
            if not self._is_stuck or self._writer is None:
                raise
            self._writer.uncancel()
            await line.cut()
        finally:
            line.close()
            self._line = self._writer = None
            self._close()

    async def _tell(self, subscription: Subscription, send: Send) -> Subscription:
        data = self._opening
        self._opening = b""
        subscription.ear = self
        while True:
            if data:
                await self._write(send, {"type": "http.response.body", "body": data, "more_body": True})
            if subscription.cut == "renewed" and not self._ended and not self._feed.has_ended:
                data = self._feed.frames(subscription.take())
                if not self._feed.has_ended:
                    subscription, opening = await self._begin_anew(subscription)
                    data += opening
                continue
            if self._ended or self._feed.has_ended or subscription.cut:
                return subscription
            if not await subscription.wait(self._heartbeat):
                data = HEARTBEAT
            elif subscription.cut in (None, "renewed"):
                data = self._feed.frames(subscription.take())
            else:
                data = b""

    async def _begin_anew(self, before: Subscription) -> tuple[Subscription, bytes]:
        """Something may have been missed. Whoever may not read any more is at the end."""
        try:
            subscription, data = await self._feed.open(before=before)
        except RoomfulError:
            before.cut = "closed"
            return before, b""
        subscription.on_cut = self._free
        subscription.ear = self
        self._subscription = subscription
        if self._ended or self._is_gone:
            subscription.close(self._ended or "closed")
        return subscription, data

    def pass_on(self, word: Entry | None) -> bool:
        """Nearly always news can be sent at once, without waking the task that waits for them. No stream ends
        with a word."""
        line, subscription = self._line, self._subscription
        if line is None or subscription is None or self._ended or not line.is_clear():
            return False
        line.write(self._feed.frames([word] if word is not None else subscription.take()))
        return word is not None or not self._feed.has_ended

    def lane(self, growth: Growth) -> Tell | None:
        if self._line is None or not self._line.is_clear() or not isinstance(self._feed, PlainFeed):
            return None
        is_clear, write = self._line.is_clear, self._line.write
        around = self._feed.growth(growth)
        if around is None:
            return None
        before, between, behind = around

        def tell(offset: int, text: str) -> bool:
            data = b"%b%d%b%b%b" % (before, offset, between, encode_json(text), behind)
            if len(data) > EVENT_LIMIT or not is_clear():
                return False
            write(data)
            return True

        return tell

    def _hung_up(self) -> None:
        self._is_gone = True
        if self._subscription is not None:
            self._subscription.close()

    def _last_words(self, subscription: Subscription) -> Message:
        is_draining = "draining" in (subscription.cut, self._ended) and not self._feed.has_ended
        data = self._manner.draining if is_draining else b""
        return {"type": "http.response.body", "body": data, "more_body": False}

    async def _write(self, send: Send, message: Message) -> None:
        self._is_writing = True
        await send(message)
        self._is_writing = False

    def _free(self) -> None:
        """A write that has not returned waits for a client that does not read."""
        if self._is_writing and self._writer is not None:
            self._is_stuck = True
            self._writer.cancel()

    def _close(self) -> None:
        cut = self._why_cut()
        if self._subscription is not None:
            self._subscription.on_cut = self._subscription.ear = None
            self._subscription.close()
        self._feed.close()
        self._readers.dismiss(self, cut)

    def _why_cut(self) -> CutReason | None:
        reason = self._ended or (self._subscription.cut if self._subscription is not None else None)
        return None if self._is_gone and reason == "closed" else reason
