"""The demo's outside world: a weather service of its own, so that a tool can make a real request offline.

An agent names it as `http://weather.demo/`. Behind that name is a port of this process on loopback, another
one after every start, which is opened with the first request.
"""

import asyncio
import hashlib
from contextlib import AbstractAsyncContextManager
from typing import Final, NamedTuple

from aiohttp import web
from msgspec.structs import replace

from roomful.domain.outbound import Egress, OutboundRequest, OutboundResponse, OutboundStream
from roomful.egress import HttpEgress

ADDRESS: Final = "http://weather.demo/"
_HOST: Final = "127.0.0.1"
_SKIES: Final = ("clear", "cloudy", "windy", "rainy")


class _Service(NamedTuple):
    """Only this door leads to it."""

    runner: web.AppRunner
    door: HttpEgress
    url: str


class Outside:
    """The Egress port: what is addressed to the demo's service goes there, all else takes the way it always
    takes. `close` it when done."""

    def __init__(self, egress: Egress) -> None:
        self._egress = egress
        self._opening = asyncio.Lock()
        self._service: _Service | None = None

    async def send(self, request: OutboundRequest) -> OutboundResponse:
        if not request.url.startswith(ADDRESS):
            return await self._egress.send(request)
        async with self._opening:
            service = self._service = self._service or await _open()
        return await service.door.send(replace(request, url=service.url + request.url.removeprefix(ADDRESS)))

    def stream(self, request: OutboundRequest) -> AbstractAsyncContextManager[OutboundStream]:
        return self._egress.stream(request)

    async def close(self) -> None:
        async with self._opening:
            service, self._service = self._service, None
        if service is not None:
            await service.runner.cleanup()
            service.door.close()


async def _open() -> _Service:
    app = web.Application()
    app.router.add_get("/v1/current", _current)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, _HOST, 0).start()
    host, port = runner.addresses[0][:2]
    return _Service(runner, HttpEgress(allow=[f"{host}:{port}"]), f"http://{host}:{port}/")


async def _current(request: web.Request) -> web.Response:
    city = request.query.get("city", "").strip()
    if not city:
        return web.json_response({"error": "which city?"}, status=400)
    return web.json_response(weather_in(city))


def weather_in(city: str) -> dict[str, str | int]:
    """The same city always has the same weather."""
    sky, warmth, wind = hashlib.sha256(city.lower().encode()).digest()[:3]
    return {
        "city": city,
        "sky": _SKIES[sky % len(_SKIES)],
        "temperature": 4 + warmth % 25,
        "wind": wind % 40,
    }
