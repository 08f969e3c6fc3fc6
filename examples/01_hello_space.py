"""A space, a person and an agent: Ada says hello, and the answer comes word by word.

    python examples/01_hello_space.py

The agent's model is a script, so there is no key and no network. `model: openai:gpt-5-mini` instead of
`scripted:greeter` is all that a real one needs.
"""

import asyncio

import roomful
from roomful.client import TextDelta

GREETER = {
    "id": "greeter",
    "name": "Greeter",
    "model": "scripted:greeter",
    "speaks": "text",
}
SCRIPT = """
chunk: 6
delay: 50
turns:
  - text: "You said: {{message}} Welcome to the space, Ada!"
"""


async def main() -> None:
    async with roomful.Gateway.opened(
        database="sqlite:///:memory:", port=0, agents=[GREETER], scripts={"greeter": SCRIPT}
    ) as gateway:
        token = await gateway.person("ada", name="Ada")
        await gateway.space("team", "ada", "greeter")
        async with gateway.served() as url, roomful.Client(url, token) as ada:
            async for event in ada.ask("team", "Hello!"):
                if isinstance(event, TextDelta):
                    print(event.delta, end="", flush=True)
    print()


if __name__ == "__main__":
    asyncio.run(main())
