"""A gateway inside a program without a server of its own: it serves itself while a block lasts."""

import json
import signal
import socket
from typing import get_args

import aiohttp
import pytest

import roomful.client
from roomful import Client, Gateway
from roomful.domain.events import SpaceEvent
from roomful.testing import open_house
from tests.app.embedded import run
from tests.egress.endpoints import answering, http


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


@pytest.mark.parametrize("public_url", ["", "https://rooms.example/"])
def test_results_are_called_back_to_where_it_is_served(public_url: str) -> None:
    async def story() -> None:
        async with answering(http(202, b"{}", content_type="application/json")) as service:
            tool = {
                "name": "print",
                "description": "Print.",
                "executionType": "external",
                "execution": {"url": service.url("/orders")},
            }
            office = {"id": "office", "name": "Office", "model": "scripted:office", "tools": [tool]}
            async with (
                open_house(
                    agents=[office],
                    scripts={"office": "turns: [{calls: [{tool: print}]}]"},
                    spaces={"team": ["ada", "office"]},
                    allow_hosts=service.pair,
                    public_url=public_url,
                    port=0,
                ) as house,
                house.gateway.served() as url,
            ):
                await house.say("ada", "team", "Print it")
            [(_, _, body)] = service.requests
            base = public_url.rstrip("/") or url
            assert json.loads(body)["callbackUrl"].startswith(f"{base}/api/callbacks/")

    run(story())


def test_every_event_of_a_space_has_a_public_name() -> None:
    assert {kind.__name__ for kind in get_args(SpaceEvent)} <= set(roomful.client.__all__)
