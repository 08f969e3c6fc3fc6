"""The link between gateways, on a real server: in order, whatever the channel, and honest about loss."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from redis.asyncio import Connection

from roomful.bus.redis_link import RedisLink
from roomful.domain.errors import Invalid
from tests.servers.redis import RedisServer

PATIENCE = 30.0


class Process:
    """One end of the link, and what it heard."""

    def __init__(self, url: str, prefix: str = "test") -> None:
        self.link = RedisLink(url, prefix)
        self.heard: list[tuple[str, bytes]] = []
        self.turns: list[bool] = []
        self._changed = asyncio.Event()
        self.link.on_parcel = lambda channel, data: self._note(self.heard.append, (channel, data))
        self.link.on_change = lambda is_up: self._note(self.turns.append, is_up)

    def _note(self, put: Callable[[Any], None], what: object) -> None:
        put(what)
        self._changed.set()

    async def until(self, found: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not found():
                self._changed.clear()
                await self._changed.wait()


@asynccontextmanager
async def linked(*processes: Process) -> AsyncGenerator[None]:
    for process in processes:
        await process.link.start()
    try:
        yield
    finally:
        for process in processes:
            await process.link.close()


def test_parcels_come_in_the_order_of_their_sending_across_channels(redis: RedisServer) -> None:
    async def check() -> None:
        one, two = Process(redis.url), Process(redis.url)
        async with linked(one, two):
            for channel in ("a", "b"):
                await two.link.follow(channel)
            sent = [("ab"[number % 2], str(number).encode()) for number in range(500)]
            for parcel in sent:
                one.link.send([parcel, ("unfollowed", b"x")])
                await asyncio.sleep(0)
            await two.until(lambda: len(two.heard) == 500)
            assert two.heard == sent

    asyncio.run(check())


def test_nothing_sent_after_follow_returned_is_missed_and_nothing_after_leave_is_heard(
    redis: RedisServer,
) -> None:
    async def check() -> None:
        one, two = Process(redis.url), Process(redis.url)
        async with linked(one, two):
            for number in range(50):
                await two.link.follow(f"c{number}")
                one.link.send([(f"c{number}", b"here")])
            await two.until(lambda: len(two.heard) == 50)
            two.link.leave("c0")
            await two.link.follow("end")
            one.link.send([("c0", b"not here"), ("end", b"")])
            await two.until(lambda: two.heard[-1] == ("end", b""))
            assert two.heard[50:] == [("end", b"")]

    asyncio.run(check())


def test_a_question_knows_whom_it_reaches(redis: RedisServer) -> None:
    async def check() -> None:
        one, two, three = (Process(redis.url) for _ in range(3))
        async with linked(one, two, three):
            for process in (one, two):
                await process.link.follow("all")
            assert await three.link.ask("all", b"?") == 2
            assert await three.link.ask("nobody", b"?") == 0
        async with linked(one2 := Process(redis.url)):
            assert await one2.link.ask("all", b"?") == 0

    asyncio.run(check())


def test_deployments_on_one_server_do_not_meet(redis: RedisServer) -> None:
    async def check() -> None:
        one, other = Process(redis.url, "one"), Process(redis.url, "other")
        async with linked(one, other):
            await one.link.follow("all")
            await other.link.follow("all")
            assert await other.link.ask("all", b"mine") == 1
            assert await one.link.ask("all", b"ours") == 1
            await one.until(lambda: bool(one.heard))
            assert one.heard == [("all", b"ours")]

    asyncio.run(check())


@pytest.mark.parametrize("how", ["killed", "paused"])
def test_a_server_that_goes_away_is_noticed_and_found_again(redis: RedisServer, how: str) -> None:
    async def check() -> None:
        one, two = Process(redis.url), Process(redis.url)
        async with linked(one, two):
            await two.link.follow("all")
            await asyncio.to_thread(redis.kill if how == "killed" else redis.pause)
            for process in (one, two):
                await process.until(lambda process=process: process.turns[-1] is False)
            assert await one.link.ask("all", b"lost") == 0
            one.link.send([("all", b"lost too")])
            await two.link.follow("more")
            await asyncio.to_thread(redis.start if how == "killed" else redis.resume)
            for process in (one, two):
                await process.until(lambda process=process: process.turns[-1] is True)
            assert await one.link.ask("all", b"back") == 1
            assert await one.link.ask("more", b"followed meanwhile") == 1
            await two.until(lambda: len(two.heard) == 2)
            assert two.heard == [("all", b"back"), ("more", b"followed meanwhile")]
            assert one.turns == two.turns == [True, False, True]

    asyncio.run(check())


def test_a_server_that_is_not_there_keeps_nobody_waiting(redis: RedisServer) -> None:
    async def check() -> None:
        await asyncio.to_thread(redis.kill)
        one = Process(redis.url)
        async with linked(one):
            assert not one.link.is_up
            await one.link.follow("all")
            await asyncio.to_thread(redis.start)
            await one.until(lambda: one.turns == [True])
            assert await one.link.ask("all", b"?") == 1

    asyncio.run(check())


def test_what_is_followed_and_left_while_it_connects_is_as_wanted_once_it_is_up(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def check() -> None:
        one, two = Process(redis.url), Process(redis.url)
        send_command = Connection.send_command

        async def meanwhile(connection: Connection, *command: Any, **how: Any) -> None:
            await send_command(connection, *command, **how)
            if command == ("SUBSCRIBE", "test:first"):
                two.link.leave("first")
                await two.link.follow("second")
                await two.link.follow("third")

        monkeypatch.setattr(Connection, "send_command", meanwhile)
        await two.link.follow("first")
        async with linked(one, two):
            assert [await one.link.ask(channel, b"") for channel in ("first", "second", "third")] == [0, 1, 1]
            assert two.turns == [True]

    asyncio.run(check())
    assert [record.message for record in caplog.records] == []


def test_what_was_handed_in_is_sent_before_the_link_closes(redis: RedisServer) -> None:
    async def check() -> None:
        one, two = Process(redis.url), Process(redis.url)
        async with linked(two):
            await two.link.follow("all")
            async with linked(one):
                one.link.send([("all", str(number).encode()) for number in range(100)])
            await two.until(lambda: len(two.heard) == 100)

    asyncio.run(check())


def test_a_wrong_address_is_refused_without_its_password() -> None:
    with pytest.raises(Invalid, match="redis://user:password@host") as refused:
        RedisLink("redis://ada:secret@host:notaport/0", "test")
    assert "secret" not in str(refused.value)
