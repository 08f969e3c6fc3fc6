"""What was agreed to of a server's tools: pinned once, approved tool by tool, gone with the agent."""

import asyncio

import pytest

from roomful.domain.changes import ApproveTools, PinTools, PutAgent, RemoveAgent
from roomful.domain.errors import NotFound
from roomful.domain.mcp import Pinned
from roomful.domain.ports import Store
from tests.store.things import agent

HERE = Pinned("guide", "city", "a")


async def test_of_several_who_pin_at_once_one_does(store: Store) -> None:
    assert await store.mcp_pins(HERE) is None
    answers = await asyncio.gather(
        *(store.commit([PinTools(HERE, {"weather": str(number)})]) for number in range(10))
    )

    assert {pins["weather"] for [pins] in answers} == {(await store.mcp_pins(HERE) or {})["weather"]}


async def test_an_approval_adds_to_what_was_agreed_to_at_this_address(store: Store) -> None:
    there = Pinned("guide", "city", "b")
    with pytest.raises(NotFound):
        await store.commit([ApproveTools(HERE, {"weather": "2"})])
    await store.commit([PinTools(HERE, {"weather": "1", "book": "1"}), PinTools(there, {})])
    await store.commit([ApproveTools(HERE, {"weather": "2", "more": "1"})])

    assert await store.mcp_pins(HERE) == {"weather": "2", "book": "1", "more": "1"}
    assert await store.mcp_pins(there) == {}


async def test_what_was_agreed_to_goes_with_the_agent(store: Store) -> None:
    await store.commit([PutAgent(agent("guide")), PinTools(HERE, {"weather": "1"})])
    await store.commit([RemoveAgent("guide")])

    assert await store.mcp_pins(HERE) is None
