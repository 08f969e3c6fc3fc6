"""Gateways in one process: opened, crashed, stopped and opened again, on one disk."""

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from roomful.app.clock import SharedClock
from roomful.app.gateway import Gateway
from roomful.app.surroundings import Surroundings
from roomful.domain.errors import Unavailable
from roomful.domain.ports import Clock, Store
from roomful.settings import Settings
from tests.simulation.loop import Node, SimLoop
from tests.simulation.machines import Disk, LoopHand, Network, SeededIds, SimClock, SimEngine, SimLink
from tests.simulation.outside import SeededEgress, SeededModels
from tests.simulation.people import Door

ADMIN_KEY = "the-admin-key"


class Machine:
    """Runs one gateway at a time."""

    def __init__(self, houses: "Houses", number: int) -> None:
        self._houses = houses
        self._number = number
        self._lives = 0
        self.door: Door | None = None
        self.gateway: Gateway | None = None
        self.link: SimLink | None = None
        self.clock = SimClock(houses.loop)
        """What the machine believes."""
        self.hand: LoopHand | None = None
        self._engine: SimEngine | None = None

    async def boot(self) -> Gateway:
        houses, loop = self._houses, self._houses.loop
        self._lives += 1
        node = Node(f"{self._number}.{self._lives}")
        link = self.link = SimLink(houses.network, node) if houses.shared else None

        async def open_store(url: str, clock: Clock) -> Store:
            store, self.hand, self._engine = await houses.disk.open(node.name, clock, houses.faults())
            return store

        around = Surroundings(
            steady=loop.time,
            open_store=open_store,
            models=houses.models,
            egress=houses.egress,
            link=link,
        )

        async def start() -> Gateway:
            clock = SharedClock(self.clock.now, loop.time) if houses.shared else self.clock
            gateway = await Gateway.open(
                houses.settings, clock=clock, ids=houses.ids, around=around, agents=houses.agents
            )
            houses.opened.append((node, gateway))
            try:
                await gateway.start()
            except BaseException:
                await gateway.close()
                raise
            return gateway

        try:
            self.gateway = gateway = await loop.create_task(start(), context=node.context())
        except Unavailable:
            await asyncio.sleep(1)
            return await self.boot()
        self.door = Door(node, gateway.app)
        return gateway

    def crash(self) -> None:
        assert self.door is not None
        assert self.hand is not None
        assert self._engine is not None
        self.door.node.is_dead = self.hand.is_dead = True
        self._engine.close()
        if self.link is not None and self.link in self._houses.network.links:
            self._houses.network.links.remove(self.link)
        self.door = self.gateway = None

    async def stop(self) -> None:
        assert self.gateway is not None
        assert self.door is not None
        gateway, node, self.door, self.gateway = self.gateway, self.door.node, None, None
        await self._houses.loop.create_task(gateway.close(), context=node.context())


class Houses:
    def __init__(
        self,
        loop: SimLoop,
        folder: Path,
        seed: str,
        *,
        shared: bool,
        models: SeededModels,
        egress: SeededEgress,
        agents: list[dict[str, Any]],
    ) -> None:
        self.loop = loop
        self.shared = shared
        self.models = models
        self.egress = egress
        self.agents = agents
        self.ids = SeededIds(random.Random(f"{seed} ids"))
        self.network = Network(loop)
        self.machines = [Machine(self, number) for number in range(2 if shared else 1)]
        clock = SimClock(loop) if shared else self.machines[0].clock
        self.disk = Disk(folder / "roomful.db", loop, clock, shared=shared)
        self.settings = Settings(
            database="postgresql://simulated" if shared else f"sqlite:///{self.disk.path}",
            admin_key=ADMIN_KEY,
            secret_key="a-secret-key-for-tests",
            limit_posts=0,
        )
        self.opened: list[tuple[Node, Gateway]] = []
        self.wild = False
        """Whether commits fail now and then."""
        self.down_until = 0.0
        self._chance = random.Random(f"{seed} disk")

    def faults(self) -> Iterator[str]:
        while True:
            if self.loop.time() < self.down_until:
                yield "refused"
            else:
                yield self._chance.choices(("", "refused", "unconfirmed"), (80, 1, 1))[0] if self.wild else ""

    async def bury(self) -> None:
        """Ends what is left of crashed gateways: their tasks, and what they hold of this process."""
        for node, _ in self.opened:
            node.is_dead = False
        self.loop.raise_the_dead()
        me = asyncio.current_task()
        while left := [task for task in self.loop.leftover() if task is not me]:
            for task in left:
                task.cancel()
            await asyncio.wait(left, timeout=60)
        for _, gateway in self.opened:
            await gateway._models.close()  # pyright: ignore[reportPrivateUsage]
            await gateway._toolkit.close()  # pyright: ignore[reportPrivateUsage]
