"""A story is played, its gateway dies at one point of it, another one goes on with the same database, and
everything comes to rest as if nothing had happened, or says what did."""

import asyncio
import contextlib
import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import httpx

from roomful.store.doctor import examine
from tests.faults.databases import Databases
from tests.faults.ledger import Ledger
from tests.faults.zygote import Doomed, Zygote
from tests.servers.cluster import SHORT_LEASE, Reader, alike
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, Piece, pause
from tests.servers.mcp_server import McpHttpServer
from tests.servers.roomful import Caller, Roomful
from tests.servers.world import World

T = TypeVar("T")
REST_SECONDS = 15.0
"""After which nothing of a killed gateway is left half done."""
PACE = 0.003
"""Seconds between two pieces of what a model says."""
ENDED = {"completed", "failed", "canceled"}
UNSETTLED = {"streaming", "ready", "running"}

Page = list[dict[str, Any]]


class Deployment:
    """Gateways that share a database. The first is asked until it dies; then another one is, or the same one
    when it was started again because there is no other."""

    def __init__(self, gateways: Sequence[Doomed]) -> None:
        self.gateways = list(gateways)
        self._alive_since = time.monotonic()

    @property
    def gateway(self) -> Doomed:
        return self.gateways[0]

    def eventually(self, found: Callable[[], T | None], what: str) -> T:
        """What is found, within the time that a deployment may take after a death."""
        begun = time.monotonic()
        while True:
            with self.surviving():
                if value := found():
                    return value
            waited = time.monotonic() - max(begun, self._alive_since)
            assert waited < REST_SECONDS, f"stuck: {what} not within {REST_SECONDS:g} s"
            time.sleep(0.02)

    @contextlib.contextmanager
    def surviving(self) -> Iterator[None]:
        try:
            yield
        except httpx.TransportError:
            self._recover()

    def answers(self) -> bool:
        return self.gateway.admin.get("/readyz") is not None

    def run(self, run_id: str) -> dict[str, Any]:
        return self.gateway.admin.get(f"/api/runs/{run_id}")

    def runs(self) -> list[dict[str, Any]]:
        return self.gateway.admin.get("/api/runs", params={"limit": 200})["runs"]

    def ended(self, run_id: str) -> dict[str, Any]:
        def end() -> dict[str, Any] | None:
            return run if (run := self.run(run_id))["status"] in ENDED else None

        return self.eventually(end, f"the end of run {run_id}")

    def card(self, run_id: str) -> str:
        """The call that a person is asked about."""

        def asked() -> str | None:
            run = self.run(run_id)
            assert run["status"] not in ENDED, f"nobody was asked: {run}"
            return run["pendingToolCalls"][0]["toolCallId"] if run["status"] == "waiting_tool" else None

        return self.eventually(asked, f"the question of run {run_id}")

    def refused(self, who: Caller, run_id: str, call_id: str, result: Any) -> dict[str, Any]:
        """What one is told who answers a card too late."""

        def late() -> dict[str, Any]:
            body = {"toolCallId": call_id, "result": result}
            return who.at(self.gateway).post(f"/api/runs/{run_id}/tool-results", body, expect=409)

        return self.eventually(late, "a refusal")

    def _recover(self) -> None:
        self.gateway.await_death()
        if len(self.gateways) > 1:
            self.gateways.pop(0)
        else:
            self.gateway.start()
        self._alive_since = time.monotonic()


class Follower(Reader):
    """One who does not wait for the first stream: it may be a while until a gateway is there."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self


@dataclass
class Outside:
    """What a story's agents reach."""

    model: FakeOpenAI
    world: World
    mcp: McpHttpServer


class Story(Protocol):
    """What people and agents do together, and what has come of it in the end."""

    name: str
    pictures: int
    """How many are drawn."""

    def furnish(self, house: Roomful, outside: Outside) -> Mapping[str, Caller]:
        """Makes agents and spaces, and tells who reads which space."""
        ...

    def answer(self, asked: Asked) -> Answer:
        """By what is asked: after a death it may be asked again."""
        ...

    def play(self, people: Mapping[str, Caller], ledger: Ledger, house: Deployment) -> None: ...

    def check(self, pages: Mapping[str, Page], effects: Counter[str]) -> None:
        """That everything was reached that a person wanted, or is said not to be."""
        ...


@dataclass(frozen=True)
class Death:
    """At the `fatal`-th point, or after so many seconds; `seed` decides how the model's words are cut."""

    fatal: int = 0
    seconds: float = 0.0
    seed: int = 0


NOBODY_DIES = Death()


@dataclass
class Played:
    points: list[str]
    seconds: float
    was_killed: bool


class Theatre:
    """Where one story is played again and again, each time from the same beginning. With a `bus` there are
    two gateways each time, and the first may die."""

    def __init__(
        self,
        story: Story,
        databases: Databases,
        stage: "Stage",
        *,
        bus: str = "",
        lease: Mapping[str, str] = SHORT_LEASE,
    ) -> None:
        self._story = story
        self._databases = databases
        self._stage = stage
        self._bus = bus
        self._seed = 0
        self._outside = Outside(FakeOpenAI(self._answer), stage.world, stage.mcp)
        hosts = f"{stage.world.host},{stage.mcp.authority}"
        self._settings = {"ROOMFUL_ALLOW_HOSTS": hosts, **lease}

    def __enter__(self) -> "Theatre":
        self._outside.model.start()
        self._furnished = self._databases.new()
        with self._gateway(self._furnished) as house:
            self._people = self._story.furnish(house, self._outside)
        return self

    def __exit__(self, *_: object) -> None:
        self._outside.model.stop()
        self._databases.drop(self._furnished)

    def play(self, death: Death = NOBODY_DIES) -> Played:
        self._seed = death.seed
        self._outside.world.effects.clear()
        url = self._databases.copy(self._furnished)
        doomed = self._gateway(url, death.fatal)
        others = [self._gateway(url)] if self._bus else []
        try:
            with contextlib.ExitStack() as stack:
                for gateway in (*others, doomed):
                    stack.enter_context(gateway)
                began = time.monotonic()
                self._play(Deployment([doomed, *others]), death.seconds)
                played = Played(doomed.points, time.monotonic() - began, doomed.was_killed)
                for gateway in (*others, doomed):
                    gateway.kill()
            self._check_up(url)
        except BaseException as failure:
            failure.add_note(self._which(death, doomed.points))
            raise
        self._databases.drop(url)
        return played

    def _which(self, death: Death, points: Sequence[str]) -> str:
        """What to give to `ROOMFUL_TEST_POINT`, and where that was."""
        died = points[death.fatal - 1] if 0 < death.fatal <= len(points) else f"after {death.seconds:g} s"
        return f"{self._story.name}:{self._databases.name}:{death.seed}:{death.fatal} died {died}"

    def _play(self, house: Deployment, seconds: float) -> None:
        people = {space: who.at(house.gateway) for space, who in self._people.items()}
        ledger = Ledger(house)
        with contextlib.ExitStack() as stack:
            readers = [
                stack.enter_context(Follower(who, space, list(house.gateways)))
                for space, who in people.items()
            ]
            house.eventually(lambda: house.answers() and all(one.connections for one in readers), "readers")
            stack.enter_context(_killing(house.gateway, seconds))
            self._story.play(people, ledger, house)
            house.eventually(lambda: self._is_right(people, readers, ledger, house), "the end")

    def _is_right(
        self, people: Mapping[str, Caller], readers: Sequence[Reader], ledger: Ledger, house: Deployment
    ) -> bool:
        """Once everything is at rest."""
        if not all(run["status"] in ENDED for run in house.runs()):
            return False
        pages = {space: alike(who, space, house.gateways, *readers) for space, who in people.items()}
        for space, page in pages.items():
            assert [message["seq"] for message in page] == list(range(1, len(page) + 1)), f"a gap in {space}"
            assert {message["status"] for message in page} <= {"final"}, page
            assert not {part["status"] for message in page for part in message["parts"]} & UNSETTLED, page
        ledger.check(pages)
        assert [run["status"] for run in house.runs()] == ["completed"] * len(house.runs()), house.runs()
        effects = self._outside.world.effects
        assert all(count == 1 for count in effects.values()), f"done twice: {effects}"
        self._story.check(pages, effects)
        return True

    def _check_up(self, url: str) -> None:
        assert asyncio.run(examine(url)) == []
        pictures = self._databases.count(url, "blobs")
        assert pictures <= self._story.pictures, f"{pictures} pictures were drawn"

    def _gateway(self, url: str, fatal: int = 0) -> Doomed:
        folder = self._stage.new_folder(self._story.name)
        flags = ("--bus", self._bus) if self._bus else ()
        return Doomed(self._stage.zygote, folder, *flags, database=url, fatal=fatal, **self._settings)

    def _answer(self, asked: Asked) -> Answer:
        answer = self._story.answer(asked)
        return _paced(answer.content(), f"{self._seed} {len(asked.messages)}") if self._seed else answer


def _paced(content: bytes, seed: str) -> Answer:
    """Cut anywhere, with a little time between the pieces."""
    dice = random.Random(seed)
    pieces: list[Piece] = []
    while content:
        size = dice.randint(1, 600)
        pieces += [pause(PACE), content[:size]]
        content = content[size:]
    return Answer(pieces, finish=False, done=False)


@contextlib.contextmanager
def _killing(gateway: Doomed, seconds: float) -> Iterator[None]:
    """Meanwhile, after so many seconds; 0 is never."""
    timer = threading.Timer(seconds, gateway.kill)
    if seconds:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


@dataclass
class Stage:
    """What all theatres of a test share."""

    zygote: Zygote
    world: World
    mcp: McpHttpServer
    folder: Path
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def new_folder(self, name: str) -> Path:
        made = self.folder / f"{name}-{next(self._numbers)}"
        made.mkdir()
        return made
