"""No hostile URL gets out, and the innocent ones beside them do."""

import asyncio
import itertools
import sys
from contextlib import AsyncExitStack
from unittest import mock

import pytest

from roomful.egress import EgressFailed, EgressRefused, HttpEgress
from tests.egress import hostile
from tests.egress.endpoints import Names, answering, get, http, listening


async def never(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(http(200, b"you should not be here"))
    await writer.drain()


async def refusals(egress: HttpEgress, urls: list[str]) -> list[str]:
    """The URLs that were not refused."""
    passed: list[str] = []
    for url in urls:
        try:
            await egress.send(get(url, redirects=3, timeout=5))
        except EgressRefused:
            continue
        except EgressFailed as failed:
            passed.append(f"{url} was tried: {failed.detail}")
        else:
            passed.append(f"{url} was answered")
    return passed


def test_no_hostile_url_reaches_a_listener() -> None:
    async def main() -> None:
        async with listening(never) as four:
            egress = HttpEgress(resolve=Names(hostile.NAMES), ports=[four.port, 80, 443])
            urls = [url.replace("PORT", str(four.port)) for url in hostile.urls()]

            assert len(urls) >= 400
            assert await refusals(egress, urls) == []
            assert four.connections == 0
            egress.close()

    asyncio.run(main())


def test_the_corpus_is_alive_without_the_judge_many_forms_get_through() -> None:
    async def main() -> int:
        async with listening(never) as four:
            egress = HttpEgress(resolve=Names(hostile.NAMES), ports=[four.port], idle=0.2)
            forms = [
                *itertools.islice(hostile.numeric_v4(), 13),
                "[::ffff:127.0.0.1]",
                "localhost",
                "mapped.test",
            ]
            with mock.patch("roomful.egress.client.is_public", return_value=True):
                await refusals(egress, [f"http://{host}:{four.port}/" for host in forms])
            egress.close()
            return four.connections

    assert asyncio.run(main()) == 16


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/",
        "HTTP://127.0.0.1:{port}",
        "http://2130706433:{port}/",
        "http://0x7f.1:{port}/",
        "http://service.test:{port}/x?a=b#c",
        "http://SERVICE.test:{port}/a%2Fb/%7E?q=%20+&r=[1]&s='@",
    ],
)
def test_what_the_operator_allows_is_reached(url: str) -> None:
    async def main() -> None:
        async with answering(http(200, b"hello")) as endpoint:
            egress = HttpEgress(
                allow=[f"127.0.0.1:{endpoint.port}", f"Service.Test:{endpoint.port}"],
                resolve=Names({"service.test": [["127.0.0.1"]]}),
            )

            response = await egress.send(get(url.format(port=endpoint.port)))

            assert (response.status, response.body) == (200, b"hello")
            egress.close()

    asyncio.run(main())


def test_an_allowed_ipv6_address_is_reached_in_any_spelling() -> None:
    async def main() -> None:
        async with AsyncExitStack() as stack:
            try:
                endpoint = await stack.enter_async_context(answering(http(200, b"six"), host="::1"))
            except OSError:
                pytest.skip("this machine has no IPv6 loopback")
            egress = HttpEgress(allow=[f"[::1]:{endpoint.port}"])

            for host in ("[::1]", "[0:0:0:0:0:0:0:1]", "[::0001]"):
                assert (await egress.send(get(f"http://{host}:{endpoint.port}/"))).body == b"six"
            egress.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{other}/",
        "http://localhost:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://elsewhere.test:{port}/",
    ],
)
def test_an_allowed_pair_opens_only_itself(url: str) -> None:
    async def main() -> None:
        async with answering(http(200, b"hello")) as endpoint, answering(http(200)) as other:
            egress = HttpEgress(
                allow=[endpoint.pair],
                ports=[endpoint.port, other.port],
                resolve=Names({"elsewhere.test": [["127.0.0.1"]], "localhost": [["127.0.0.1"]]}),
            )

            with pytest.raises(EgressRefused):
                await egress.send(get(url.format(port=endpoint.port, other=other.port)))

            assert (endpoint.connections, other.connections) == (0, 0)
            egress.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    "pair", ["127.0.0.1", "http://127.0.0.1:80", "a b:80", "host:", "host:0", "host:70000", ":80", "::1:80"]
)
def test_an_allow_list_with_a_mistake_is_refused_at_start(pair: str) -> None:
    with pytest.raises(ValueError, match="is not host:port"):
        HttpEgress(allow=[pair])


@pytest.mark.skipif(sys.platform == "darwin", reason="127.0.0.2 has to be set up there")
def test_a_name_that_changes_its_address_is_asked_once_and_pinned() -> None:
    async def main() -> None:
        async with AsyncExitStack() as stack:
            first = await stack.enter_async_context(answering(http(200, b"first")))
            second = await stack.enter_async_context(
                answering(http(200, b"second"), host="127.0.0.2", port=first.port)
            )
            names = Names({"rebind.test": [["127.0.0.1"], ["127.0.0.2"]]})
            egress = HttpEgress(allow=[f"rebind.test:{first.port}"], resolve=names)

            response = await egress.send(get(f"http://rebind.test:{first.port}/"))

            assert response.body == b"first"
            assert names.asked == ["rebind.test"]
            assert second.connections == 0
            assert first.requests[0][1]["host"] == f"rebind.test:{first.port}"
            egress.close()

    asyncio.run(main())


def test_public_first_and_private_then_never_reaches_the_private_one() -> None:
    async def main() -> None:
        async with listening(never) as inner:
            names = Names({"rebind.test": [["2d00::1"], ["127.0.0.1"]]})
            egress = HttpEgress(ports=[inner.port], resolve=names, idle=0.3)
            url = f"http://rebind.test:{inner.port}/"

            with pytest.raises(EgressFailed):
                await egress.send(get(url, timeout=1))
            with pytest.raises(EgressRefused):
                await egress.send(get(url, timeout=1))

            assert names.asked == ["rebind.test", "rebind.test"]
            assert inner.connections == 0
            egress.close()

    asyncio.run(main())


def test_unknown_and_inner_names_are_refused_in_the_same_words() -> None:
    async def main() -> None:
        egress = HttpEgress(resolve=Names(hostile.NAMES))
        said: list[str] = []
        for host in ("internal.test", "nowhere.test"):
            with pytest.raises(EgressRefused) as refused:
                await egress.send(get(f"http://{host}/"))
            said.append(refused.value.detail)

        assert said[0] == said[1]
        assert "10.1.2.3" not in said[0]
        egress.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-A", "a\r\nX-B: c"),
        ("X-A", "a\nb"),
        ("X-A", "a\x00b"),
        ("X-A", "a\x7fb"),
        ("X-A", "\u010a"),
        ("X-A", "caf\u00e9"),
        ("X A", "a"),
        ("X-A:", "a"),
        ("X-A\r\nX-B", "a"),
        ("", "a"),
        ("Host", "internal"),
        ("Transfer-Encoding", "chunked"),
        ("Content-Length", "0"),
        ("connection", "upgrade"),
        ("X-A", "a" * 40_000),
    ],
)
def test_a_header_that_breaks_out_is_refused_before_anything_is_sent(name: str, value: str) -> None:
    async def main() -> None:
        async with answering(http(200)) as endpoint:
            egress = HttpEgress(allow=[endpoint.pair])
            request = get(endpoint.url())

            with pytest.raises(EgressRefused) as refused:
                await egress.send(type(request)("GET", endpoint.url(), {name: value}))

            assert endpoint.connections == 0
            assert value not in refused.value.detail or len(value) < 3
            egress.close()

    asyncio.run(main())


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "GET /x HTTP/1.1\r\nA: b\r\n\r\nGET", ""])
def test_an_unknown_method_is_refused(method: str) -> None:
    async def main() -> None:
        async with answering(http(200)) as endpoint:
            egress = HttpEgress(allow=[endpoint.pair])
            request = get(endpoint.url())

            with pytest.raises(EgressRefused):
                await egress.send(type(request)(method, endpoint.url()))

            assert endpoint.connections == 0
            egress.close()

    asyncio.run(main())


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with answering(http(200, b"direct")) as endpoint, listening(never) as proxy:
            for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
                monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            egress = HttpEgress(allow=[endpoint.pair])

            response = await egress.send(get(endpoint.url()))

            assert response.body == b"direct"
            assert proxy.connections == 0
            egress.close()

    asyncio.run(main())


def test_cookies_are_not_kept() -> None:
    async def main() -> None:
        async with answering(http(200, set_cookie="a=b; Path=/")) as endpoint:
            egress = HttpEgress(allow=[endpoint.pair])

            await egress.send(get(endpoint.url()))
            await egress.send(get(endpoint.url()))

            assert ["cookie" in headers for _, headers, _ in endpoint.requests] == [False, False]
            egress.close()

    asyncio.run(main())
