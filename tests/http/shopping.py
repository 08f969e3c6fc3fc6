"""The Shopping story of the composite-message document, as an OpenAI-compatible model would stream it."""

import random
from typing import Any

from tests.servers.fake_openai import Answer, FakeOpenAI, call, text, usage
from tests.servers.roomful import Caller, Roomful, openai

PRODUCT_CARD = {
    "name": "showProductCard",
    "description": "Show a product.",
    "executionType": "basic",
    "execution": {"mode": "no-execution", "wait": False},
    "display": {"customUI": "ProductCard"},
    "inputSchema": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "price": {"type": "number"}},
        "required": ["name", "price"],
    },
}
INVENTORY = {
    "name": "searchInventory",
    "description": "Search the inventory.",
    "executionType": "basic",
    "execution": {"mode": "static", "output": {"found": 2}},
    "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}},
}
LAPTOPS = "Here are some laptops:"
ASK = "Want me to add any to your cart?"


def story(
    rng: random.Random | None = None, space_id: str = "shop-space", *, held: bool = False
) -> list[Answer]:
    """Two model answers: the four visible calls and a hidden one, then a word to itself."""

    def splits() -> list[int]:
        return [rng.randint(1, 20) for _ in range(60)] if rng else []

    def said(words: str, index: int) -> list[bytes]:
        args = {"spaceId": space_id, "text": words}
        return call("sendSpaceMessage", args, index=index, id=f"c{index}", splits=splits(), size=1)

    def card(name: str, price: int, index: int) -> list[bytes]:
        args = {"name": name, "price": price}
        return call("showProductCard", args, index=index, id=f"c{index}", splits=splits(), size=5)

    pieces = [
        *said(LAPTOPS, 0),
        *card("MacBook Pro", 1299, 1),
        *card("Dell XPS 15", 1199, 2),
        *said(ASK, 3),
        *call("searchInventory", {"query": "laptop"}, index=4, id="c4"),
        usage(10, 50),
    ]
    return [Answer(pieces, held=held), Answer([*text("Done."), usage(20, 5)])]


def shop(house: Roomful, model: FakeOpenAI, *more_spaces: str) -> Caller:
    """Ada in the shop space with the shop agent, who may be in more spaces."""
    ada = house.person("ada")
    house.agent("shop", openai(model.base_url), PRODUCT_CARD, INVENTORY, dialect="composite")
    for space_id in ("shop-space", *more_spaces):
        house.space(space_id, "ada", "shop")
    return ada


def seen(message: dict[str, Any]) -> list[Any]:
    """A message as a person reads it."""
    return [
        part["text"] if part["type"] == "text" else (part["toolName"], part.get("args"), part.get("result"))
        for part in message["parts"]
    ]


AS_SEEN = [
    LAPTOPS,
    ("showProductCard", {"name": "MacBook Pro", "price": 1299}, None),
    ("showProductCard", {"name": "Dell XPS 15", "price": 1199}, None),
    ASK,
]
