"""What a page shows is done: an agent with the tool, a model that calls it, and what that model is told."""

import contextlib
import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import roomful
from roomful.testing import open_house
from roomful.tools import configure
from tests.app.embedded import served
from tests.docs.pages import Page, patched

OUTSIDE = "https://api.example.com"
"""How pages call the service that the tests serve."""
_INNER_AGENT = {"when": {"contains": "electric cars"}, "text": "Twice as many as last year."}


class Service:
    """Somebody else's: it knows the weather in a few cities, and takes orders."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.app = Starlette(
            routes=[
                Route("/weather/{city}", self._weather),
                Route("/orders", self._order, methods=["POST"]),
            ]
        )

    async def _weather(self, request: Request) -> Response:
        if (city := request.path_params["city"]) == "Atlantis":
            return JSONResponse({"error": "no such city"}, 404)
        return JSONResponse({"city": city, "degrees": 21, "unit": request.query_params.get("unit")})

    async def _order(self, request: Request) -> Response:
        self.asked.append(await request.json())
        wanted = self.asked[-1]["input"]
        if wanted["product"] == "unicorn":
            return JSONResponse({"error": "sold out"}, 409)
        return JSONResponse({"order": 7, "product": wanted["product"]})


class Trial:
    """One page, tried with its own example or with a change to it."""

    def __init__(self, page: Page, service: str) -> None:
        self._page = page
        self._service = service

    @property
    def config(self) -> dict[str, Any]:
        """The example's tool, or MCP server; nothing for tools that are always there."""
        return self._page.data("tool") or self._page.data("server") or {}

    async def told(self, *, patch: Any = None, args: Any = None, answer: Any = None) -> str:
        """What the model is told of the call, after a person's answer if there is one."""
        async with self._house(patch or {}, args) as house:
            said = await house.say("ada", "team", "Please begin")
            if answer is not None:
                [card] = said.waiting
                said = await house.answer("ada", card, answer)
            assert said.texts, [run.error for run in said.runs]
            return said.texts[-1]

    @contextlib.asynccontextmanager
    async def _house(self, patch: Any, args: Any) -> AsyncGenerator[Any]:
        agent = self._agent(patch)
        dialect = configure(agent).dialect
        say = {"text": "{{result}}"} if dialect == "active" else {"spaceId": "team", "text": "{{result}}"}
        sender = "send_message" if dialect == "active" else "sendSpaceMessage"
        call = self._call(args)
        steps = [{"calls": [call]}, {"calls": [{"tool": sender, "args": say}]}]
        turns = [_INNER_AGENT, {"when": {"contains": "Please begin"}, "steps": steps}]
        async with open_house(
            agents=[agent],
            scripts={"helper": {"turns": turns}},
            tools=self._functions(),
            spaces={"team": ["ada", "helper"]},
            allow_hosts=self._service.removeprefix("http://"),
        ) as house:
            yield house

    def _agent(self, patch: Any) -> dict[str, Any]:
        agent: dict[str, Any] = {"id": "helper", "name": "Helper", "model": "scripted:helper"}
        config = json.loads(json.dumps(patched(self.config, patch)).replace(OUTSIDE, self._service))
        if self._page.data("tool"):
            return agent | {"tools": [config]}
        if self._page.data("server"):
            return agent | {"mcp": {"servers": [config]}}
        return agent | {"dialect": "active"}

    def _call(self, args: Any) -> dict[str, Any]:
        call: Mapping[str, Any] = self._page.data("call") or {
            "tool": self.config.get("name"),
            "args": self._page.data("arguments"),
        }
        return {**call, "args": call["args"] if args is None else args}

    def _functions(self) -> list[Any]:
        names: dict[str, Any] = {"roomful": roomful}
        for shown in self._page.blocks("python"):
            exec(shown, names)
        return [value for value in names.values() if hasattr(value, "__roomful_tool__")]


@contextlib.asynccontextmanager
async def trial_of(page: Page, address: str | None = None) -> AsyncGenerator[tuple[Trial, Service]]:
    """`address` is a service that is served already."""
    service = Service()
    if address is not None:
        yield Trial(page, address), service
        return
    async with served(service.app) as url:
        yield Trial(page, url), service
