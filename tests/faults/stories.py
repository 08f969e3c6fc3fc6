"""Six stories, each with several requests of people. Their models answer by what they are asked."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tests.faults.killing import Deployment, Outside, Page, Story
from tests.faults.ledger import Ledger
from tests.http.shopping import PRODUCT_CARD
from tests.http.test_blobs import DRAW
from tests.http.test_waiting import FORM
from tests.servers.fake_openai import Answer, Asked, call, text
from tests.servers.roomful import Caller, Roomful, openai
from tests.servers.world import World

WISHES = (1, 2)
Calls = Sequence[tuple[str, dict[str, Any]]]


def wish(asked: Asked) -> str:
    """The number of what the run was asked for, if it has one."""
    first = next(message for message in asked.messages if message["role"] == "user")
    return (re.findall(r"wish (\d)", str(first["content"])) or [""])[-1]


def goes_on(asked: Asked, *steps: Calls, last: str) -> Answer:
    """The calls of the first step of which some were not made, and those only; when all were, last words."""
    made = [
        (one["function"]["name"], json.loads(one["function"]["arguments"]))
        for message in asked.messages
        for one in message.get("tool_calls") or ()
    ]
    for step in steps:
        if missing := [one for one in step if one not in made]:
            return Answer(
                [
                    piece
                    for index, (name, args) in enumerate(missing)
                    for piece in call(name, args, index=index, id=f"c{index}")
                ]
            )
    return Answer(text(last))


def texts(page: Page) -> list[str]:
    """What was said to its end."""
    return [
        part["text"]
        for message in page
        for part in message["parts"]
        if part["type"] == "text" and part["status"] != "canceled"
    ]


def calls(page: Page, name: str) -> list[dict[str, Any]]:
    return [
        part
        for message in page
        for part in message["parts"]
        if part["type"] == "tool_call" and part["toolName"] == name and part["status"] != "canceled"
    ]


def check_effects(effects: Counter[str], made: Mapping[str, str]) -> None:
    """By key, what became of the call that should have had the effect. None had two: that is known."""
    assert set(effects) <= set(made), effects
    for key, status in made.items():
        assert status in ("complete", "unknown"), f"{key}: {status}"
        assert status == "unknown" or effects[key] == 1, f"{key} is said to be done and was not"


def ask_for_all(people: Mapping[str, Caller], ledger: Ledger, house: Deployment, **more: Any) -> None:
    for number in WISHES:
        said = ledger.say(people["room"], "room", f"This is wish {number}.", **more)
        house.ended(said["runs"][0]["runId"])


class Plain:
    """People talk and an agent answers each of them."""

    name = "plain"
    pictures = 0

    def furnish(self, house: Roomful, outside: Outside) -> Mapping[str, Caller]:
        ada = house.person("ada")
        house.agent("helper", openai(outside.model.base_url), speaks="both")
        house.space("room", "ada", "helper")
        return {"room": ada}

    def answer(self, asked: Asked) -> Answer:
        return Answer(text(f"I heard wish {wish(asked)}, and that is all."))

    def play(self, people: Mapping[str, Caller], ledger: Ledger, house: Deployment) -> None:
        ask_for_all(people, ledger, house)

    def check(self, pages: Mapping[str, Page], effects: Counter[str]) -> None:
        said = [f"This is wish {n}." for n in WISHES]
        heard = [f"I heard wish {n}, and that is all." for n in WISHES]
        assert Counter(texts(pages["room"])) == Counter(said + heard)
        check_effects(effects, {})


class ThreeSpaces:
    """One run speaks in the room, shows a card in design and tells finance."""

    name = "three-spaces"
    pictures = 0

    def furnish(self, house: Roomful, outside: Outside) -> Mapping[str, Caller]:
        people = {space: house.person(who) for space, who in self._readers.items()}
        house.agent("shop", openai(outside.model.base_url), PRODUCT_CARD, dialect="composite")
        for space, who in self._readers.items():
            house.space(space, who, "shop")
        return people

    _readers = {"room": "ada", "design": "dora", "finance": "fay"}

    def answer(self, asked: Asked) -> Answer:
        number = wish(asked)
        if not number:
            return Answer(text("Thank you."))
        first = [
            ("sendSpaceMessage", {"spaceId": "room", "text": f"I begin with {number}."}),
            ("showProductCard", {"targetSpaceId": "design", "name": f"Card {number}", "price": 7}),
            ("sendSpaceMessage", {"spaceId": "finance", "text": f"{number} costs 7."}),
        ]
        then = [("sendSpaceMessage", {"spaceId": "room", "text": f"I am done with {number}."})]
        return goes_on(asked, first, then, last="Done.")

    def play(self, people: Mapping[str, Caller], ledger: Ledger, house: Deployment) -> None:
        ask_for_all(people, ledger, house)
        ledger.say(people["design"], "design", "Nice card!")

    def check(self, pages: Mapping[str, Page], effects: Counter[str]) -> None:
        words = ("This is wish {}.", "I begin with {}.", "I am done with {}.")
        assert Counter(texts(pages["room"])) == Counter(one.format(n) for n in WISHES for one in words)
        assert texts(pages["finance"]) == [f"{n} costs 7." for n in WISHES]
        cards = calls(pages["design"], "showProductCard")
        assert [card["args"]["name"] for card in cards] == [f"Card {n}" for n in WISHES]
        check_effects(effects, {})


class HttpTool:
    """An agent orders something by HTTP and lets a webhook know."""

    name = "http-tool"
    pictures = 0

    def furnish(self, house: Roomful, outside: Outside) -> Mapping[str, Caller]:
        ada = house.person("ada")
        tools = [outside.world.tool("pay", visibility="visible"), *_webhooks(outside.world)]
        house.agent("buyer", openai(outside.model.base_url), *tools)
        house.space("room", "ada", "buyer")
        return {"room": ada}

    def answer(self, asked: Asked) -> Answer:
        number = wish(asked)
        return goes_on(asked, [("pay", {"key": f"pay-{number}"})], [(f"tell-{number}", {})], last="Done.")

    def play(self, people: Mapping[str, Caller], ledger: Ledger, house: Deployment) -> None:
        ask_for_all(people, ledger, house)

    def check(self, pages: Mapping[str, Page], effects: Counter[str]) -> None:
        paid = {part["args"]["key"]: part["status"] for part in calls(pages["room"], "pay")}
        told = {
            part["toolName"]: part["status"] for n in WISHES for part in calls(pages["room"], f"tell-{n}")
        }
        assert set(paid | told) == {f"{what}-{n}" for n in WISHES for what in ("pay", "tell")}
        check_effects(effects, paid | told)


def _webhooks(world: World) -> list[dict[str, Any]]:
    return [
        {
            "name": f"tell-{number}",
            "description": "Let them know.",
            "executionType": "external",
            "execution": {"webhookUrl": f"http://{world.host}/tell-{number}", "method": "POST"},
            "inputSchema": {"type": "object", "properties": {}},
        }
        for number in WISHES
    ]


class Form:
    """An agent asks two people one after the other, and tells what they said."""

    name = "form"
    pictures = 0

    def furnish(self, house: Roomful, outside: Outside) -> Mapping[str, Caller]:
        ada, bob = house.person("ada"), house.person("bob")
        house.agent("asker", openai(outside.model.base_url), FORM, speaks="both")
        house.space("room", "ada", "bob", "asker")
        house.space("hall", "bob")
        return {"room": ada, "hall": bob}

    def answer(self, asked: Asked) -> Answer:
        told = [message["content"] for message in asked.messages if message["role"] == "tool"]
        questions = [[("form", {"q": f"{wish(asked)}: are you sure, {who}?"})] for who in ("Ada", "Bob")]
        return goes_on(asked, *questions, last=f"They said {' and '.join(map(str, told))}.")

    def play(self, people: Mapping[str, Caller], ledger: Ledger, house: Deployment) -> None:
        ada, bob = people["room"], people["hall"]
        run_id = ledger.say(ada, "room", "This is wish 1.")["runs"][0]["runId"]
        for who, rival in ((ada, bob), (bob, ada)):
            call_id = house.card(run_id)
            ledger.answer(who, run_id, call_id, {"said by": who.id})
            late = house.refused(rival, run_id, call_id, {"said by": rival.id})
            assert late["outcome"]["result"] == {"said by": who.id}, late
        house.ended(run_id)

    def check(self, pages: Mapping[str, Page], effects: Counter[str]) -> None:
        forms = calls(pages["room"], "form")
        assert [form["result"] for form in forms] == [{"said by": "ada"}, {"said by": "bob"}]
        assert texts(pages["room"])[-1] == 'They said {"said by":"ada"} and {"said by":"bob"}.'
        check_effects(effects, {})


class Mentions:
    """An agent mentions an agent, which mentions a third one."""

    name = "mentions"
    pictures = 0
    _next = {"alpha": "beta", "beta": "gamma", "gamma": ""}

    def furnish(self, house: Roomful, outside: Outside) -> Mapping[str, Caller]:
        ada = house.person("ada")
        for agent in self._next:
            house.agent(agent, openai(outside.model.base_url), instructions=f"You are {agent}.")
        house.space("room", "ada", *self._next)
        return {"room": ada}

    def answer(self, asked: Asked) -> Answer:
        who = asked.messages[0]["content"].split("You are ")[1].partition(".")[0]
        words = f"{who} is here for wish {wish(asked)}."
        mention = {"mention": [self._next[who]]} if self._next[who] else {}
        said = ("sendSpaceMessage", {"spaceId": "room", "text": words, **mention})
        return goes_on(asked, [said], last="Done.")

    def play(self, people: Mapping[str, Caller], ledger: Ledger, house: Deployment) -> None:
        ask_for_all(people, ledger, house, mentions=["alpha"])

    def check(self, pages: Mapping[str, Page], effects: Counter[str]) -> None:
        heard = [f"{who} is here for wish {n}." for n in WISHES for who in self._next]
        assert Counter(texts(pages["room"])) == Counter(heard + [f"This is wish {n}." for n in WISHES])
        check_effects(effects, {})


class SubAgent:
    """An agent calls another one, which uses a tool of an MCP server and draws a picture."""

    name = "sub-agent"
    pictures = len(WISHES)

    def furnish(self, house: Roomful, outside: Outside) -> Mapping[str, Caller]:
        ada = house.person("ada")
        model = openai(outside.model.base_url)
        if not outside.mcp.is_running:
            outside.mcp.start()
        server = {"name": "far", "url": outside.mcp.url, "allowedTools": ["visit"], "visibility": "full"}
        house.agent("scout", model, DRAW, instructions="You are scout.", mcp={"servers": [server]})
        ask = {
            "name": "ask_scout",
            "description": "Ask scout.",
            "executionType": "ai-agent",
            "visibility": "full",
            "execution": {"agentId": "scout"},
        }
        house.agent("boss", model, ask, instructions=f"You are boss at {outside.world.host}.")
        house.space("room", "ada", "boss")
        self._host = outside.world.host
        return {"room": ada}

    def answer(self, asked: Asked) -> Answer:
        number = wish(asked)
        if "You are boss" in asked.messages[0]["content"]:
            return goes_on(asked, [("ask_scout", {"prompt": f"This is wish {number}."})], last="Done.")
        there = f"http://{self._host}/visit-{number}"
        return goes_on(
            asked,
            [("far_visit", {"url": there})],
            [("generateImage", {"prompt": f"wish {number}"})],
            last=f"Did wish {number}.",
        )

    def play(self, people: Mapping[str, Caller], ledger: Ledger, house: Deployment) -> None:
        ask_for_all(people, ledger, house)

    def check(self, pages: Mapping[str, Page], effects: Counter[str]) -> None:
        asked = calls(pages["room"], "ask_scout")
        assert [part["status"] for part in asked] == ["complete"] * len(WISHES)
        inside = [one for part in asked for one in part["child"]["calls"]]
        assert [one["toolName"] for one in inside] == ["far_visit", "generateImage"] * len(WISHES)
        visits = [one for one in inside if one["toolName"] == "far_visit"]
        check_effects(effects, {one["args"]["url"].rpartition("/")[2]: one["status"] for one in visits})
        drawn = [one for one in inside if one["toolName"] == "generateImage"]
        assert {one["status"] for one in drawn} <= {"complete", "unknown"}, drawn


STORIES: tuple[Story, ...] = (Plain(), ThreeSpaces(), HttpTool(), Form(), Mentions(), SubAgent())
