"""The link between the processes of one deployment: channels of a Redis or Valkey server.

One connection listens, another sends. When either breaks, both are made anew, and everybody here is told
that something may be lost. Nothing is kept on the server.
"""

import asyncio
import contextlib
import logging
import math
from collections.abc import Callable, Sequence
from typing import Any

from roomful.domain.errors import Invalid

CONNECT_SECONDS = 2.0
SEND_SECONDS = 2.0
QUIET_SECONDS = 0.5
PATIENCE = 2
"""How often a server is asked in vain whether it is there."""
RETRY_SECONDS = 0.25
MOST_WAITING = 16 * 1024 * 1024
"""Bytes that may wait to be sent; when there are more, the server is as good as away."""

log = logging.getLogger("roomful.bus")


class RedisLink:
    def __init__(self, url: str, prefix: str) -> None:
        try:
            from redis.asyncio import ConnectionPool
            from redis.backoff import NoBackoff
            from redis.exceptions import RedisError
            from redis.retry import Retry
        except ImportError as error:
            raise Invalid("--bus redis:// needs another package: pip install 'roomful[redis]'") from error
        self._faults = (RedisError, OSError, TimeoutError)
        try:
            self._pool: Any = ConnectionPool.from_url(  # pyright: ignore[reportUnknownMemberType]
                url,
                socket_connect_timeout=CONNECT_SECONDS,
                socket_timeout=SEND_SECONDS,
                retry=Retry(NoBackoff(), 0),
                protocol=2,
            )
        except ValueError:  # its words may repeat a part of the password
            raise Invalid("--bus: the address is like redis://user:password@host:6379/0") from None
        self._prefix = prefix
        self.is_up = False
        self.on_parcel: Callable[[str, bytes], None] | None = None
        self.on_change: Callable[[bool], None] | None = None
        self._followed: set[str] = set()
        self._acks: dict[str, list[asyncio.Future[None]]] = {}
        self._waiting: list[_Sent] = []
        self._bytes = 0
        self._work = asyncio.Event()
        self._too_much = asyncio.Event()
        self._unanswered = 0
        self._running: asyncio.Task[None] | None = None
        self._is_failing = False
        self._is_closing = False

    async def start(self) -> None:
        up = asyncio.get_running_loop().create_future()
        self._running = asyncio.create_task(self._run(up))
        await asyncio.wait([up], timeout=CONNECT_SECONDS)

    def send(self, parcels: Sequence[tuple[str, bytes]]) -> None:
        if not self.is_up:
            return
        for channel, data in parcels:
            self._put(_Sent(channel, data))
        if self._bytes > MOST_WAITING:
            self._too_much.set()

    async def ask(self, channel: str, parcel: bytes) -> int:
        if not self.is_up:
            return 0
        sent = _Sent(channel, parcel, asyncio.get_running_loop().create_future())
        self._put(sent)
        assert sent.reached is not None
        return await sent.reached

    async def follow(self, channel: str) -> None:
        self._followed.add(channel)
        if not self.is_up:
            return
        ack: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._acks.setdefault(channel, []).append(ack)
        self._put(_Sent(channel, b"", command="SUBSCRIBE"))
        await ack

    def leave(self, channel: str) -> None:
        self._followed.discard(channel)
        if self.is_up:
            self._put(_Sent(channel, b"", command="UNSUBSCRIBE"))

    async def close(self) -> None:
        self._is_closing = True
        self._work.set()
        if self._running is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CONNECT_SECONDS):
                    await self.ask("goodbye", b"")
            self._running.cancel()
            await asyncio.wait([self._running])

    def _put(self, sent: "_Sent") -> None:
        self._waiting.append(sent)
        self._bytes += len(sent.data)
        self._work.set()

    # One connection of each kind, for as long as both hold.

    async def _run(self, up: "asyncio.Future[None]") -> None:
        while True:
            try:
                await self._live(up)
            except self._faults as error:
                if not self._is_failing:
                    log.warning("the bus cannot be reached, readers may be a moment behind: %s", error)
                self._is_failing = True
            except Exception:  # an outermost seam: a server may say anything, and the link is tried again
                log.exception("the bus said something that was not understood")
            await asyncio.sleep(RETRY_SECONDS)

    async def _live(self, up: "asyncio.Future[None]") -> None:
        listener, sender = self._pool.make_connection(), self._pool.make_connection()
        try:
            await listener.connect()
            await sender.connect()
            await self._subscribe_anew(listener)
            self._turned(True)
            if not up.done():
                up.set_result(None)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._listen(listener))
                tasks.create_task(self._watch(listener))
                tasks.create_task(self._send(sender, listener))
        except* self._faults as errors:
            raise OSError(_first(errors)) from None
        finally:
            self._turned(False)
            for connection in (listener, sender):
                await connection.disconnect(nowait=True)

    async def _subscribe_anew(self, listener: Any) -> None:
        """Also to what is followed meanwhile, and not to what is left meanwhile."""
        done: set[str] = set()
        while done != self._followed:
            wanted = self._followed.copy()
            for command, channels in (("SUBSCRIBE", wanted - done), ("UNSUBSCRIBE", done - wanted)):
                for channel in channels:
                    await listener.send_command(command, self._name(channel), check_health=False)
                    await listener.read_response(disconnect_on_error=False)
            done = wanted

    def _turned(self, is_up: bool) -> None:
        if self.is_up == is_up:
            return
        self.is_up = is_up
        if is_up and self._is_failing:
            log.warning("the bus is back")
            self._is_failing = False
        if not is_up:
            waiting, self._waiting, self._bytes = self._waiting, [], 0
            for sent in waiting:
                sent.answer(0)
            for ack in [ack for acks in self._acks.values() for ack in acks]:
                if not ack.done():
                    ack.set_result(None)
            self._acks.clear()
        if self.on_change is not None and not self._is_closing:
            self.on_change(is_up)

    async def _listen(self, listener: Any) -> None:
        while True:
            said = await listener.read_response(timeout=math.inf, disconnect_on_error=False)
            self._unanswered = 0
            self._heard(said)

    async def _watch(self, listener: Any) -> None:
        """A server that says nothing is asked whether it is there."""
        self._unanswered = 0
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._too_much.wait(), QUIET_SECONDS)
                self._too_much.clear()
                raise OSError("it takes in less than there is to say")
            if self._unanswered == PATIENCE:
                raise OSError("it does not answer")
            self._unanswered += 1
            await listener.send_command("PING", check_health=False)

    def _heard(self, said: Any) -> None:
        match said:
            case [b"message", name, data] if self.on_parcel is not None:
                self.on_parcel(name.decode().removeprefix(f"{self._prefix}:"), data)
            case [b"subscribe", name, _]:
                for ack in self._acks.pop(name.decode().removeprefix(f"{self._prefix}:"), []):
                    if not ack.done():
                        ack.set_result(None)
            case _:
                pass

    async def _send(self, sender: Any, listener: Any) -> None:
        while True:
            if not self._waiting:
                self._work.clear()
                await self._work.wait()
                continue
            batch, self._waiting, self._bytes = self._waiting, [], 0
            try:
                await self._send_batch(sender, listener, batch)
            finally:
                for sent in batch:
                    sent.answer(0)

    async def _send_batch(self, sender: Any, listener: Any, batch: "Sequence[_Sent]") -> None:
        published = [sent for sent in batch if sent.command == "PUBLISH"]
        for sent in batch:
            if sent.command != "PUBLISH":
                await listener.send_command(sent.command, self._name(sent.channel), check_health=False)
        if not published:
            return
        commands = [("PUBLISH", self._name(sent.channel), sent.data) for sent in published]
        await sender.send_packed_command(sender.pack_commands(commands), check_health=False)
        for sent in published:
            sent.answer(await sender.read_response())

    def _name(self, channel: str) -> str:
        return f"{self._prefix}:{channel}"


class _Sent:
    """Something on its way to the server."""

    __slots__ = ("channel", "command", "data", "reached")

    def __init__(
        self,
        channel: str,
        data: bytes,
        reached: "asyncio.Future[int] | None" = None,
        command: str = "PUBLISH",
    ) -> None:
        self.channel = channel
        self.data = data
        self.reached = reached
        self.command = command

    def answer(self, count: int) -> None:
        if self.reached is not None and not self.reached.done():
            self.reached.set_result(count)


def _first(errors: BaseExceptionGroup[Any]) -> str:
    return str(errors.exceptions[0])
