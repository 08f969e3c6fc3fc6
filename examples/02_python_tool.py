"""A Python function is a tool: its type hints and docstring tell the model how to call it.

    python examples/02_python_tool.py

`visibility: full` shows the call in the space, with its arguments and its result. `open_house` is a whole
gateway that lasts as long as the block: `say` returns when the agent is done.
"""

import asyncio

import roomful
from roomful.testing import open_house

PRICES = {"laptop": 1299, "phone": 799}


@roomful.tool
def price(product: str) -> int:
    """The price of a product, in dollars."""
    return PRICES[product]


SHOP = {
    "id": "shop",
    "name": "Shop",
    "model": "scripted:shop",
    "speaks": "text",
    "tools": [
        {"name": "price", "executionType": "python", "execution": {"function": "price"}, "visibility": "full"}
    ],
}
SCRIPT = """
turns:
  - steps:
      - calls: [{tool: price, args: {product: laptop}}]
      - text: "A laptop is {{result}} dollars."
"""


async def main() -> None:
    async with open_house(
        tools=[price], agents=[SHOP], scripts={"shop": SCRIPT}, spaces={"team": ["ada", "shop"]}
    ) as house:
        said = await house.say("ada", "team", "What does a laptop cost?")
        for call in said.calls:
            print(f"{call.tool_name} {call.args} -> {call.result}")
        print(*said.texts)


if __name__ == "__main__":
    asyncio.run(main())
