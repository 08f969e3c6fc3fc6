"""Six stories, each with several requests of people. Their models answer by what they are asked."""

import re
from collections import Counter
from collections.abc import Mapping

from tests.faults.killing import Deployment, Outside, Page
from tests.faults.ledger import Ledger
from tests.servers.fake_openai import Answer, Asked, text
from tests.servers.roomful import Caller, Roomful, openai


def wish(asked: Asked) -> str:
    """The number in what the run was asked for."""
    found = re.findall(r"wish (\d)", next(m for m in asked.messages if m["role"] == "user")["content"])
    return found[-1]


def texts(page: Page) -> list[str]:
    """What was said to its end."""
    return [
        part["text"]
        for message in page
        for part in message["parts"]
        if part["type"] == "text" and part["status"] != "canceled"
    ]


class Plain:
    """People talk and an agent answers each of them."""

    name = "plain"

    def furnish(self, house: Roomful, outside: Outside) -> Mapping[str, Caller]:
        ada = house.person("ada")
        house.agent("helper", openai(outside.model.base_url), speaks="both")
        house.space("room", "ada", "helper")
        return {"room": ada}

    def answer(self, asked: Asked) -> Answer:
        return Answer(text(f"I heard wish {wish(asked)}, and that is all."))

    def play(self, people: Mapping[str, Caller], ledger: Ledger, house: Deployment) -> None:
        for number in (1, 2):
            said = ledger.say(people["room"], "room", f"This is wish {number}.")
            house.ended(said["runs"][0]["runId"])

    def check(self, pages: Mapping[str, Page], effects: Counter[str]) -> None:
        assert Counter(texts(pages["room"])) == Counter(
            f"{words}."
            for n in (1, 2)
            for words in (f"This is wish {n}", f"I heard wish {n}, and that is all")
        )
        assert not effects
