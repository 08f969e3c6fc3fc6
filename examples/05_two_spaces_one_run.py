"""One run in two spaces: Ada asks in the team, and the run waits for a form that Grace fills in in finance.

    python examples/05_two_spaces_one_run.py

`targetSpaceId` says where a call is shown. Each space has its own message of the same run, and neither sees
the other's.
"""

import asyncio

from roomful.testing import open_house

BUYER = {
    "id": "buyer",
    "name": "Buyer",
    "model": "scripted:buyer",
    "tools": [
        {
            "name": "askBudget",
            "description": "Ask for a budget.",
            "executionType": "basic",
            "execution": {"mode": "no-execution"},
            "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}},
            "resultSchema": {"type": "object", "properties": {"dollars": {"type": "integer"}}},
        }
    ],
}
SCRIPT = """
turns:
  - steps:
      - calls:
          - {tool: sendSpaceMessage, args: {spaceId: team, text: I am asking finance.}}
          - {tool: askBudget, args: {targetSpaceId: finance, title: A laptop for Ada}}
      - calls: [{tool: sendSpaceMessage, args: {spaceId: team, text: "Finance said: {{result}}"}}]
"""


async def main() -> None:
    async with open_house(
        agents=[BUYER],
        scripts={"buyer": SCRIPT},
        spaces={"team": ["ada", "buyer"], "finance": ["grace", "buyer"]},
    ) as house:
        said = await house.say("ada", "team", "I need a laptop")
        [form] = said.seen_in("finance", by="grace").waiting
        print("team:   ", *said.texts)
        print("finance:", form.tool_name, form.args)
        print("the run:", said.runs[0].status)

        answered = await house.answer("grace", form, {"dollars": 1500})
        print("team:   ", *answered.seen_in("team", by="ada").texts)
        print("the run:", answered.runs[0].status)


if __name__ == "__main__":
    asyncio.run(main())
