"""A space of the demo whose two agents say what a test wants, and wait in the middle of a word.

lab.first.answer(said("Once upon a time", hold_after=4), over())
say(ada, "@First tell me a story")
expect(last(ada, "First")).to_contain_text("Once")
lab.first.release()
"""

from dataclasses import dataclass
from typing import Any

from tests.servers.fake_openai import Answer, FakeOpenAI, call, hold, text
from tests.servers.roomful import Roomful, openai

FORM = {
    "name": "showApprovalForm",
    "description": "Show a form with which somebody approves or rejects an expense.",
    "executionType": "basic",
    "execution": {"mode": "no-execution"},
    "display": {"customUI": "ApprovalForm"},
    "inputSchema": {
        "type": "object",
        "properties": {"title": {"type": "string"}, "amount": {"type": "number"}},
    },
}


@dataclass(frozen=True)
class Lab:
    first: FakeOpenAI
    second: FakeOpenAI


def furnish(demo: Roomful, lab: Lab) -> None:
    """Nobody is woken without a mention: two agents, and neither is the space's own. Omar may only read."""
    for agent_id, model in (("first", lab.first), ("second", lab.second)):
        demo.agent(agent_id, openai(model.base_url), FORM, dialect="composite")
    demo.space("lab", "ada:owner", "grace", "omar:reader", "first", "second")


def said(words: str, *, hold_after: int | None = None) -> Answer:
    """A message, held up after so many pieces of four letters."""
    return _made("sendSpaceMessage", {"spaceId": "lab", "text": words}, hold_after)


def form(title: str, *, hold_after: int | None = None) -> Answer:
    return _made("showApprovalForm", {"title": title, "amount": 480}, hold_after)


def over() -> Answer:
    """What it says to itself at its end."""
    return Answer(text("Done."))


def _made(tool: str, args: dict[str, Any], hold_after: int | None) -> Answer:
    pieces = call(tool, args, size=4)
    if hold_after is None:
        return Answer(pieces)
    return Answer([*pieces[:hold_after], hold(), *pieces[hold_after:]])
