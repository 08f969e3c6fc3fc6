"""Where one scenario is measured: the model, the gateway and the raw server, started for it alone."""

import itertools
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import msgspec

from roomful.bench import wire
from roomful.bench.house import House
from roomful.bench.processes import Child, Cores
from roomful.bench.sizes import Sizes

S = TypeVar("S")
T = TypeVar("T")


class Side(NamedTuple):
    """One of the two that are compared, and how it is asked for a run."""

    child: Child
    port: int
    request: bytes


class Stage:
    def __init__(self, folder: Path, cores: Cores, sizes: Sizes, tick: Callable[[], None]) -> None:
        self.folder = folder
        self.cores = cores
        self.sizes = sizes
        self._tick = tick
        self._numbers = itertools.count()
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Self:
        try:
            self.model = self._start("roomful.bench.model")
            self.model_port = int(await self.model.line())
            self.raw = self.cores.give(self._start("roomful.bench.raw", str(self.model_port)))
            self.raw_port = int(await self.raw.line())
            house = House(self.new_folder(), self.cores, self.model_port)
            self.house = await self._open.enter_async_context(house)
        except BaseException:
            await self._open.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    def new_folder(self) -> Path:
        folder = self.folder / str(next(self._numbers))
        folder.mkdir()
        return folder

    def _start(self, module: str, *words: str) -> Child:
        child = Child(self.new_folder(), module, *words)
        self._open.callback(child.stop)
        return child

    async def sides(self, model: str) -> tuple[Side, Side]:
        """The gateway and the limit, each with an agent that does what the scripted model says."""
        space_id = await self.house.spaces_for(model)
        gateway = Side(self.house.child, self.house.port, self.house.run(space_id))
        return gateway, Side(self.raw, self.raw_port, self.raw_run(model))

    def raw_run(self, model: str, **more: Any) -> bytes:
        return wire.request("POST", "/run", msgspec.json.encode({"model": model, **more}))

    def raw_page(self, database: Path, space_id: str, limit: int, more: str = "") -> bytes:
        return wire.request("GET", f"/page?file={database}&space={space_id}&limit={limit}{more}")

    async def by_turns(
        self, sides: tuple[S, S], measure: Callable[[S], Awaitable[T]]
    ) -> tuple[list[T], list[T]]:
        """Every repeat measures both, each time in the other order: what disturbs one disturbs both."""
        gateway: list[T] = []
        raw: list[T] = []
        for repeat in range(self.sizes.repeats):
            order = [(sides[0], gateway), (sides[1], raw)]
            for side, samples in order if repeat % 2 == 0 else reversed(order):
                samples.append(await measure(side))
            self._tick()
        return gateway, raw
