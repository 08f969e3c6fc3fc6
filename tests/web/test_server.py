"""The real server on loopback: it stops at once with streams open, and waits for nobody who says nothing."""

import asyncio
import contextlib
import re
import socket
import time
from collections.abc import AsyncIterator, Iterable

import pytest

from roomful.bus.channel import LAG_BYTES
from roomful.domain.events import TextDelta
from roomful.web import connection
from roomful.web.server import Server
from tests.web.visiting import PATIENCE, Visit, story


class Serving:
    """A server, and the connections to it, which end with the test."""

    def __init__(self, house: Visit) -> None:
        self.started = asyncio.Event()
        self.server = Server(house.app, "127.0.0.1", 0, self.started.set)
        self.task = asyncio.create_task(self.server.serve())
        self._writers: list[asyncio.StreamWriter] = []

    @property
    def address(self) -> tuple[str, int]:
        return self.server.servers[0].sockets[0].getsockname()

    async def dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(*self.address)
        self._writers.append(writer)
        return reader, writer

    async def hang_up(self) -> None:
        for writer in self._writers:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


@contextlib.asynccontextmanager
async def serving(house: Visit) -> AsyncIterator[Serving]:
    running = Serving(house)
    try:
        async with asyncio.timeout(PATIENCE):
            await running.started.wait()
        yield running
        await stop(running)
    finally:
        await running.hang_up()


async def stop(running: Serving) -> None:
    running.server.should_exit = True
    async with asyncio.timeout(PATIENCE):
        await running.task


class Written(asyncio.Transport):
    """Keeps each write."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writes.append(bytes(data))

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.writes.append(b"".join(list_of_data))

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        pass


def request(path: str, token: str, method: str = "GET") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode()


@story()
async def test_it_stops_with_streams_open_and_tells_them(house: Visit) -> None:
    ada = await house.person("ada")
    await house.space("room", ada="owner")
    readers: list[asyncio.StreamReader] = []
    async with serving(house) as running:
        for _ in range(20):
            reader, writer = await running.dial()
            writer.write(request("/api/spaces/room/stream", ada))
            await reader.readuntil(b"event: snapshot")
            readers.append(reader)
        idle, _ = await running.dial()
        began = time.monotonic()
        await stop(running)
        assert time.monotonic() - began < 2
        for reader in readers:
            assert b"event: draining\ndata: {" in await reader.read()
        assert await idle.read() == b""


@story()
async def test_a_client_that_stops_reading_is_disconnected(house: Visit) -> None:
    ada = await house.person("ada")
    await house.space("room", ada="owner")
    async with serving(house) as running:
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(sock, running.address)
        await loop.sock_sendall(sock, request("/api/spaces/room/stream", ada))
        await loop.sock_recv(sock, 4096)
        text = "x" * 10_000
        async with asyncio.timeout(PATIENCE):
            for number in range(20 * LAG_BYTES // len(text)):
                house.announce("room", TextDelta(part_id="p", delta=text, offset=number))
                await asyncio.sleep(0)
            with contextlib.suppress(ConnectionResetError):
                while await loop.sock_recv(sock, 65536):
                    pass
        sock.close()
        assert not running.server.server_state.connections


@story()
async def test_a_client_that_pauses_hears_everything_in_order(house: Visit) -> None:
    """Whether it was sent at once or had to wait for the client."""
    ada = await house.person("ada")
    await house.space("room", ada="owner")
    async with serving(house) as running, asyncio.timeout(PATIENCE):
        reader, writer = await running.dial()
        writer.write(request("/api/spaces/room/stream", ada))
        await reader.readuntil(b"event: snapshot")
        for number in range(60):
            house.announce("room", TextDelta(part_id="p", delta=f"<{number}>" + 10_000 * "x", offset=0))
            await asyncio.sleep(0)
        told = b""
        for number in range(60, 120):
            while f"<{number - 60}>".encode() not in told:
                told += await reader.read(65536)
            house.announce("room", TextDelta(part_id="p", delta=f"<{number}>" + 10_000 * "x", offset=0))
        while b"<119>" not in told:
            told += await reader.read(65536)
    assert [int(number) for number in re.findall(rb"<(\d+)>", told)] == list(range(120))


@story()
async def test_a_client_that_says_nothing_is_not_waited_for(
    house: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.05)
    async with serving(house) as running, asyncio.timeout(PATIENCE):
        silent, _ = await running.dial()
        slow, writer = await running.dial()
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: loc")
        for reader in (silent, slow):
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""


@story()
async def test_a_head_without_end_is_refused(house: Visit) -> None:
    async with serving(house) as running, asyncio.timeout(PATIENCE):
        reader, writer = await running.dial()
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ")
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            for _ in range(100):
                writer.write(b"x" * 10_000)
                await writer.drain()
            assert await reader.read() == b""


@story()
async def test_requests_one_after_the_other_use_one_connection(house: Visit) -> None:
    async with serving(house) as running, asyncio.timeout(PATIENCE):
        reader, writer = await running.dial()
        for _ in range(3):
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert await reader.readuntil(b"}") != b""


@story()
async def test_an_answer_is_one_write(house: Visit) -> None:
    ada = await house.person("ada")
    await house.space("room", ada="owner")
    server, written = Server(house.app, "127.0.0.1", 0), Written()
    server.config.load()
    line = connection.Connection(server.config, server.server_state, app_state={})
    line.connection_made(written)
    for method in ("GET", "HEAD"):
        line.data_received(request("/api/spaces/room/messages", ada, method))
        await asyncio.gather(*server.server_state.tasks)
    line.connection_lost(None)

    whole, head = written.writes
    assert re.fullmatch(rb"HTTP/1.1 200 OK\r\n[^{]+\r\n\r\n{\"messages\":\[\].+}", whole)
    assert re.fullmatch(rb"HTTP/1.1 200 OK\r\n[^{]+\r\n\r\n", head)
