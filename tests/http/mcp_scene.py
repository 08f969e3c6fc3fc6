"""A room with two people and an agent, and MCP clients of both eras who come to it."""

import itertools
from dataclasses import dataclass
from typing import Any

from tests.servers.fake_openai import Answer, FakeOpenAI, call, text
from tests.servers.mcp_guest import McpGuest
from tests.servers.roomful import Caller, Roomful, openai

_numbers = itertools.count(1)


@dataclass
class Scene:
    """Ada, a member, and Grace, an owner, in a room with an agent that says what it thinks."""

    house: Roomful
    model: FakeOpenAI
    era: str
    ada: Caller
    grace: Caller
    agent: str
    room: str

    def guest(self, who: Caller | None = None, **headers: str) -> McpGuest:
        return McpGuest(who or self.ada, self.era, headers)

    def waiting(self, name: str, args: Any) -> tuple[str, dict[str, Any]]:
        """The run of a post that leads to a card, and the card."""
        self.model.answer(Answer(call(name, args)), Answer(text("Thank you.")))
        posted = self.guest().data("post_message", spaceId=self.room, text="go", waitSeconds=30)
        [run], [card] = posted["runs"], posted["cards"]
        assert (run["status"], posted["isOver"]) == ("waiting_tool", True)
        return run["runId"], card

    def finished(self, run_id: str) -> Any:
        outcome = self.guest().data("wait_for_runs", spaceId=self.room, runIds=[run_id], timeoutSeconds=30)
        assert [run["status"] for run in outcome["runs"]] == ["completed"]
        return outcome["messages"]


def scene(
    house: Roomful, model: FakeOpenAI, era: str, *tools: Any, others: tuple[str, ...] = (), **more: Any
) -> Scene:
    """With another agent in the room, none is meant that is not mentioned."""
    number = next(_numbers)
    ada, grace = house.person(f"ada-{number}", "Ada"), house.person(f"grace-{number}", "Grace")
    agent = house.agent(f"bot-{number}", openai(model.base_url), *tools, **{"speaks": "both"} | more)
    idle = [house.agent(f"{name}-{number}", openai(model.base_url)) for name in others]
    room = house.space(f"room-{number}", ada.id, f"{grace.id}:owner", agent, *idle)
    return Scene(house, model, era, ada, grace, agent, room)
