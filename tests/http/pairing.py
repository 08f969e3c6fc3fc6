"""Two people in one space, each at a gateway of their own, and an agent whose words come one by one."""

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

from tests.servers.cluster import Cluster, Reader, alike
from tests.servers.fake_openai import Answer, FakeOpenAI, Piece, hold
from tests.servers.roomful import Event, openai

WORDS = "One two three four five six seven eight nine ten."
_numbers = itertools.count(1)


class Room:
    """Ada and Bob in a space with an agent. Ada is at the first gateway, Bob at the second."""

    def __init__(self, cluster: Cluster, model: FakeOpenAI, *tools: Any, **more: Any) -> None:
        number = next(_numbers)
        self.cluster = cluster
        self.model = model
        self.ada = cluster.person(f"ada-{number}")
        self.bob = cluster.person(f"bob-{number}").at(cluster.two)
        self.agent = cluster.agent(
            f"bot-{number}", openai(model.base_url), *tools, **{"speaks": "both"} | more
        )
        self.id = cluster.space(f"room-{number}", self.ada.id, self.bob.id, self.agent)

    def begin(self, words: str = "go") -> str:
        """A run that the first gateway drives."""
        return self.ada.say(self.id, words)["runs"][0]["runId"]

    @contextlib.contextmanager
    def reading(self) -> Iterator[tuple[Reader, Reader]]:
        """Both read, each at a gateway of their own."""
        with (
            Reader(self.ada, self.id, [self.cluster.one]) as ada,
            Reader(self.bob, self.id, [self.cluster.two]) as bob,
        ):
            yield ada, bob

    def alike(self, *readers: Reader) -> list[dict[str, Any]]:
        return alike(self.ada, self.id, self.cluster.gateways, *readers)

    def status(self, run_id: str) -> str:
        return self.cluster.two.admin.get(f"/api/runs/{run_id}")["status"]


def step_by_step(*pieces: bytes) -> Answer:
    """Each piece waits to be let go."""
    held: list[Piece] = []
    for piece in pieces:
        held += [hold(), piece]
    return Answer(held)


def grown(events: list[Event], name: str = "text-delta") -> int:
    return len([event for event in events if event.name == name])
