"""A card is there before the model has finished it: its arguments grow while they are written.

    python examples/03_growing_card.py

`follow` keeps a live copy of the space. After each event the card in it has all that was written so far.
Until its status is no longer `streaming` that is a preview, which nobody has checked.
"""

import asyncio

import roomful
from roomful.client import CallInput, CallReady

DESIGNER = {
    "id": "designer",
    "name": "Designer",
    "model": "scripted:designer",
    "tools": [
        {
            "name": "showPoster",
            "description": "Show a poster.",
            "executionType": "basic",
            "execution": {"mode": "pass-through"},
            "visibility": "full",
            "inputSchema": {
                "type": "object",
                "properties": {"title": {"type": "string"}, "copies": {"type": "integer"}},
            },
        }
    ],
}
SCRIPT = """
chunk: 7
delay: 100
turns:
  - steps:
      - calls: [{tool: showPoster, args: {title: Summer party, copies: 40}}]
"""


async def main() -> None:
    async with roomful.Gateway.opened(
        database="sqlite:///:memory:", port=0, agents=[DESIGNER], scripts={"designer": SCRIPT}
    ) as gateway:
        token = await gateway.person("ada")
        await gateway.space("team", "ada", "designer")
        async with gateway.served() as url, roomful.Client(url, token) as ada, ada.follow("team") as space:
            await ada.post("team", "A poster for the party, please")
            async for event in space:
                if isinstance(event, CallInput | CallReady):
                    [card] = space.messages()[-1].parts
                    print(card.status, card.args)
                if isinstance(event, CallReady):
                    break


if __name__ == "__main__":
    asyncio.run(main())
