"""A gateway inside a program that has a web server, routes and tools of its own.

    python examples/13_embedded.py

The program's routes and the gateway's share one port; the gateway is at /rooms. Ada asks, an agent calls a
function of this program, and the answer streams. The model is a script, so there is no key and no network.
"""

import asyncio
import socket

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

import roomful
from roomful.client import CallCompleted, TextDelta

STOCK = {"laptop": 3, "phone": 0}


@roomful.tool
def in_stock(product: str) -> int:
    """How many of a product there are."""
    return STOCK[product]


SHOP = {
    "id": "shop",
    "name": "Shop",
    "model": "scripted:shop",
    "tools": [
        {
            "name": "in_stock",
            "executionType": "python",
            "execution": {"function": "in_stock"},
            "visibility": "full",
        }
    ],
}
SCRIPT = """
turns:
  - steps:
      - calls: [{tool: in_stock, args: {product: laptop}}]
      - calls: [{tool: sendSpaceMessage, args: {spaceId: team, text: "There are {{result}} left."}}]
"""


async def home(request: Request) -> PlainTextResponse:
    return PlainTextResponse("A shop. Its rooms are at /rooms.")


async def main() -> None:
    async with roomful.Gateway.opened(
        database="sqlite:///:memory:", tools=[in_stock], agents=[SHOP], scripts={"shop": SCRIPT}
    ) as gateway:
        token = await gateway.person("ada", name="Ada")
        await gateway.space("team", "ada", "shop")
        app = Starlette(routes=[Route("/", home), Mount("/rooms", gateway.app)])
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        with socket.create_server(("127.0.0.1", 0)) as listening:
            serving = asyncio.create_task(server.serve([listening]))
            url = f"http://127.0.0.1:{listening.getsockname()[1]}/rooms"
            async with roomful.Client(url, token) as ada:
                async for event in ada.ask("team", "Are there laptops?"):
                    if isinstance(event, CallCompleted):
                        print(f"[{event.tool_name} {event.args}: {event.output}]")
                    elif isinstance(event, TextDelta):
                        print(event.delta, end="", flush=True)
            print()
            server.should_exit = True
            await serving


if __name__ == "__main__":
    asyncio.run(main())
