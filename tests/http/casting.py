"""Agents in a room whose words a test writes. What is seen of them live is what is stored."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.http.storming import position
from tests.http.test_delegation import same
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, call, text
from tests.servers.roomful import Caller, Listener, Roomful, fold, openai


class Cast:
    """Answers by who is asked. An agent's function gets what was asked and how often it spoke in this run."""

    def __init__(self, **players: Callable[[Asked, int], Answer]) -> None:
        self.players = players
        self.told: list[tuple[str, Any]] = []
        """What each was told about its calls."""

    def __call__(self, asked: Asked) -> Answer:
        who = asked.messages[0]["content"].split("You are ")[1].partition(".")[0]
        turns = [message for message in asked.messages if message["role"] == "assistant"]
        if asked.messages[-1]["role"] == "tool":
            self.told.append((who, _parsed(asked.messages[-1]["content"])))
        return self.players[who](asked, len(turns))


def _parsed(content: str) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return content


def say(*mention: str, words: str = "Go on.", index: int = 0) -> list[bytes]:
    args = {"spaceId": "room", "text": words, **({"mention": list(mention)} if mention else {})}
    return call("sendSpaceMessage", args, size=40, index=index, id=f"call_{index}")


def mentions(*whom: str, times: int = 1) -> Callable[[Asked, int], Answer]:
    return lambda _, turn: Answer(say(*whom) if turn < times else text("Done."))


def once(*pieces: bytes) -> Callable[[Asked, int], Answer]:
    return lambda _, turn: Answer([*pieces] if turn == 0 else text("Done."))


def quiet(_: Asked, __: int) -> Answer:
    return Answer(text("Done."))


def people(house: Roomful, model: FakeOpenAI, *agents: str, **more: Any) -> None:
    """These agents in one room with Ada."""
    for agent in agents:
        house.agent(agent, openai(model.base_url), instructions=f"You are {agent}.", **more)
    house.space("room", "ada", *agents)


def runs_of(house: Roomful) -> list[dict[str, Any]]:
    """Oldest first."""
    runs = house.admin.get("/api/runs", params={"limit": 200})["runs"]
    return sorted(runs, key=lambda run: (run["createdAt"], run["depth"]))


@contextmanager
def seen_alike(ada: Caller, space_id: str = "room") -> Iterator[Listener]:
    """What is seen live meanwhile is what a reload shows."""
    with ada.listen(space_id) as listener:
        yield listener
        check_alike(listener, ada, space_id)


def check_alike(listener: Listener, ada: Caller, space_id: str = "room") -> list[dict[str, Any]]:
    """As of one moment, in the middle or at the end."""
    page = ada.get(f"/api/spaces/{space_id}/messages", params={"limit": 200})
    last = position(page["position"])
    listener.wait(lambda events: any(position(event.id) >= last for event in events))
    same(fold([event for event in listener.events if position(event.id) <= last]), page["messages"])
    return page["messages"]
