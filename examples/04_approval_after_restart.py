"""An approval outlives the gateway: it is asked for, the process is killed, and the next one is answered.

    python examples/04_approval_after_restart.py

The gateway is a process of its own here (`serve`), with a database file. It is killed as by a power cut.
"""

import asyncio
import sys
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import roomful

PAY = {
    "name": "pay",
    "description": "Pay an amount.",
    "executionType": "basic",
    "execution": {"mode": "static", "output": "paid"},
    "approval": True,
    "inputSchema": {"type": "object", "properties": {"dollars": {"type": "integer"}}},
}
CASHIER = {"id": "cashier", "name": "Cashier", "model": "scripted:cashier", "speaks": "text", "tools": [PAY]}
SCRIPT = """
turns:
  - steps:
      - calls: [{tool: pay, args: {dollars: 1299}}]
      - text: "It is {{result}}."
"""


async def serve(database: str) -> None:
    async with roomful.Gateway.opened(
        database=database, port=0, agents=[CASHIER], scripts={"cashier": SCRIPT}
    ) as gateway:
        token = await gateway.person("ada")
        await gateway.space("team", "ada", "cashier")
        async with gateway.served() as url:
            print(url, token, flush=True)
            await asyncio.Event().wait()


@asynccontextmanager
async def until_killed(database: str) -> AsyncIterator[roomful.Client]:
    """Ada, at a gateway that is killed in the end."""
    process = await asyncio.create_subprocess_exec(sys.executable, __file__, database, stdout=PIPE)
    try:
        url, token = (await process.stdout.readline()).decode().split()
        async with roomful.Client(url, token) as ada:
            yield ada
    finally:
        process.kill()
        await process.wait()


async def main(database: str) -> None:
    async with until_killed(database) as ada:
        async for _ in ada.ask("team", "Pay the laptop"):
            pass
        [run] = await ada.runs(space_id="team")
        print("before:", run.status)
    async with until_killed(database) as ada, ada.follow("team") as space:
        [card] = space.waiting()
        print("after: ", card.run.status, card.part.tool_name, card.part.args)
        await ada.answer(card.run_id, card.part.tool_call_id, {"approved": True})
        while space.runs:
            await anext(space)
        print(space.messages()[-1].text)


if __name__ == "__main__":
    if sys.argv[1:]:
        asyncio.run(serve(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(main(f"sqlite:///{folder}/roomful.db"))
