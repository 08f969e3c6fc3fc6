"""Many people at two gateways who all do the same at the same moment.

with Race(cluster, model, submitters=50) as race:
    run_id, call_id = race.card()           # everybody sees a card
    answers = race.answers(run_id, call_id) # and everybody answers it
    race.ends(run_id)                       # both gateways have told of the run's end
"""

import asyncio
import contextlib
import itertools
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import aiohttp

from tests.http.pairing import Room
from tests.http.test_waiting import FORM
from tests.servers.cluster import Cluster, Reader
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, call, text
from tests.servers.roomful import PATIENCE, Caller, Event

T = TypeVar("T")
ENDS = ("run.completed", "run.canceled", "run.failed")


def asks_and_repeats(asked: Asked) -> Answer:
    """A model that asks the people, and says what it was answered."""
    last = asked.messages[-1]
    if last["role"] == "tool":
        return Answer(text(f"Heard {last['content']}", size=1000))
    return Answer(call("form", {"q": "Who is first?"}, size=100))


@dataclass
class Said:
    """What one submitter was told."""

    who: str
    status: int
    body: Any


class Race:
    def __init__(self, cluster: Cluster, model: FakeOpenAI, *, submitters: int, **tool: Any) -> None:
        self.room = Room(cluster, model, {**FORM, **tool})
        self.people = [self._member(number) for number in range(submitters)]
        self._runner = asyncio.Runner()
        self._stack = contextlib.ExitStack()
        self._keys = itertools.count(1)

    def _member(self, number: int) -> Caller:
        house = self.room.cluster
        one = house.person(f"{self.room.id}-{number}")
        house.admin.post(f"/api/spaces/{self.room.id}/members", {"entityId": one.id}, expect=201)
        return one.at(house.gateways[number % 2])

    def __enter__(self) -> Self:
        self.readers: tuple[Reader, Reader] = self._stack.enter_context(self.room.reading())
        self._stack.enter_context(self._runner)
        self._session = self._runner.run(self._connect())
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._session.close())
        self._stack.close()

    async def _connect(self) -> aiohttp.ClientSession:
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(PATIENCE)
        )
        await asyncio.gather(*[self._look(session, one) for one in self.people])
        return session

    async def _look(self, session: aiohttp.ClientSession, one: Caller) -> None:
        """Whoever races has a connection before it begins."""
        async with session.get(f"{one.house.url}/healthz") as answer:
            assert answer.status == 200

    def card(self) -> tuple[str, str]:
        """The run, and its card that everybody at both gateways has been shown."""
        run_id = self.room.begin()
        shown = [reader.wait_for("run.waiting_tool", runId=run_id) for reader in self.readers]
        [pending] = shown[0].data["pendingToolCalls"]
        return run_id, pending["toolCallId"]

    def answers(self, run_id: str, call_id: str) -> list[Said]:
        """Everybody gives an answer of their own."""
        return self.at_once([self.answering(one, run_id, call_id) for one in self.people])

    def answering(self, one: Caller, run_id: str, call_id: str) -> Callable[[], Awaitable[Said]]:
        body = {"toolCallId": call_id, "result": {"by": one.id}}
        return lambda: self.post(one, f"/api/runs/{run_id}/tool-results", body)

    def canceling(self, one: Caller, run_id: str) -> Callable[[], Awaitable[Said]]:
        return lambda: self.post(one, f"/api/runs/{run_id}/cancel")

    def at_once(self, acts: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
        async def all_of_them() -> list[T]:
            return await asyncio.gather(*[act() for act in acts])

        return self._runner.run(all_of_them())

    async def post(self, one: Caller, path: str, body: Any = None) -> Said:
        headers = {"authorization": f"Bearer {one.token}"}
        async with self._session.post(one.house.url + path, json=body, headers=headers) as answer:
            return Said(one.id, answer.status, await answer.json())

    def new_key(self) -> str:
        return f"{self.room.id}-{next(self._keys)}"

    def ends(self, run_id: str) -> set[str]:
        """Waits until both gateways told of it. How it ended, by all that was told."""
        for reader in self.readers:
            reader.wait(lambda events: _ends(events, run_id), f"the end of {run_id}")
        told = [_ends(reader.events, run_id) for reader in self.readers]
        assert list(map(len, told)) == [1, 1], told
        return {end for ends in told for end in ends} | {f"run.{self.room.status(run_id)}"}

    def told(self, run_id: str) -> list[list[str]]:
        """What each gateway's reader heard of the run itself and of its card, in order."""
        about = ("tool-call", "tool-call.complete", "tool-call.error", "run.waiting_tool", *ENDS)
        return [
            [one.name for one in reader.events if one.name in about and one.data.get("runId") == run_id]
            for reader in self.readers
        ]

    def parts(self, run_id: str) -> list[dict[str, Any]]:
        """The run's parts, as both gateways' pages and both readers have them."""
        messages = self.room.alike(*self.readers)
        [message] = [one for one in messages if one.get("runId") == run_id]
        return message["parts"]


def _ends(events: Sequence[Event], run_id: str) -> list[str]:
    return [one.name for one in events if one.name in ENDS and one.data["runId"] == run_id]


def winner_of(said: Sequence[Said]) -> str:
    """Checks that one answer was taken, and that all the others were told which."""
    [winner] = [one for one in said if one.status == 200]
    losers = [one for one in said if one is not winner]
    assert {one.status for one in losers} <= {409}, [one for one in losers if one.status != 409]
    outcome = {"status": "complete", "result": {"by": winner.who}, "answeredBy": winner.who}
    for loser in losers:
        assert loser.body["outcome"].items() >= outcome.items(), loser.body
    return winner.who


def heard(part: dict[str, Any]) -> Any:
    """What the model says that it was answered."""
    return json.loads(part["text"].removeprefix("Heard "))
