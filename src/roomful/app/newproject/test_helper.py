"""The agent, tried out without a network or a key: pytest"""

import asyncio
from pathlib import Path

from roomful.testing import open_house

AGENTS = Path(__file__).parent / "agents"


async def order() -> None:
    async with open_house(agents=AGENTS, spaces={"team": ["ada", "helper"]}) as house:
        asked = await house.say("ada", "team", "What does a laptop cost?")
        assert [(call.tool_name, call.args, call.result) for call in asked.calls[:1]] == [
            ("price", {"product": "laptop"}, 1299)
        ]
        assert asked.texts == ["A laptop is 1299 dollars."]

        [form] = asked.waiting
        answered = await house.answer("ada", form, {"choice": "Home"})
        assert answered.texts == ["Done. It goes to: Home."]
        assert [run.status for run in answered.runs] == ["completed"]


def test_a_price_is_told_and_the_form_decides_where_it_goes() -> None:
    asyncio.run(order())
