"""Endpoints that behave badly cost a bounded time and a bounded memory, and are told in one sentence."""

import asyncio
import gzip
import itertools
import socket
import time
import zlib

import pytest

from roomful.domain.outbound import OutboundRequest
from roomful.egress import EgressFailed, HttpEgress
from tests.egress.endpoints import answering, get, http, listening, read_request
from tests.servers.loopback import Handle

HEAD = b"HTTP/1.1 200 OK\r\n"


async def failure(handler: Handle, *, seconds: float = 5.0, idle: float = 0.5, max_body: int = 65_536) -> str:
    async with listening(handler) as endpoint:
        egress = HttpEgress(allow=[endpoint.pair], idle=idle, max_body=max_body)
        with pytest.raises(EgressFailed) as failed:
            await egress.send(get(endpoint.url("/secret-path"), timeout=seconds))
        egress.close()
        assert endpoint.connections == 1
        assert "127.0.0.1" not in failed.value.detail
        assert "secret-path" not in failed.value.detail
        return failed.value.detail


def saying(*said: bytes, pause: float = 0.0) -> Handle:
    """Writes these, with pauses between them, then closes."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        for piece in said:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)

    return handler


def endlessly(head: bytes, piece: bytes, *, pause: float = 0.0) -> Handle:
    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(head)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)

    return handler


async def silent(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("handler", "said"),
    [
        pytest.param(silent, "fell silent", id="never answers"),
        pytest.param(endlessly(HEAD, b"X-A: b\r\n", pause=0.1), "within 1 s", id="slow loris in the head"),
        pytest.param(endlessly(HEAD + b"\r\n", b"x", pause=0.1), "within 1 s", id="slow loris in the body"),
        pytest.param(
            saying(HEAD + b"Content-Length: 9\r\n\r\nhalf", b"", pause=9), "silent", id="stops half way"
        ),
        pytest.param(
            endlessly(b"", b"HTTP/1.1 100 Continue\r\n\r\n", pause=0.05),
            "within 1 s",
            id="goes on continuing",
        ),
        pytest.param(
            endlessly(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", b"b" * 4096),
            "",
            id="endless chunk extension",
        ),
    ],
)
def test_time_is_bounded(handler: Handle, said: str) -> None:
    began = time.monotonic()

    assert said in asyncio.run(failure(handler, seconds=1))
    assert time.monotonic() - began < 3


@pytest.mark.parametrize(
    ("handler", "said"),
    [
        pytest.param(endlessly(HEAD + b"\r\n", b"x" * 65_536), "larger than 64 KiB", id="endless body"),
        pytest.param(
            endlessly(HEAD + b"Content-Length: 10000000000\r\n\r\n", b"x" * 65_536),
            "larger than",
            id="10 GB announced",
        ),
        pytest.param(
            endlessly(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"400\r\n" + b"x" * 1024 + b"\r\n"),
            "larger than",
            id="endless chunks",
        ),
        pytest.param(endlessly(HEAD, b"X-A: b\r\n"), "headers are too large", id="endless headers"),
        pytest.param(endlessly(HEAD + b"X-A: ", b"b" * 4096), "headers are too large", id="endless header"),
        pytest.param(
            endlessly(b"HTTP/1.1 200 ", b"b" * 4096), "headers are too large", id="endless status line"
        ),
    ],
)
def test_memory_is_bounded(handler: Handle, said: str) -> None:
    assert said in asyncio.run(failure(handler))


def bomb(levels: int) -> bytes:
    data = b"\0" * (16 * 1024 * 1024)
    for _ in range(levels):
        data = gzip.compress(data)
    return data


@pytest.mark.parametrize(
    ("encoding", "body", "said"),
    [
        pytest.param("gzip", bomb(1), "larger than", id="gzip bomb"),
        pytest.param("deflate", zlib.compress(b"\0" * 16 * 1024 * 1024), "larger than", id="deflate bomb"),
        pytest.param("gzip", gzip.compress(b"x" * 1000) * 200, "larger than", id="many members"),
        pytest.param("gzip", b"this is not gzip at all", "not compressed as it says", id="not gzip"),
        pytest.param("gzip", gzip.compress(b"hello" * 100)[:-20], "broke off", id="half of a gzip"),
        pytest.param(
            "gzip", gzip.compress(b"hello") + b"trailing garbage", "not compressed", id="garbage after it"
        ),
        pytest.param("gzip, gzip", bomb(2), "not asked for", id="twice compressed"),
        pytest.param("br", b"xx", "not asked for", id="brotli"),
    ],
)
def test_compressed_answers_are_bounded_too(encoding: str, body: bytes, said: str) -> None:
    assert said in asyncio.run(failure(saying(http(200, body, content_encoding=encoding))))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        pytest.param(b"", "broke", id="closes at once"),
        pytest.param(b"SSH-2.0-OpenSSH_9.2\r\n", "not HTTP", id="speaks ssh"),
        pytest.param(HEAD + b"Content-Len", "broke", id="closes in the head"),
        pytest.param(HEAD + b"Content-Length: 9\r\n\r\nhalf", "broke off", id="closes in the body"),
        pytest.param(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", "", id="bad chunk"),
        pytest.param(HEAD + b"Content-Length: -5\r\n\r\n", "not HTTP", id="negative length"),
        pytest.param(
            HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", "not HTTP", id="two lengths"
        ),
        pytest.param(
            b"HTTP/1.1 101 Go\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "another protocol", id="upgrade"
        ),
    ],
)
def test_broken_answers_are_told(said: bytes, told: str) -> None:
    assert told in asyncio.run(failure(saying(said)))


def test_a_reset_connection_is_told() -> None:
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        raw = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        writer.transport.abort()

    assert "broke" in asyncio.run(failure(reset))


def test_plain_http_on_an_https_url_is_told_as_tls() -> None:
    async def too_plain(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(http(200))

    async def main() -> None:
        async with listening(too_plain) as endpoint:
            egress = HttpEgress(allow=[endpoint.pair])
            with pytest.raises(EgressFailed, match="TLS"):
                await egress.send(get(f"https://{endpoint.pair}/"))
            egress.close()

    asyncio.run(main())


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "POST"])
def test_a_request_is_never_sent_again_by_itself(method: str) -> None:
    requests: list[str] = []

    async def hangs_up(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        requests.append((await read_request(reader))[0])

    async def main() -> None:
        async with listening(hangs_up) as endpoint:
            egress = HttpEgress(allow=[endpoint.pair])
            with pytest.raises(EgressFailed):
                await egress.send(OutboundRequest(method, endpoint.url()))
            egress.close()

    asyncio.run(main())
    assert requests == [f"{method} / HTTP/1.1"]


def test_nobody_listening_is_told_without_the_address() -> None:
    async def main() -> None:
        async with answering(http(200)) as endpoint:
            pass
        egress = HttpEgress(allow=[endpoint.pair])
        with pytest.raises(EgressFailed, match="no connection to the host can be made"):
            await egress.send(get(endpoint.url()))
        egress.close()

    asyncio.run(main())


@pytest.mark.parametrize("encoding", ["", "identity", "gzip", "deflate", "x-gzip"])
def test_a_well_behaved_answer_of_any_encoding_arrives_whole(encoding: str) -> None:
    body = bytes(itertools.islice(itertools.cycle(range(251)), 200_000))
    packed = {"gzip": gzip.compress, "x-gzip": gzip.compress, "deflate": zlib.compress}.get(encoding, bytes)(
        body
    )

    async def main() -> None:
        async with answering(
            http(200, packed, **({"content_encoding": encoding} if encoding else {}))
        ) as endpoint:
            egress = HttpEgress(allow=[endpoint.pair])

            assert (await egress.send(get(endpoint.url()))).body == body
            egress.close()

    asyncio.run(main())


def test_exactly_the_limit_passes_and_one_more_does_not() -> None:
    async def main(size: int) -> int:
        async with answering(http(200, b"x" * size)) as endpoint:
            egress = HttpEgress(allow=[endpoint.pair], max_body=100_000)
            try:
                return len((await egress.send(get(endpoint.url()))).body)
            finally:
                egress.close()

    assert asyncio.run(main(100_000)) == 100_000
    with pytest.raises(EgressFailed):
        asyncio.run(main(100_001))


def test_a_bomb_is_never_held_whole() -> None:
    async def main() -> None:
        async with answering(http(200, bomb(1), content_encoding="gzip")) as endpoint:
            egress = HttpEgress(allow=[endpoint.pair])
            async with egress.stream(get(endpoint.url())) as stream:
                sizes = [len(piece) async for piece in stream.chunks()]

            assert sum(sizes) == 16 * 1024 * 1024
            assert max(sizes) <= 65_536
            egress.close()

    asyncio.run(main())


def test_a_stream_gives_pieces_as_they_come() -> None:
    gate: list[asyncio.Event] = []

    async def two_steps(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(HEAD + b"\r\nfirst")
        await writer.drain()
        await gate[0].wait()
        writer.write(b"second")

    async def main() -> None:
        gate.append(asyncio.Event())
        async with listening(two_steps) as endpoint:
            egress = HttpEgress(allow=[endpoint.pair])
            async with egress.stream(OutboundRequest("GET", endpoint.url(), timeout=None)) as stream:
                pieces: list[bytes] = []
                async for piece in stream.chunks():
                    pieces.append(piece)
                    gate[0].set()

            assert pieces == [b"first", b"second"]
            egress.close()

    asyncio.run(main())
