"""People and agents who are busy for a while: they post, ask, answer, cancel, upload, come and go.

bustle = Bustle(house, model)           # makes them, in spaces of their own
bustle.go(seconds=60, seed=1)           # returns when nobody does anything any more
bustle.done                             # how often each thing was done
"""

import asyncio
import contextlib
import itertools
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp

from tests.http.test_blobs import PNG
from tests.http.test_waiting import FORM
from tests.servers.fake_openai import Answer, Asked, FakeOpenAI, Piece, call, pause, text
from tests.servers.roomful import Caller, Roomful, openai

PATIENCE = 120.0
"""A machine may have much else to do for half an hour."""
SPACES = 4
PEOPLE = 3
ACTIVE = {"queued", "running", "waiting_reply"}


def answer(asked: Asked) -> Answer:
    """What the agents say: it is in the last words to them."""
    last = asked.messages[-1]
    words = str(last["content"])
    if last["role"] == "tool":
        return Answer(text("Thank you.", size=3))
    if "please ask" in words:
        return Answer(call("form", {"q": "Is it fine?"}))
    return Answer(_slowly("So much to say. " * (12 if "at length" in words else 3)))


def _slowly(words: str) -> list[Piece]:
    return [each for piece in text(words, size=8) for each in (piece, pause(0.05))]


class Bustle:
    def __init__(self, house: Roomful, model: FakeOpenAI) -> None:
        self.house = house
        self.done: Counter[str] = Counter()
        self.people: dict[str, list[Caller]] = {}
        self._agents: dict[str, str] = {}
        for number in range(SPACES):
            space_id = f"busy{number}"
            here = [house.person(f"{space_id}-{one}") for one in range(PEOPLE)]
            agents = [
                house.agent(f"{space_id}-{one}", openai(model.base_url), FORM, speaks="both")
                for one in ("agent", "other")
            ]
            house.space(space_id, *[one.id for one in here], *agents)
            self.people[space_id], self._agents[space_id] = here, agents[0]

    def go(self, seconds: float, seed: int, *, listeners: int = 0) -> None:
        """`listeners` streams stay open."""
        asyncio.run(self._go(seconds, seed, listeners))

    async def _go(self, seconds: float, seed: int, listeners: int) -> None:
        limits = aiohttp.ClientTimeout(PATIENCE)
        async with aiohttp.ClientSession(self.house.url, timeout=limits) as session:
            acts: list[tuple[Callable[[Visit], Awaitable[None]], float]] = [
                (Visit.post, 0.5),
                (Visit.talk, 0.5),
                (Visit.talk, 1.0),
                (Visit.ask, 0.5),
                (Visit.cancel, 1.0),
                (Visit.upload, 2.0),
                (Visit.read, 0.2),
                (Visit.read, 0.5),
                (Visit.read_on, 0.5),
                (Visit.intrude, 0.5),
            ]
            dice = [random.Random(seed * 100 + number) for number in range(len(acts))]
            visits = [Visit(self, session, own) for own in dice]
            until = time.monotonic() + seconds
            await asyncio.gather(
                *[_repeat(visit, act, rest, until) for visit, (act, rest) in zip(visits, acts, strict=True)]
            )
            await self._calm(session, listeners)

    async def _calm(self, session: aiohttp.ClientSession, listeners: int) -> None:
        """Nothing runs any more, and nobody else listens."""
        names = ("roomful_runs_active", "roomful_streams_open")
        headers = {"authorization": f"Bearer {self.house.admin.token}"}
        async with asyncio.timeout(PATIENCE):
            while True:
                async with session.get("/metrics", headers=headers) as told:
                    lines = (await told.text()).splitlines()
                figures = [float(line.split()[1]) for line in lines if line.startswith(names)]
                if figures == [0, listeners]:
                    return
                await asyncio.sleep(0.05)

    def somewhere(self, dice: random.Random) -> tuple[str, str, Caller]:
        """A space, its agent, and one of its people."""
        space_id = dice.choice(list(self.people))
        return space_id, self._agents[space_id], dice.choice(self.people[space_id])


async def _repeat(
    visit: "Visit", act: Callable[["Visit"], Awaitable[None]], rest: float, until: float
) -> None:
    while time.monotonic() < until:
        await act(visit)
        visit.bustle.done[act.__name__] += 1
        await asyncio.sleep(rest * visit.dice.uniform(0.5, 1.5))


class Visit:
    """What somebody does, each time from the beginning to the end."""

    _numbers = itertools.count(1)

    def __init__(self, bustle: Bustle, session: aiohttp.ClientSession, dice: random.Random) -> None:
        self.bustle = bustle
        self.dice = dice
        self._session = session

    async def post(self) -> None:
        space_id, _, who = self.bustle.somewhere(self.dice)
        words = {"text": f"This is number {next(self._numbers)}. " * self.dice.randint(1, 20)}
        await self._ask(who, "POST", f"/api/spaces/{space_id}/messages", words, expect=201)

    async def talk(self) -> None:
        run_id, who, _ = await self._begin("Tell me.")
        await self._until(who, run_id, {"completed"})

    async def ask(self) -> None:
        run_id, who, _ = await self._begin("Could you please ask them?")
        waiting = await self._until(who, run_id, {"waiting_tool"})
        body = {"toolCallId": waiting["pendingToolCalls"][0]["toolCallId"], "result": {"fine": True}}
        await self._ask(who, "POST", f"/api/runs/{run_id}/tool-results", body)
        await self._ask(who, "POST", f"/api/runs/{run_id}/tool-results", body, expect=409)
        await self._until(who, run_id, {"completed"})

    async def cancel(self) -> None:
        run_id, who, _ = await self._begin("Tell me at length.")
        await asyncio.sleep(self.dice.uniform(0, 0.5))
        ended = await self._ask(who, "POST", f"/api/runs/{run_id}/cancel")
        assert ended["status"] in {"canceled", "completed"}, ended

    async def upload(self) -> None:
        space_id, _, who = self.bustle.somewhere(self.dice)
        made = await self._ask(who, "POST", "/api/blobs", PNG, expect=201)
        body = {"text": "Look.", "attachments": [made["blobId"]]}
        await self._ask(who, "POST", f"/api/spaces/{space_id}/messages", body, expect=201)
        async with self._session.get(made["url"], headers=self._headers(who)) as got:
            assert await got.read() == PNG

    async def read(self) -> None:
        """Comes, reads a few events, and is gone."""
        async for _ in self._events(self.dice.randint(1, 20)):
            pass

    async def read_on(self) -> None:
        """Comes back behind the last event it had."""
        space_id, _, who = self.bustle.somewhere(self.dice)
        last = ""
        for _ in range(2):
            async for event_id in self._events(self.dice.randint(1, 10), space_id, who, last):
                last = event_id

    async def intrude(self) -> None:
        space_id, _, who = self.bustle.somewhere(self.dice)
        path = f"/api/spaces/{space_id}/messages"
        wrong = {"authorization": f"Bearer {who.token[:-4]}{next(self._numbers):04}"}
        async with self._session.post(path, json={"text": "Hi"}, headers=wrong) as refused:
            assert refused.status == 401, await refused.text()
        await self._ask(who, "GET", f"/api/spaces/nowhere{next(self._numbers)}/messages", expect=404)
        await self._ask(who, "POST", path, {"txt": "?"}, expect=422)

    async def _begin(self, words: str) -> tuple[str, Caller, str]:
        space_id, agent, who = self.bustle.somewhere(self.dice)
        body = {"text": words, "mentions": [agent]}
        posted = await self._ask(who, "POST", f"/api/spaces/{space_id}/messages", body, expect=201)
        return posted["runs"][0]["runId"], who, space_id

    async def _until(self, who: Caller, run_id: str, statuses: set[str]) -> Any:
        async with asyncio.timeout(PATIENCE):
            while (run := await self._ask(who, "GET", f"/api/runs/{run_id}"))["status"] not in statuses:
                assert run["status"] in ACTIVE, run
                await asyncio.sleep(0.2)
        return run

    async def _events(
        self, most: int, space_id: str = "", who: Caller | None = None, last: str = ""
    ) -> AsyncIterator[str]:
        if who is None:
            space_id, _, who = self.bustle.somewhere(self.dice)
        headers = self._headers(who) | ({"last-event-id": last} if last else {})
        limits = aiohttp.ClientTimeout(sock_read=1.0)
        path = f"/api/spaces/{space_id}/stream"
        with contextlib.suppress(TimeoutError):
            async with self._session.get(path, headers=headers, timeout=limits, read_bufsize=2**20) as stream:
                assert stream.status == 200, await stream.text()
                async for line in stream.content:
                    if line.startswith(b"id: "):
                        yield line[4:].decode().strip()
                        most -= 1
                    if most <= 0:
                        return

    async def _ask(self, who: Caller, method: str, path: str, body: Any = None, *, expect: int = 200) -> Any:
        headers = self._headers(who)
        more: dict[str, Any] = {"json": body} if body is not None else {}
        if isinstance(body, bytes):
            headers["content-type"], more = "image/png", {"data": body}
        async with self._session.request(method, path, headers=headers, **more) as answer:
            assert answer.status == expect, f"{method} {path}: {answer.status} {await answer.text()}"
            return await answer.json()

    def _headers(self, who: Caller) -> dict[str, str]:
        return {"authorization": f"Bearer {who.token}"}
