"""Real servers on loopback that answer as told, and count who came."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from roomful.domain.outbound import OutboundRequest
from tests.servers.loopback import Handle, listening_at


@dataclass
class Endpoint:
    host: str
    port: int
    connections: int = 0
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    @property
    def pair(self) -> str:
        return f"{self.host}:{self.port}"

    def url(self, path: str = "/") -> str:
        return f"http://{self.pair}{path}"


async def read_request(reader: asyncio.StreamReader) -> tuple[str, dict[str, str], bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)
    }
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return head[0], headers, body


@asynccontextmanager
async def listening(
    handler: Handle, *, host: str = "127.0.0.1", port: int = 0
) -> AsyncGenerator[Endpoint, None]:
    """Raw: the handler speaks on the socket itself."""
    endpoint = Endpoint(host, port)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        endpoint.connections += 1
        await handler(reader, writer)

    async with listening_at(serve, host=host, port=port) as endpoint.port:
        yield endpoint


Answer = Callable[[str, dict[str, str], bytes], bytes]


@asynccontextmanager
async def answering(
    answer: Answer | bytes, *, host: str = "127.0.0.1", port: int = 0
) -> AsyncGenerator[Endpoint, None]:
    """Reads one request per connection and answers it with bytes, or with what a function makes of it."""
    made: list[Endpoint] = []

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await read_request(reader)
        made[0].requests.append(request)
        writer.write(answer(*request) if callable(answer) else answer)
        await writer.drain()

    async with listening(handler, host=host, port=port) as endpoint:
        made.append(endpoint)
        yield endpoint


def http(status: int = 200, body: bytes = b"", **headers: str) -> bytes:
    fields = {"content-length": str(len(body)), "connection": "close"}
    fields.update({name.replace("_", "-"): value for name, value in headers.items()})
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} Said\r\n{head}\r\n".encode() + body


def get(url: str, *, redirects: int = 0, timeout: float = 5.0, **headers: str) -> OutboundRequest:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return OutboundRequest("GET", url, named, redirects=redirects, timeout=timeout)


async def numeric_only(host: str, port: int) -> list[str]:
    """The machine's reading of every numeric form, without ever asking a name server."""
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    return [str(info[4][0]) for info in infos]


class Names:
    """A resolver with a table; a name's answers are given one after the other, the last one for ever."""

    def __init__(self, table: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self._table = {name: list(answers) for name, answers in table.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        answers = self._table.get(host)
        if answers is None:
            return await numeric_only(host, port)
        return answers.pop(0) if len(answers) > 1 else answers[0]
