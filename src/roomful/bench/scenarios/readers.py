"""Readers of one space: what telling them costs, how late they are told, what one costs that only waits."""

import asyncio
from typing import NamedTuple, Protocol

from roomful.bench import wire
from roomful.bench.crowd import Crowd
from roomful.bench.figures import Figure, at_most, below, median, quantile
from roomful.bench.house import expect
from roomful.bench.load import Line
from roomful.bench.processes import Child
from roomful.bench.stage import Stage

GATHER_MS = 50
SETTLE_SECONDS = 0.3


class Audience(NamedTuple):
    """Readers who are there, and what makes a server speak to them."""

    crowd: Crowd
    port: int
    speak: bytes
    each: int
    """How many ends of deltas each is told."""


class Hall(Protocol):
    child: Child

    async def fill(self, count: int) -> Audience:
        """In a space of its own."""
        ...


class GatewayHall:
    """Each space has an agent of its own: one that is in several would hold a call until it says where to."""

    def __init__(self, stage: Stage, model: str) -> None:
        self._house = stage.house
        self._model = model
        self.child = stage.house.child

    async def fill(self, count: int) -> Audience:
        house = self._house
        line = Line(house.port)
        told = expect(await line.ask(house.run(await house.spaces_for(self._model))))
        line.close()
        space_id = await house.spaces_for(self._model)
        crowd = Crowd(house.port, lambda _: house.read(space_id), opening=b"event: snapshot")
        await crowd.open(count)
        return Audience(crowd, house.port, house.post(space_id), told.deltas)


class RawHall:
    def __init__(self, stage: Stage, model: str, gather_ms: int) -> None:
        self._stage = stage
        self._model = model
        self._gather_ms = gather_ms
        self._spaces = 0
        self.child = stage.raw

    async def fill(self, count: int) -> Audience:
        self._spaces += 1
        name = f"{self._model}-{self._spaces}"
        crowd = Crowd(
            self._stage.raw_port, lambda _: wire.request("GET", f"/readers?{name}"), opening=b"\r\n\r\n"
        )
        await crowd.open(count)
        speak = self._stage.raw_run(self._model, space=name, gather_ms=self._gather_ms)
        return Audience(crowd, self._stage.raw_port, speak, self._stage.sizes.deltas)


class Told(NamedTuple):
    cpu_us: float
    """Of the server, for one delta to one reader."""
    p99: float


async def tell(hall: Hall, stage: Stage, count: int) -> Told:
    """All of it to each of them, or it cannot be measured."""
    audience = await hall.fill(count)
    crowd, line = audience.crowd, Line(audience.port)
    before = hall.child.cpu()
    speaking = asyncio.create_task(line.ask(audience.speak))
    try:
        await crowd.wait(audience.each)
        used = hall.child.cpu() - before
        expect(await speaking)
    finally:
        speaking.cancel()
        crowd.leave()
        line.close()
    await asyncio.sleep(SETTLE_SECONDS)
    return Told(used / count / stage.sizes.deltas * 1e6, quantile(crowd.milliseconds, 0.99))


async def _compared(stage: Stage, model: str, count: int, gather_ms: int) -> tuple[list[Told], list[Told]]:
    halls: tuple[Hall, Hall] = (GatewayHall(stage, model), RawHall(stage, model, gather_ms))
    for hall in halls:
        await tell(hall, stage, 2)
    return await stage.by_turns(halls, lambda hall: tell(hall, stage, count))


async def fanout(stage: Stage) -> list[Figure]:
    count = stage.sizes.fan_out
    gateway, raw = await _compared(stage, f"calls-1x{stage.sizes.deltas}", count, 0)
    return [_cpu(f"CPU for a delta to one of {count} readers", gateway, raw, 1.4)]


async def crowd(stage: Stage) -> list[Figure]:
    count, model = stage.sizes.crowd, f"calls-1x{stage.sizes.deltas}-every5-stamped"
    gateway, raw = await _compared(stage, model, count, GATHER_MS)
    ms = [median([each.p99 for each in side]) for side in (gateway, raw)]
    return [
        _cpu(f"CPU for a delta to one of {count} readers, 200/s", gateway, raw, 2),
        Figure(f"delay to {count} readers, 200/s, p99", "ms", ms[0], ms[1], at_most(2)),
    ]


def _cpu(what: str, gateway: list[Told], raw: list[Told], most: float) -> Figure:
    us = [median([each.cpu_us for each in side]) for side in (gateway, raw)]
    return Figure(what, "µs", us[0], us[1], at_most(most))


class Waiting(NamedTuple):
    kilobytes: float
    share: float
    """Of a core, in percent."""


async def idle(stage: Stage) -> list[Figure]:
    """Once on fresh servers: what a process has once had it may have kept."""
    count, model = stage.sizes.crowd, "calls-1x20"
    gateway = await _wait_in(GatewayHall(stage, model), stage)
    raw = await _wait_in(RawHall(stage, model, 0), stage)
    return [
        Figure(
            f"memory of a reader who waits, of {count}", "KB", gateway.kilobytes, raw.kilobytes, below(16)
        ),
        Figure(f"CPU while {count} readers wait", "%", gateway.share, raw.share, below(1)),
    ]


async def _wait_in(hall: Hall, stage: Stage) -> Waiting:
    """A process that has just begun to serve still loads what it will need: that is no reader's."""
    (await hall.fill(2)).crowd.leave()
    await asyncio.sleep(SETTLE_SECONDS)
    held = hall.child.memory()
    audience = await hall.fill(stage.sizes.crowd)
    await asyncio.sleep(SETTLE_SECONDS)
    held = hall.child.memory() - held
    before = hall.child.cpu()
    await asyncio.sleep(stage.sizes.idle_seconds)
    used = hall.child.cpu() - before
    audience.crowd.leave()
    return Waiting(held / stage.sizes.crowd / 1000, used / stage.sizes.idle_seconds * 100)
