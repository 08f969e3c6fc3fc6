"""Two gateways, one space: Ada asks at one, and Grace reads the same run at the other while it is written.

    pip install 'roomful[postgres,redis]'
    export DATABASE_URL=postgresql://localhost/roomful REDIS_URL=redis://localhost:6379/0
    python examples/12_two_gateways.py

This process is one gateway, and the process that it starts (`serve`) is the other. They share a Postgres,
which is the record, and a Redis, over which they tell each other what happens.
"""

import asyncio
import os
import subprocess
import sys

import roomful
from roomful.client import LiveSpace, RunChanged

GUIDE = {"id": "guide", "name": "Guide", "model": "scripted:guide", "speaks": "text"}
SCRIPT = """
delay: 10
turns:
  - text: The museum opens at ten.
"""


def gateway():
    return roomful.Gateway.opened(
        database=os.environ["DATABASE_URL"],
        bus=os.environ["REDIS_URL"],
        port=0,
        agents=[GUIDE],
        scripts={"guide": SCRIPT},
    )


async def serve() -> None:
    async with gateway() as other, other.served() as url:
        print(url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


async def read(space: LiveSpace, run_id: str) -> str:
    """What it shows when the run has ended."""
    ended = False
    while not ended:
        event = await anext(space)
        ended = isinstance(event, RunChanged) and (event.run_id, event.status) == (run_id, "completed")
    return space.messages()[-1].text


async def main(other_url: str) -> None:
    async with gateway() as here, here.served() as url:
        tokens = [await here.person(name) for name in ("ada", "grace")]
        await here.space("trip", "ada", "grace", "guide")
        async with (
            roomful.Client(url, tokens[0]) as ada,
            roomful.Client(other_url, tokens[1]) as grace,
            ada.follow("trip") as here_seen,
            grace.follow("trip") as there_seen,
        ):
            [run] = (await ada.post("trip", "When does the museum open?")).runs
            print("Ada, here:   ", await read(here_seen, run.run_id))
            print("Grace, there:", await read(there_seen, run.run_id))


if __name__ == "__main__":
    if sys.argv[1:]:
        asyncio.run(serve())
    else:
        command, pipe = [sys.executable, __file__, "serve"], subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as other:
            asyncio.run(main(other.stdout.readline().strip()))
