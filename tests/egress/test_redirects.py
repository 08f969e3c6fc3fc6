"""Redirects are not followed unless asked for, and each is judged like a first URL."""

import asyncio

import pytest

from roomful.domain.outbound import OutboundRequest
from roomful.egress import EgressFailed, EgressRefused, HttpEgress
from tests.egress.endpoints import Names, answering, get, http

INNER = [
    "http://127.0.0.1:{inner}/",
    "//127.0.0.1:{inner}/",
    "http://2130706433:{inner}/",
    "http://[::ffff:127.0.0.1]:{inner}/",
    "http://localhost:{inner}/",
    "http://inner.test:{inner}/",
    "http://a@127.0.0.1:{inner}/",
    "http://127.0.0.1:{inner}\\@outer.test/",
    "\\\\127.0.0.1:{inner}/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:{inner}/",
    "//[",
    "http://outer.test:6379/",
    "/%2e%2e/x",
]


def test_a_redirect_is_an_answer_by_default() -> None:
    async def main() -> None:
        async with answering(http(302, location="http://127.0.0.1:1/")) as outer:
            egress = HttpEgress(allow=[outer.pair])

            response = await egress.send(get(outer.url()))

            assert (response.status, response.headers["location"]) == (302, "http://127.0.0.1:1/")
            assert outer.connections == 1
            egress.close()

    asyncio.run(main())


@pytest.mark.parametrize("location", INNER)
def test_a_redirect_inwards_is_refused(location: str) -> None:
    async def main() -> None:
        async with answering(http(200)) as inner:
            to = location.format(inner=inner.port)
            async with answering(http(302, location=to)) as outer:
                names = Names({"inner.test": [["127.0.0.1"]], "localhost": [["127.0.0.1"]]})
                egress = HttpEgress(allow=[outer.pair], resolve=names, ports=[inner.port])

                with pytest.raises(EgressRefused):
                    await egress.send(get(outer.url(), redirects=3))

                assert inner.connections == 0
                egress.close()

    asyncio.run(main())


def test_a_redirect_loop_ends() -> None:
    async def main() -> None:
        async with answering(http(302, location="/again")) as outer:
            egress = HttpEgress(allow=[outer.pair])

            with pytest.raises(EgressFailed, match="too often"):
                await egress.send(get(outer.url(), redirects=1000))

            assert outer.connections == 11
            egress.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("status", "method", "second"),
    [
        (301, "POST", "GET"),
        (302, "PUT", "GET"),
        (303, "POST", "GET"),
        (307, "POST", "POST"),
        (308, "PATCH", "PATCH"),
        (302, "HEAD", "HEAD"),
        (303, "GET", "GET"),
    ],
)
def test_within_one_origin_headers_stay_and_the_method_follows_the_status(
    status: int, method: str, second: str
) -> None:
    def answer(line: str, _headers: dict[str, str], _body: bytes) -> bytes:
        return (
            http(200, b"" if "HEAD" in line else b"end")
            if "/end" in line
            else http(status, location="/end?a=b")
        )

    async def main() -> None:
        async with answering(answer) as outer:
            egress = HttpEgress(allow=[outer.pair])
            body = None if method in ("GET", "HEAD") else b"data"
            request = OutboundRequest(method, outer.url(), {"Authorization": "Bearer s"}, body, redirects=1)

            response = await egress.send(request)

            line, headers, sent = outer.requests[1]
            assert response.status == 200
            assert line == f"{second} /end?a=b HTTP/1.1"
            assert headers["authorization"] == "Bearer s"
            assert sent == (b"data" if second in ("POST", "PATCH") else b"")
            egress.close()

    asyncio.run(main())


def test_to_another_origin_only_harmless_headers_go() -> None:
    async def main() -> None:
        async with (
            answering(http(200, b"end")) as second,
            answering(http(302, location=second.url())) as first,
        ):
            egress = HttpEgress(allow=[first.pair, second.pair])
            secret = {
                "Authorization": "s",
                "Cookie": "s",
                "X-Api-Key": "s",
                "Idempotency-Key": "s",
                "Accept": "a/b",
            }

            response = await egress.send(OutboundRequest("GET", first.url(), secret, redirects=1))

            assert response.body == b"end"
            assert "s" not in second.requests[0][1].values()
            assert second.requests[0][1]["accept"] == "a/b"
            egress.close()

    asyncio.run(main())


def test_a_body_is_not_redirected_to_another_origin() -> None:
    async def main() -> None:
        async with answering(http(200)) as second, answering(http(307, location=second.url())) as first:
            egress = HttpEgress(allow=[first.pair, second.pair])

            with pytest.raises(EgressRefused, match="body"):
                await egress.send(OutboundRequest("POST", first.url(), {}, b"secret", redirects=1))

            assert second.connections == 0
            egress.close()

    asyncio.run(main())
