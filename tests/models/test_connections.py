"""The way to a provider: what HTTP allows it to send, and what it must not do to the next request."""

import asyncio
import contextlib
import gzip
import ssl
import zlib
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path

import pytest

from roomful.domain.deltas import ModelDelta, ModelFailed, TextPiece
from roomful.models import connections
from roomful.models.connections import HEAD_LIMIT
from roomful.models.openai import OpenAIModel
from tests.egress.test_tls import certificate
from tests.models.asking import PATIENCE, Said, gather, joined, opened, request_to
from tests.models.openai_answers import Answer, finish, text
from tests.servers.loopback import listening_at

WHOLE = b"".join([*text("whole"), finish(), b"data: [DONE]\n\n"])


def answered(body: bytes = WHOLE, *fields: str, status: str = "200 OK") -> bytes:
    head = "".join(f"{field}\r\n" for field in (f"Content-Length: {len(body)}", *fields))
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body


def chunked(*pieces: bytes) -> bytes:
    body = b"".join(b"%x;why=not\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body


class Provider:
    """Answers each request on a connection with the next of these bytes; after the last one it hangs up."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = answers
        self.connections = 0
        self.base_url = ""

    @contextlib.asynccontextmanager
    async def serving(self, tls: ssl.SSLContext | None = None) -> AsyncGenerator["Provider"]:
        async with listening_at(self._serve, tls=tls) as port:
            scheme = "https" if tls else "http"
            self.base_url = f"{scheme}://localhost:{port}/v1"
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        for answer in self.answers:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if b"content-length" in line)
            await reader.readexactly(int(length.partition(b":")[2]))
            writer.write(answer)


def heard(provider: Provider, times: int = 1) -> list[Said]:
    async def run() -> list[Said]:
        model = OpenAIModel(resolve_secret=opened)
        async with provider.serving():
            said: list[Said] = []
            for _ in range(times):
                batches, fault = await gather(model, request_to(provider.base_url))
                said.append(joined([one for batch in batches for one in batch], fault.code if fault else ""))
            await model.close()
        return said

    return asyncio.run(run())


@pytest.mark.parametrize(
    "answer",
    [
        answered(),
        chunked(WHOLE[:10], WHOLE[10:]) + b"0\r\n\r\n",
        chunked(*(WHOLE[at : at + 1] for at in range(len(WHOLE)))) + b"0\r\nX-Late: 1\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + answered(),
        answered(gzip.compress(WHOLE), "Content-Encoding: gzip"),
        answered(zlib.compress(WHOLE), "content-encoding: Deflate"),
        b"HTTP/1.1 200\r\n\r\n" + WHOLE,
        b"HTTP/1.0 200 OK\r\n\r\n" + WHOLE,
    ],
    ids=["length", "chunks", "bytes", "interim", "gzip", "deflate", "until it closes", "1.0"],
)
def test_every_way_to_send_an_answer(answer: bytes) -> None:
    assert heard(Provider(answer)) == [Said(text="whole")]


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 2 * HEAD_LIMIT, "model_garbage"),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhi", "model_garbage"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "model_unreachable"),
        (chunked(text("w")[0]) + b"not a size\r\n", "model_cut"),
        (answered(b"no gzip", "Content-Encoding: gzip"), "model_cut"),
    ],
    ids=["endless head", "another protocol", "half a head", "broken chunk", "broken gzip"],
)
def test_what_is_no_answer(answer: bytes, fault: str) -> None:
    assert [said.fault for said in heard(Provider(answer))] == [fault]


def test_a_connection_is_used_again_and_not_after_it_was_to_be_closed() -> None:
    kept = Provider(*[answered()] * 3)
    assert heard(kept, times=3) == [Said(text="whole")] * 3
    assert kept.connections == 1
    closed = Provider(*[answered(WHOLE, "Connection: close")] * 3)
    assert heard(closed, times=3) == [Said(text="whole")] * 3
    assert closed.connections == 3


def test_what_comes_after_an_answer_is_nobodys() -> None:
    """Bytes that nobody asked for are not the next answer."""
    provider = Provider(answered() + answered(Answer(text("not asked for")).content()), answered())
    assert heard(provider, times=2) == [Said(text="whole")] * 2


def test_whoever_leaves_does_not_close_a_connection_that_another_has_taken() -> None:
    async def run() -> None:
        model = OpenAIModel(resolve_secret=opened)
        async with Provider(*[answered()] * 2).serving() as provider:
            request = request_to(provider.base_url)
            others: list[asyncio.Task[tuple[list[list[ModelDelta]], ModelFailed | None]]] = []

            def hear(_: Sequence[ModelDelta]) -> None:
                """In the moment that the connection is free, before whoever asked has woken."""
                others.append(asyncio.create_task(gather(model, request)))
                raise ZeroDivisionError

            with pytest.raises(ZeroDivisionError):
                await model.ask(request, hear)
            assert await others[0] == ([[TextPiece("whole")]], None)
            assert provider.connections <= 2
            await model.close()

    asyncio.run(asyncio.wait_for(run(), PATIENCE))


@pytest.mark.parametrize("name", ["localhost", "elsewhere.test"])
def test_the_provider_must_be_who_it_says_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    pem = certificate(tmp_path, name)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem)
    trusting = ssl.create_default_context(cafile=str(pem))

    async def ask(tls: Callable[[], ssl.SSLContext]) -> tuple[list[list[ModelDelta]], ModelFailed | None]:
        monkeypatch.setattr(connections, "system_tls", tls)
        model = OpenAIModel(resolve_secret=opened)
        async with Provider(answered()).serving(server) as provider:
            try:
                return await gather(model, request_to(provider.base_url))
            finally:
                await model.close()

    _, stranger = asyncio.run(ask(connections.system_tls))
    assert stranger is not None
    assert (stranger.code, stranger.retry) == ("model_unreachable", False)
    assert "TLS failed (SSLCertVerificationError)" in stranger.message
    batches, fault = asyncio.run(ask(lambda: trusting))
    assert ([] if fault else batches) == ([[TextPiece("whole")]] if name == "localhost" else [])
