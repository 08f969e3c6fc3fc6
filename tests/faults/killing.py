"""A story is played, its gateway dies at one point of it, another one goes on with the same database, and
everything comes to rest as if nothing had happened, or says what did."""

import contextlib
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import httpx

from tests.faults.databases import Databases
from tests.faults.ledger import Ledger
from tests.faults.zygote import Doomed, Zygote
from tests.servers.cluster import SHORT_LEASE, Reader, alike
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI
from tests.servers.mcp_server import McpHttpServer
from tests.servers.roomful import Caller, Roomful
from tests.servers.world import World

T = TypeVar("T")
REST_SECONDS = 15.0
"""After which nothing of a killed gateway is left half done."""
ENDED = {"completed", "failed", "canceled"}
UNSETTLED = {"streaming", "ready", "running"}

Page = list[dict[str, Any]]


class Deployment:
    """One gateway, which is started again when it died."""

    def __init__(self, gateway: Doomed) -> None:
        self.gateway = gateway
        self._alive_since = time.monotonic()

    def eventually(self, found: Callable[[], T | None], what: str) -> T:
        """What is found, within the time that a deployment may take after a death."""
        begun = time.monotonic()
        while True:
            with self.surviving():
                if value := found():
                    return value
            waited = time.monotonic() - max(begun, self._alive_since)
            assert waited < REST_SECONDS, f"stuck: {what} not within {REST_SECONDS:g} s"
            time.sleep(0.01)

    @contextlib.contextmanager
    def surviving(self) -> Iterator[None]:
        try:
            yield
        except httpx.TransportError:
            self._recover()

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

    def _recover(self) -> None:
        self.gateway.await_death()
        self.gateway.start()
        self._alive_since = time.monotonic()


@dataclass
class Outside:
    """What a story's agents reach."""

    model: FakeOpenAI
    world: World
    mcp: McpHttpServer


class Story(Protocol):
    """`people` are those who ask, and `readers` who reads which space."""

    name: str

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


class Theatre:
    """Where one story is played again and again, each time from the same beginning."""

    def __init__(
        self,
        story: Story,
        zygote: Zygote,
        databases: Databases,
        world: World,
        mcp: McpHttpServer,
        folder: Path,
    ) -> None:
        self._story = story
        self._zygote = zygote
        self._databases = databases
        self._folder = folder
        self._seed = 0
        self._outside = Outside(FakeOpenAI(self._answer), world, mcp)
        self._number = 0

    def __enter__(self) -> "Theatre":
        self._outside.model.start()
        self._furnished = self._databases.new()
        house = self._gateway(self._furnished, 0)
        with house:
            self._people = self._story.furnish(house, self._outside)
        return self

    def __exit__(self, *_: object) -> None:
        self._outside.model.stop()

    def play(self, fatal: int = 0, seed: int = 0) -> list[str]:
        """With a death at that point. Gives the points that were come to."""
        self._seed = seed
        self._outside.world.effects.clear()
        url = self._databases.copy(self._furnished)
        gateway = self._gateway(url, fatal)
        try:
            with gateway:
                self._play(Deployment(gateway))
                gateway.kill()
        except BaseException as failure:
            points = gateway.points
            died = points[fatal - 1] if 0 < fatal <= len(points) else "nowhere"
            failure.add_note(f"{self._story.name}:{self._databases.name}:{seed}:{fatal} died {died}")
            raise
        self._databases.drop(url)
        return gateway.points

    def _play(self, house: Deployment) -> None:
        people = {space: who.at(house.gateway) for space, who in self._people.items()}
        ledger = Ledger(house)
        with contextlib.ExitStack() as stack:
            readers = [
                stack.enter_context(Reader(who, space, [house.gateway])) for space, who in people.items()
            ]
            self._story.play(people, ledger, house)
            house.eventually(lambda: self._is_right(people, readers, ledger, house), "the end")

    def _is_right(
        self, people: Mapping[str, Caller], readers: Sequence[Reader], ledger: Ledger, house: Deployment
    ) -> bool:
        """Once everything is at rest."""
        if not all(run["status"] in ENDED for run in house.runs()):
            return False
        pages = {space: alike(who, space, [house.gateway], *readers) for space, who in people.items()}
        for space, page in pages.items():
            assert [message["seq"] for message in page] == list(range(1, len(page) + 1)), space
            assert {message["status"] for message in page} <= {"final"}, page
            assert not {part["status"] for message in page for part in message["parts"]} & UNSETTLED, page
        ledger.check(pages)
        assert [run["status"] for run in house.runs()] == ["completed"] * len(house.runs()), house.runs()
        effects = self._outside.world.effects
        assert all(count == 1 for count in effects.values()), f"done twice: {effects}"
        self._story.check(pages, effects)
        return True

    def _gateway(self, url: str, fatal: int) -> Doomed:
        self._number += 1
        folder = self._folder / f"{self._story.name}-{self._number}"
        folder.mkdir()
        hosts = f"{self._outside.world.host},{self._outside.mcp.authority}"
        settings = {"ROOMFUL_ALLOW_HOSTS": hosts, **SHORT_LEASE}
        return Doomed(self._zygote, folder, database=url, fatal=fatal, **settings)

    def _answer(self, asked: Asked) -> Answer:
        answer = self._story.answer(asked)
        if self._seed:
            dice = random.Random(f"{self._seed} {len(asked.messages)}")
            answer.slices = [dice.randint(1, 400) for _ in range(50)]
        return answer
