"""When a client tries again, and how long it waits before it does."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest

from roomful import Client
from roomful.client import pausing
from roomful.client.pausing import LONGEST, LONGEST_ASKED_FOR, Pauses
from roomful.domain.errors import RoomfulError, Unavailable
from roomful.domain.events import MessageChanged
from tests.client.watching import client_of, of, run, until
from tests.servers.loopback import listening_at
from tests.servers.roomful import Roomful


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each pause would have been; none is."""
    pauses: list[float] = []
    turn = asyncio.sleep

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await turn(0)

    monkeypatch.setattr(pausing.asyncio, "sleep", sleep)
    return pauses


def test_pauses_grow_to_a_bound_and_differ_and_begin_anew(waited: list[float]) -> None:
    async def story() -> None:
        pauses = Pauses(None)
        for _ in range(30):
            assert await pauses.wait()
        assert waited[0] <= pausing.FIRST
        assert all(LONGEST / 2 <= seconds <= LONGEST for seconds in waited[10:])
        assert len(set(waited)) == 30
        pauses.succeeded()
        await pauses.wait()
        assert waited[-1] <= pausing.FIRST
        await pauses.wait(at_least=40)
        assert 40 <= waited[-1] < 41
        await pauses.wait(at_least=1e9)
        assert waited[-1] < LONGEST_ASKED_FOR + 1

    run(story())


def test_patience_ends(waited: list[float]) -> None:
    async def story() -> None:
        pauses = Pauses(10.0)
        while await pauses.wait():
            pass
        assert len(waited) > 2
        assert sum(waited) <= 10
        assert not await Pauses(10.0).wait(at_least=11)

    run(story())


class Moody:
    """A server that gives these answers, one for each connection, and then hangs up on everybody."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self._listening = contextlib.AsyncExitStack()
        self.requests: list[str] = []
        self.url = ""

    async def __aenter__(self) -> "Moody":
        port = await self._listening.enter_async_context(listening_at(self._accept))
        self.url = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._listening.aclose()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.requests.append(head.decode())
        if self._answers:
            writer.write(self._answers.pop(0).encode())
        await writer.drain()


def _answer(status: int, *headers: str, body: str = "") -> str:
    lines = [f"HTTP/1.1 {status} Said", f"content-length: {len(body)}", "connection: close", *headers]
    return "\r\n".join([*lines, "", body])


SNAPSHOT = 'id: e.1\nevent: snapshot\ndata: {"messages":[],"members":[],"runs":[]}\n\n'
STREAM = _answer(200, "content-type: text/event-stream", body=SNAPSHOT)


def test_a_server_in_trouble_is_asked_again_when_it_says(waited: list[float]) -> None:
    async def story() -> None:
        answers = [
            _answer(503, "retry-after: 7"),
            _answer(500),
            _answer(429, "retry-after: 3"),
            _answer(200, "content-type: text/html", body="<p>soon</p>"),
            STREAM,
            _answer(502, "retry-after: soon"),
            STREAM.replace("e.1", "f.1"),
        ]
        async with Moody(*answers) as server, Client(server.url, "the-token") as client:
            async with client.follow("room") as space:
                assert len(server.requests) == 5
                assert 7 <= waited[0] < 8
                assert 3 <= waited[2] < 4
                await anext(space)
            assert len(server.requests) == 7
            for number, request in enumerate(server.requests):
                line, _, headers = request.partition("\r\n")
                assert line == "GET /api/spaces/room/stream?args=ops HTTP/1.1"
                assert "authorization: bearer the-token" in headers.lower()
                assert ("last-event-id: e.1" in headers.lower()) == (number > 4)

    run(story())


def test_an_answer_that_is_no_way_on_is_raised(waited: list[float]) -> None:
    async def story() -> None:
        for status, kind in [(500, RoomfulError), (301, RoomfulError), (503, Unavailable)]:
            answers = [_answer(status, "location: http://127.0.0.1:1/", "retry-after: 100")] * 2
            async with Moody(*answers) as server, Client(server.url, "token") as client:
                with pytest.raises(kind) as told:
                    await client.spaces()
                assert (type(told.value), told.value.status) == (kind, status)
                assert len(server.requests) == 1

    run(story())


def test_a_server_that_fell_silent_is_left_and_come_back_to(tmp_path: Path) -> None:
    with Roomful(tmp_path, ROOMFUL_HEARTBEAT_SECONDS="0.05") as house:
        ada = house.person("ada")
        house.space("room", "ada")
        told: asyncio.Queue[bool] = asyncio.Queue()

        async def story() -> None:
            following: Any = client_of(ada, silence=1.0)
            async with following as client, client.follow("room", on_connection=told.put_nowait) as space:
                coming = asyncio.create_task(until(space, of(MessageChanged)))
                house.pause()
                assert await told.get() is False
                house.resume()
                ada.say("room", "hello")
                await coming
                assert await told.get() is True

        run(story())
