"""A gateway inside a program without a server of its own: it serves itself while a block lasts."""

import asyncio
import contextlib
import json
import signal
import socket
from collections.abc import AsyncGenerator
from typing import Any, get_args

import aiohttp
import pytest

import roomful.client
from roomful import Client, Gateway
from roomful.domain.events import SpaceEvent
from roomful.testing import OpenHouse, open_house
from tests.app.embedded import run
from tests.egress.endpoints import Endpoint, answering, http


def test_a_gateway_is_served_while_the_block_lasts_and_leaves_signals_alone() -> None:
    async def story() -> None:
        before = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
        async with Gateway.opened(database="sqlite:///:memory:", port=0) as gateway:
            token = await gateway.person("ada", name="Ada")
            for _ in range(2):
                async with gateway.served() as url, Client(url, token) as ada:
                    assert (await ada.me()).name == "Ada"
                    assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)] == before
                with pytest.raises(aiohttp.ClientConnectionError):
                    async with aiohttp.ClientSession() as http, http.get(url):
                        pass

    run(story())


def test_a_taken_port_is_an_error_and_nothing_goes_on() -> None:
    async def story() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            async with Gateway.opened(database="sqlite:///:memory:", port=port) as gateway:
                with pytest.raises(OSError, match="in use"):
                    async with gateway.served():
                        pass

    run(story())


PRINT = {"name": "print", "description": "Print.", "executionType": "external"}


@contextlib.asynccontextmanager
async def an_office(service: Endpoint, **settings: Any) -> AsyncGenerator[OpenHouse]:
    """Where an agent has something printed by the service, whatever it is told."""
    tool = {**PRINT, "execution": {"url": service.url("/orders")}}
    office = {"id": "office", "name": "Office", "model": "scripted:office", "tools": [tool]}
    async with open_house(
        agents=[office],
        scripts={"office": "turns: [{calls: [{tool: print}]}]"},
        spaces={"team": ["ada", "office"]},
        allow_hosts=service.pair,
        **settings,
    ) as house:
        yield house


def called_back(service: Endpoint) -> str:
    [(_, _, body)] = service.requests
    return json.loads(body)["callbackUrl"].partition("/api/callbacks/")[0]


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("public_url", ["", "https://rooms.example/"])
def test_results_are_called_back_to_where_it_is_served(public_url: str, host: str) -> None:
    async def story() -> None:
        async with answering(http(202, b"{}", content_type="application/json")) as service:
            async with (
                an_office(service, public_url=public_url, host=host, port=0) as house,
                house.gateway.served() as url,
            ):
                await house.say("ada", "team", "Print it")
            assert called_back(service) == (public_url.rstrip("/") or url)

    run(story())


@pytest.mark.parametrize(
    ("host", "url"), [("127.0.0.1", "http://127.0.0.1:9000"), ("::1", "http://[::1]:9000")]
)
def test_results_are_called_back_to_where_another_server_serves_it(host: str, url: str) -> None:
    async def story() -> None:
        async with answering(http(202, b"{}", content_type="application/json")) as service:
            async with an_office(service, host=host, port=9000) as house:
                await house.say("ada", "team", "Print it")
            assert called_back(service) == url

    run(story())


def test_every_event_of_a_space_has_a_public_name() -> None:
    assert {kind.__name__ for kind in get_args(SpaceEvent)} <= set(roomful.client.__all__)


def test_whatever_one_chore_does_the_worker_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        looks, again = 0, asyncio.Event()

        async def chore() -> None:
            nonlocal looks
            looks += 1
            if looks == 1:
                raise ValueError("a chore that nobody foresaw")
            again.set()

        async with Gateway.opened(database="sqlite:///:memory:", lease_seconds=0.2) as gateway:
            gateway.house.worker.each_tick(chore)
            async with asyncio.timeout(20):
                await again.wait()

    run(story())
    assert "something that the worker looks after failed" in caplog.text
