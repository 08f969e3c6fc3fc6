"""One history: all that happens follows from its seed. `python -m tests.simulation SEED` repeats it."""

import asyncio
import functools
import hashlib
import logging
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

from roomful.store import migrate
from roomful.store.doctor import examine
from tests.simulation import oracles
from tests.simulation.acting import Ledger, Person
from tests.simulation.house import ADMIN_KEY, Houses, Machine
from tests.simulation.loop import SimLoop
from tests.simulation.outside import SeededEgress, SeededModels
from tests.simulation.people import Door, Reader, ask

WILD_SECONDS = 20.0
CALM_SECONDS = 900.0
LAST_WORDS_SECONDS = 3.0
"""How long one who was put out, or who read on after that, may hear of it where the news has to be looked
for."""
LIMITS = {"modelSilenceSeconds": 10, "maxSteps": 8, "runsPerRoot": 8}


def tools() -> list[dict[str, Any]]:
    schema = {
        "type": "object",
        "properties": {"key": {"type": "string"}, "q": {"type": "string"}},
    }
    shown = {"description": "Do it.", "executionType": "basic", "visibility": "full", "inputSchema": schema}
    helper = {
        "name": "Helper",
        "instructions": "You help.",
        "model": "seeded:x",
        "tools": [],
        "limits": LIMITS,
    }
    return [
        {**shown, "name": "note", "execution": {"mode": "static", "output": {"noted": "{{q}}"}}},
        {**shown, "name": "form", "execution": {"mode": "no-execution"}},
        {**shown, "name": "order", "approval": True, "execution": {"mode": "static", "output": 7}},
        {
            **shown,
            "name": "pay",
            "executionType": "http",
            "execution": {"url": "https://pay.example/{{key}}", "method": "POST"},
        },
        {**shown, "name": "ask_helper", "executionType": "ai-agent", "execution": {"agentConfig": helper}},
    ]


@dataclass
class Told:
    """What came of a history."""

    seed: int
    lines: list[str] = field(default_factory=list[str])
    """Every frame that a reader got and every answer, with their times."""
    problems: list[str] = field(default_factory=list[str])
    events: int = 0
    runs: int = 0
    crashes: int = 0

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(self.lines).encode()).hexdigest()


class History:
    def __init__(self, seed: int, folder: Path) -> None:
        self._chance = chance = random.Random(f"{seed} story")
        self._seed = seed
        self.loop = SimLoop(random.Random(f"{seed} lags"))
        self.told = Told(seed)
        self.ledger = Ledger()
        names = [f"agent{number}" for number in range(chance.randint(1, 3))]
        people = ["ada", "bob", "cy"]
        self.spaces = {
            f"space{number}": [*_some(chance, people), *_some(chance, names)]
            for number in range(chance.randint(2, 4))
        }
        self.models = SeededModels(random.Random(f"{seed} model"), [*self.spaces, "nowhere"], names)
        self.egress = SeededEgress(random.Random(f"{seed} outside"))
        empty_database(folder / "roomful.db")
        self.houses = Houses(
            self.loop,
            folder,
            str(seed),
            shared=chance.random() < 0.5,
            models=self.models,
            egress=self.egress,
            agents=[self._agent(name) for name in names],
        )
        self.agents = names
        self.late: list[asyncio.Task[None]] = []
        self.people: list[Person] = []
        self.readers: list[Reader] = []
        self._names = people

    def _agent(self, name: str) -> dict[str, Any]:
        return {
            "id": name,
            "name": name.title(),
            "model": "seeded:x",
            "tools": tools(),
            "limits": LIMITS,
            "onBusy": self._chance.choice(("parallel", "queue", "steer")),
        }

    def note(self, who: str, what: str) -> None:
        self.told.lines.append(f"{self.loop.time():.6f} {who} {what}")

    async def live(self) -> None:
        houses = self.houses
        for machine in houses.machines:
            await machine.boot()
        await self._furnish()
        houses.wild = True
        doing = [self.loop.create_task(reader.read()) for reader in self.readers]
        wild = self.loop.time() + WILD_SECONDS
        await asyncio.gather(*(person.act(wild) for person in self.people), self._break(wild))
        await self._calm_down()
        await oracles.look(self)
        doing += self.late
        for task in doing:
            task.cancel()
        await asyncio.gather(*doing, return_exceptions=True)
        for machine in houses.machines:
            await machine.stop()

    async def _furnish(self) -> None:
        gateway = self.houses.machines[0].gateway
        assert gateway is not None
        for name in self._names:
            person = Person(
                self.loop,
                name,
                await gateway.person(name),
                random.Random(f"{self._seed} {name}"),
                ledger=self.ledger,
                spaces=self.spaces,
                doors=self.door,
                note=self.note,
            )
            self.people.append(person)
        for space_id, members in self.spaces.items():
            await gateway.space(space_id, *members)
            for person in self.people:
                if person.name in members:
                    self._add_reader(person, space_id)

    def heard(self, reader: Reader, frame: str) -> None:
        self.note(f"reader {reader.number}", frame)
        since = self.ledger.removed.get((reader.space_id, reader.name), inf)
        out = self.loop.time() - max(since, reader.awake_since)
        if out > LAST_WORDS_SECONDS and not frame.startswith(":"):
            self.told.problems.append(f"reader {reader.number} is out for {out:g} s and hears {frame[:300]}")

    def _add_reader(self, person: Person, space_id: str) -> None:
        number = len(self.readers)
        chance = random.Random(f"{self._seed} reader {number}")
        reader = Reader(
            self.loop, chance, person.token, space_id, self.door, self.heard, number, name=person.name
        )
        self.readers.append(reader)

    def door(self) -> Door | None:
        return self._chance.choice([machine.door for machine in self.houses.machines])

    async def _break(self, until: float) -> None:
        """Things go wrong, one after the other."""
        chance, houses = self._chance, self.houses
        while self.loop.time() < until:
            await asyncio.sleep(chance.random() * 8)
            machine = chance.choice(houses.machines)
            fault = chance.choice(
                (self._crash, self._crash, self._restart, self._outage, self._jump, self._unlink)
            )
            await fault(machine)

    async def _crash(self, machine: Machine) -> None:
        machine.crash()
        self.told.crashes += 1
        await asyncio.sleep(self._chance.random() * 12)
        await machine.boot()

    async def _restart(self, machine: Machine) -> None:
        await machine.stop()
        await asyncio.sleep(self._chance.random() * 3)
        await machine.boot()

    async def _outage(self, machine: Machine) -> None:
        self.houses.down_until = self.loop.time() + self._chance.random() * 4

    async def _jump(self, machine: Machine) -> None:
        machine.clock.ahead += self._chance.choice((3600.0, -3600.0, 2.0, -2.0))

    async def _unlink(self, machine: Machine) -> None:
        if machine.link is not None:
            machine.link.cut()
            await asyncio.sleep(self._chance.random() * 5)
            machine.link.join()

    async def _calm_down(self) -> None:
        """Nothing goes wrong any more. Who does not know what became of a message asks until it is known."""
        self.houses.wild, self.houses.down_until = False, 0.0
        self.models.calm = self.egress.calm = True
        for person in self.people:
            await person.come_back()
            for said in [one for one in self.ledger.said if one.who == person.name]:
                await person.insist(said)
        for reader in self.readers:
            reader.calm = True
        quiet = 0
        while quiet < 3:
            await asyncio.sleep(3)
            path = "/api/runs?status=queued,running"
            given = await ask(self.loop, self.door(), "GET", path, ADMIN_KEY)
            quiet = quiet + 1 if given.status == 200 and not given.json["runs"] else 0

    def run(self) -> Told:
        log = _Errors()
        logger = logging.getLogger("roomful")
        level = logger.level
        logger.addHandler(log)
        logger.setLevel(logging.ERROR)
        try:
            self.loop.run(self.live(), until=CALM_SECONDS)
            found = self.loop.run(examine(f"sqlite:///{self.houses.disk.path}"), until=2 * CALM_SECONDS)
            self.told.problems += [f"the doctor finds: {one}" for one in found]
            self.told.problems += [*log.found, *self.loop.errors, *self.ledger.unexpected]
        except AssertionError as problem:
            self.told.problems.append(str(problem))
        finally:
            self.loop.run(self.houses.bury(), until=self.loop.time() + 1000)
            self.loop.close()
            logger.removeHandler(log)
            logger.setLevel(level)
        return self.told


class _Errors(logging.Handler):
    """An error in the log is a problem, but for those that the disk made."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = self.format(record)
        if "the database cannot be written" not in text:
            self.found.append(text)


def _some(chance: random.Random, names: Sequence[str]) -> list[str]:
    return [name for name in names if chance.random() < 0.75] or [names[0]]


@functools.cache
def _empty() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "empty.db")
        migrate(f"sqlite:///{path}")
        return path.read_bytes()


def empty_database(path: Path) -> None:
    """Made once, for migrations take their time."""
    path.write_bytes(_empty())


def tell(seed: int, folder: Path) -> Told:
    """The history of this seed, in an empty folder."""
    return History(seed, folder).run()
