"""A tool call as a React component of your own: SeatCard.tsx, on the page page.tsx.

    make setup && . .venv/bin/activate
    python examples/09_react_card/run.py

Open the address that it prints, press "Ask", and take the seat. The page and the gateway share one origin.
"""

import asyncio
import os
import socket
import subprocess
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route

import roomful

HERE = Path(__file__).parent
WEB = HERE.parents[1] / "web"
PAGE = (
    '<!doctype html><title>Theatre</title><div id="page"></div><script type="module" src="/page.js"></script>'
)
OFFER = {
    "name": "offerSeat",
    "description": "Offer a seat.",
    "executionType": "basic",
    "execution": {"mode": "no-execution"},
    "display": {"customUI": "SeatCard"},
    "inputSchema": {
        "type": "object",
        "properties": {"row": {"type": "string"}, "price": {"type": "number"}},
        "required": ["row", "price"],
    },
}
USHER = {"id": "usher", "name": "Usher", "model": "scripted:usher", "speaks": "text", "tools": [OFFER]}
SCRIPT = """
delay: 100
turns:
  - steps:
      - calls: [{tool: offerSeat, args: {row: Orchestra C, price: 45}}]
      - text: Enjoy the play.
"""


def bundle() -> bytes:
    """The page and all that it needs as one script, with what Roomful's own page is built with."""
    esbuild = ["node", WEB / "node_modules/esbuild/bin/esbuild", HERE / "page.tsx"]
    how = ["--bundle", "--format=esm", "--jsx=automatic", "--conditions=source", "--log-level=error"]
    found = os.environ | {"NODE_PATH": str(WEB / "node_modules")}
    return subprocess.run([*esbuild, *how], env=found, stdout=subprocess.PIPE, check=True).stdout


async def main() -> None:
    script = bundle()
    async with roomful.Gateway.opened(
        database="sqlite:///:memory:", agents=[USHER], scripts={"usher": SCRIPT}
    ) as gateway:
        token = await gateway.person("ada", name="Ada")
        await gateway.space("theatre", "ada", "usher")
        page = Route("/", lambda _: HTMLResponse(PAGE))
        code = Route("/page.js", lambda _: Response(script, media_type="text/javascript"))
        app = Starlette(routes=[page, code, Mount("/", gateway.app)])
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
        with socket.create_server(("127.0.0.1", 0)) as listening:
            print(f"http://127.0.0.1:{listening.getsockname()[1]}/#{token}", flush=True)
            await server.serve([listening])


if __name__ == "__main__":
    asyncio.run(main())
