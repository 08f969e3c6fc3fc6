"""What people do in a history, and a ledger of what they were told about it."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any

from tests.simulation.house import ADMIN_KEY
from tests.simulation.loop import SimLoop
from tests.simulation.outside import words
from tests.simulation.people import Answer, Door, ask

MOST_SAID = 30
"""Messages of people in one space: a snapshot holds the newest fifty of all."""
TRY_AGAIN = (0, 503)


@dataclass
class Said:
    """One message that somebody posted, and what may be read of it now."""

    who: str
    space_id: str
    key: str
    text: str
    mentions: list[str]
    id: str = ""
    texts: set[str] = field(default_factory=set[str])
    is_deleted: bool = False
    may_be_deleted: bool = False


@dataclass
class Ledger:
    said: list[Said] = field(default_factory=list[Said])
    answered: Counter[str] = field(default_factory=Counter[str])
    canceled: set[str] = field(default_factory=set[str])
    removed: dict[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])
    """Who may be out of which space, and since when that is acknowledged; infinity where it is not."""
    unexpected: list[str] = field(default_factory=list[str])


class Person:
    def __init__(
        self,
        loop: SimLoop,
        name: str,
        token: str,
        chance: random.Random,
        *,
        ledger: Ledger,
        spaces: dict[str, list[str]],
        doors: Callable[[], Door | None],
        note: Callable[..., None],
    ) -> None:
        self.name = name
        self.token = token
        self._loop = loop
        self._chance = chance
        self._ledger = ledger
        self._spaces = spaces
        self._doors = doors
        self._note = note
        self._leaving: set[str] = set()

    async def act(self, until: float) -> None:
        often = [self.post, self.post, self.post, self.answer, self.answer]
        seldom = [self.edit, self.edit, self.delete, self.cancel, self.mark_read, self.leave, self.come_back]
        async with asyncio.TaskGroup() as group:
            while self._loop.time() < until:
                await asyncio.sleep(self._chance.random() ** 2 * 3)
                group.create_task(self._chance.choice([*often, *often, *seldom])())

    async def ask(self, method: str, path: str, body: Any = None, token: str | None = None) -> Answer:
        given = await ask(self._loop, self._doors(), method, path, token or self.token, body)
        self._note(self.name, f"{method} {path} {given.status} {given.body.decode()}")
        return given

    def _expect(self, given: Answer, what: str, *fine: int) -> bool:
        """Whether it was done for sure."""
        if given.status not in (*fine, *TRY_AGAIN, 403, 404, 409):
            self._ledger.unexpected.append(f"{what}: {given.status} {given.body[:300]!r}")
        return given.status in fine

    async def post(self) -> None:
        space_id = self._chance.choice(list(self._spaces))
        if sum(one.space_id == space_id for one in self._ledger.said) >= MOST_SAID:
            return
        agents = [one for one in self._spaces[space_id] if one.startswith("agent")]
        mentions = [self._chance.choice(agents)] if agents and self._chance.random() < 0.7 else []
        text = f"[[{space_id}]] {words(self._chance)}"
        key = f"{self.name}-{len(self._ledger.said)}"
        said = Said(self.name, space_id, key, text, mentions, texts={text})
        self._ledger.said.append(said)
        for _ in range(self._chance.randint(1, 4)):
            await self.send(said)
            if said.id and self._chance.random() < 0.8:
                return

    async def send(self, said: Said) -> bool:
        """Whether it is known what became of it."""
        body = {"text": said.text, "clientMessageId": said.key, "mentions": said.mentions}
        given = await self.ask("POST", f"/api/spaces/{said.space_id}/messages", body)
        if self._expect(given, "post", 201):
            id = given.json["message"]["id"]
            if said.id not in ("", id):
                self._ledger.unexpected.append(f"{said.key} is {said.id} and {id}")
            said.id = id
        return given.status not in TRY_AGAIN

    async def insist(self, said: Said) -> None:
        while True:
            if await self.send(said):
                return
            await asyncio.sleep(0.5)

    def _mine(self) -> Said | None:
        mine = [one for one in self._ledger.said if one.who == self.name and one.id]
        return self._chance.choice(mine) if mine else None

    async def edit(self) -> None:
        if (said := self._mine()) is None:
            return
        text = f"[[{said.space_id}]] edited {words(self._chance)}"
        said.texts.add(text)
        path = f"/api/spaces/{said.space_id}/messages/{said.id}"
        self._expect(await self.ask("PATCH", path, {"text": text}), "edit", 200)

    async def delete(self) -> None:
        if (said := self._mine()) is None:
            return
        said.may_be_deleted = True
        path = f"/api/spaces/{said.space_id}/messages/{said.id}"
        said.is_deleted |= self._expect(await self.ask("DELETE", path), "delete", 204)

    async def answer(self) -> None:
        given = await self.ask("GET", "/api/runs?status=waiting_tool")
        if not self._expect(given, "runs", 200):
            return
        asked = [
            (run["id"], pending["toolCallId"])
            for run in given.json["runs"]
            for pending in run["pendingToolCalls"]
            if pending["asksPeople"]
        ]
        if not asked:
            return
        run_id, call_id = self._chance.choice(asked)
        result = {"approved": self._chance.random() < 0.7}
        body = {"toolCallId": call_id, "result": result}
        given = await self.ask("POST", f"/api/runs/{run_id}/tool-results", body)
        self._ledger.answered[call_id] += self._expect(given, "answer", 200)

    async def cancel(self) -> None:
        given = await self.ask("GET", "/api/runs?status=queued,running,waiting_tool,waiting_reply")
        if not self._expect(given, "runs", 200) or not given.json["runs"]:
            return
        run_id = self._chance.choice(given.json["runs"])["id"]
        if self._expect(await self.ask("POST", f"/api/runs/{run_id}/cancel"), "cancel", 200):
            self._ledger.canceled.add(run_id)

    async def mark_read(self) -> None:
        if (said := self._mine()) is not None:
            path = f"/api/spaces/{said.space_id}/read"
            self._expect(await self.ask("POST", path, {"messageId": said.id}), "read", 204)

    async def leave(self) -> None:
        space_id = self._chance.choice(list(self._spaces))
        path = f"/api/spaces/{space_id}/members/{self.name}"
        if self.name not in self._spaces[space_id] or (space_id, self.name) in self._ledger.removed:
            return
        self._ledger.removed[space_id, self.name] = inf
        self._leaving.add(space_id)
        given = await self.ask("DELETE", path, token=ADMIN_KEY)
        self._leaving.discard(space_id)
        if self._expect(given, "leave", 204):
            self._ledger.removed[space_id, self.name] = self._loop.time()

    async def come_back(self) -> None:
        gone = [space_id for space_id, name in self._ledger.removed if name == self.name]
        for space_id in [one for one in gone if one not in self._leaving]:
            self._ledger.removed[space_id, self.name] = inf
            path, body = f"/api/spaces/{space_id}/members", {"entityId": self.name}
            while True:
                given = await self.ask("POST", path, body, token=ADMIN_KEY)
                if given.status not in TRY_AGAIN:
                    break
                await asyncio.sleep(1)
            self._expect(given, "come back", 200, 201)
            self._ledger.removed.pop((space_id, self.name), None)
