"""An agent tried out offline: what is said, shown, asked and answered, as each member has it."""

import asyncio
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

import roomful
from roomful import Client
from roomful.domain.errors import Conflict, Forbidden, Invalid, NotFound
from roomful.domain.events import MessageChanged, RunChanged, TextDelta
from roomful.testing import open_house
from tests.app.embedded import open_things, run, served

PAGE = Path(__file__).parent.parent.parent / "docs" / "testing.md"


@roomful.tool
async def stock(product: str) -> int:
    """How many there are."""
    await asyncio.sleep(0)
    return len(product)


def _tool(name: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": f"{name}.",
        "executionType": "basic",
        "execution": {"mode": "pass-through"},
        "visibility": "full",
        "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}},
        **more,
    }


def _agent(id: str, *tools: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": id, "name": id.title(), "model": f"scripted:{id}", "tools": list(tools), **more}


SHOP = _agent(
    "shop",
    _tool("stock", executionType="python", execution={"function": "stock"}),
    _tool("hush", visibility="hidden"),
    _tool("pay", approval=True),
)
SCRIPT = """
turns:
  - when: {contains: laptops}
    steps:
      - calls:
          - {tool: sendSpaceMessage, args: {spaceId: team, text: Here are some.}}
          - {tool: hush, args: {title: secret}}
          - {tool: stock, args: {product: laptop}}
          - {tool: sendSpaceMessage, args: {spaceId: finance, text: Ada looks at laptops.}}
  - when: {contains: pay}
    steps:
      - calls: [{tool: pay, args: {title: Laptop}}]
      - calls: [{tool: sendSpaceMessage, args: {spaceId: team, text: "Then {{result}}."}}]
  - when: {contains: hang}
    text: Let me
    hang: true
"""
SPACES = {"team": ["ada", "shop"], "finance": ["grace", "shop"]}


def _house(**more: Any) -> Any:
    given: dict[str, Any] = {
        "agents": [SHOP],
        "scripts": {"shop": SCRIPT},
        "tools": [stock],
        "spaces": SPACES,
    }
    return open_house(**(given | more))


def test_what_came_of_a_message_is_seen_once_the_runs_rest() -> None:
    async def story() -> None:
        before = open_things()
        async with _house() as house:
            said = await house.say("ada", "team", "Show me laptops")
            assert said.texts == ["Here are some."]
            assert [(call.tool_name, call.args, call.result) for call in said.calls] == [
                ("stock", {"product": "laptop"}, 6)
            ]
            assert [message.entity_id for message in said.messages] == ["ada", "shop"]
            assert [run.status for run in said.runs] == ["completed"]
            assert said.waiting == []
            assert [type(event) for event in said.events][:2] == [MessageChanged, RunChanged]
            assert "".join(one.delta for one in said.events if isinstance(one, TextDelta)) == "Here are some."
            assert said.seen_in("finance", by="grace").texts == ["Ada looks at laptops."]
            with pytest.raises(NotFound, match="'ada' is in no space 'finance'"):
                said.seen_in("finance")
        assert open_things() == before

    run(story())


def test_what_is_shown_is_what_a_member_gets_over_http() -> None:
    async def story() -> None:
        async with _house() as house:
            said = await house.say("ada", "team", "Show me laptops")
            token = await house.gateway.person("ada")
            async with served(house.gateway.app, house.gateway.drain) as url, Client(url, token) as client:
                page = await client.messages("team")
            assert page.messages == list(said.messages) == await house.messages("team", by="ada")
            assert b"hush" not in msgspec.json.encode(said.messages)
            with pytest.raises(NotFound):
                await house.messages("finance", by="ada")

    run(story())


@pytest.mark.parametrize(
    ("decision", "status", "text"),
    [
        ({"approved": True}, "complete", 'Then {"title":"Laptop"}.'),
        ({"approved": False, "reason": "too dear"}, "error", "too dear"),
    ],
)
def test_a_card_is_answered_and_what_is_new_since_is_seen(
    decision: dict[str, Any], status: str, text: str
) -> None:
    async def story() -> None:
        async with _house() as house:
            said = await house.say("ada", "team", "Please pay")
            assert [(run.status, said.texts) for run in said.runs] == [("waiting_tool", [])]
            [card] = said.waiting
            assert (card.tool_name, card.args, card.asks) == ("pay", {"title": "Laptop"}, "approval")
            with pytest.raises(NotFound):
                await house.answer("grace", card, decision)
            answered = await house.answer("ada", card, decision)
            assert [(call.tool_name, call.status) for call in answered.calls] == [("pay", status)]
            [told] = answered.texts
            assert text in told
            assert (answered.waiting, [run.status for run in answered.runs]) == ([], ["completed"])
            with pytest.raises(Conflict):
                await house.answer("ada", card, decision)

    run(story())


def test_what_is_meant_for_one_is_seen_by_that_one_alone() -> None:
    card = {"tool": "whisper", "args": {"targetSpaceId": "team", "targetEntityId": "grace", "title": "psst"}}

    async def story() -> None:
        async with open_house(
            agents=[_agent("shop", _tool("whisper"), dialect="composite")],
            scripts={"shop": {"turns": [{"steps": [{"calls": [card, _says("Hello.")]}]}]}},
            spaces={"team": ["ada", "grace", "shop"]},
        ) as house:
            said = await house.say("ada", "team", "go")
            assert (said.texts, said.calls) == (["Hello."], [])
            assert "psst" not in str([said.messages, said.events])
            [seen] = said.seen_in("team", by="grace").calls
            assert (seen.tool_name, seen.args) == ("whisper", {"title": "psst"})
            assert "psst" in str(said.seen_in("team", by="grace").events)

    run(story())


def test_agents_that_wake_each_other_all_come_to_rest() -> None:
    asks = {"turns": [{"steps": [{"calls": [_says("@second please")]}]}]}
    does = {"turns": [{"steps": [{"calls": [_says("I did.")]}]}]}

    async def story() -> None:
        async with open_house(
            agents=[_agent("first"), _agent("second")],
            scripts={"first": asks, "second": does},
            spaces={"team": ["ada", "first", "second"]},
        ) as house:
            said = await house.say("ada", "team", "@first go", mentions=["first"])
            assert said.texts == ["@second please", "I did."]

    run(story())


def test_runs_that_take_turns_all_come_to_rest() -> None:
    asks = {"turns": [{"steps": [{"calls": [_says("@second once"), _says("@second twice")]}]}]}
    does = {"turns": [{"steps": [{"calls": [_says("I did.")]}]}]}

    async def story() -> None:
        async with open_house(
            agents=[_agent("first"), _agent("second", onBusy="queue")],
            scripts={"first": asks, "second": does},
            spaces={"team": ["ada", "first", "second"]},
        ) as house:
            said = await house.say("ada", "team", "go", mentions=["first"])
            assert said.texts.count("I did.") == 2

    run(story())


def test_a_form_is_answered_after_something_else_was_said() -> None:
    form = _tool("form", execution={"mode": "no-execution"})
    script = """
turns:
  - when: {contains: one}
    steps:
      - calls: [{tool: form, args: {title: Name}}]
      - calls: [{tool: sendSpaceMessage, args: {spaceId: team, text: "Hello {{result}}"}}]
  - calls: [{tool: sendSpaceMessage, args: {spaceId: team, text: "And two."}}]
"""

    async def story() -> None:
        async with open_house(
            agents=[_agent("shop", form)],
            scripts={"shop": script},
            spaces={"team": ["ada", "shop"]},
        ) as house:
            [card] = (await house.say("ada", "team", "one")).waiting
            assert (await house.say("ada", "team", "two")).texts == ["And two."]
            answered = await house.answer("ada", card, {"name": "Ada"})
            assert answered.texts == ['Hello {"name":"Ada"}']

    run(story())


def test_a_sub_agent_and_its_caller_come_to_rest() -> None:
    research = _tool(
        "research",
        executionType="ai-agent",
        execution={"agentId": "finder"},
        inputSchema={"type": "object", "properties": {"prompt": {"type": "string"}}},
    )
    boss = {
        "turns": [
            {
                "steps": [
                    {"calls": [{"tool": "research", "args": {"prompt": "look"}}]},
                    {"calls": [_says("They say {{result}}")]},
                ]
            }
        ]
    }

    async def story() -> None:
        async with open_house(
            agents=[_agent("boss", research), _agent("finder")],
            scripts={"boss": boss, "finder": "turns: [{text: Two of them.}]"},
            spaces={"team": ["ada", "boss"]},
        ) as house:
            said = await house.say("ada", "team", "find it")
            assert [call.child.text for call in said.calls if call.child] == ["Two of them."]
            [text] = said.texts
            assert text.startswith("They say")
            assert "Two of them." in text

    run(story())


def test_runs_that_do_not_rest_are_named() -> None:
    async def story() -> None:
        async with _house(patience=0.3) as house:
            with pytest.raises(TimeoutError, match=r"after 0\.3 s .* of 'shop' is running"):
                await house.say("ada", "team", "hang on")

    run(story())


def test_a_reader_may_not_speak_and_nobody_else_either() -> None:
    async def story() -> None:
        async with _house() as house:
            await house.space("team", "eve", role="reader")
            with pytest.raises(Forbidden):
                await house.say("eve", "team", "laptops")
            with pytest.raises(NotFound):
                await house.say("grace", "team", "laptops")
            with pytest.raises(NotFound, match="there is no entity 'nobody'"):
                await house.say("nobody", "team", "laptops")

    run(story())


def test_a_mistake_in_a_script_names_it() -> None:
    async def story() -> None:
        with pytest.raises(Invalid, match="shop: turn 1: object contains unknown field `txt`"):
            async with _house(scripts={"shop": "turns: [{txt: a}]"}):
                pass

    run(story())


def test_the_page_about_testing_works_as_shown() -> None:
    [shown] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(shown, names)
    names["test_an_order_is_approved_first"]()


def _says(text: str) -> dict[str, Any]:
    return {"tool": "sendSpaceMessage", "args": {"spaceId": "team", "text": text}}
