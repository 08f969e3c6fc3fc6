"""Runs: what one costs, how many there are in a second, and how long a delta takes."""

from typing import NamedTuple

from roomful.bench.figures import Figure, Goal, at_least, at_most, below, median, quantile
from roomful.bench.load import Load, ask_often
from roomful.bench.stage import Side, Stage

EVERY_MS = 5
"""Between two deltas of a paced stream: 200 in a second."""


class Sample(NamedTuple):
    load: Load
    cpu_ms: float
    """Of the server, for one run."""

    @property
    def rate(self) -> float:
        return self.load.runs / self.load.seconds

    @property
    def kilobytes(self) -> float:
        return median(self.load.sizes) / 1000


async def at_full_speed(side: Side, stage: Stage, at_once: int) -> Sample:
    """As many runs as there is time for."""
    sizes, before = stage.sizes, side.child.cpu()
    most = max(at_once, sizes.most_runs)
    load = await ask_often(side.port, side.request, at_once=at_once, most=most, seconds=sizes.seconds)
    return Sample(load, (side.child.cpu() - before) / load.runs * 1000)


async def at_their_pace(side: Side, stage: Stage, at_once: int) -> Load:
    """Two runs each, begun one after the other: what a run's begin costs meets streams that are under way."""
    length = stage.sizes.deltas * EVERY_MS / 1000
    return await ask_often(
        side.port,
        side.request,
        at_once=at_once,
        most=2 * at_once,
        seconds=4 * length,
        spread=length,
        timed=True,
    )


async def ready(stage: Stage, model: str) -> tuple[Side, Side]:
    """Both sides, and each has done it before."""
    sides = await stage.sides(model)
    for side in sides:
        await ask_often(side.port, side.request, at_once=2, most=4, seconds=1.0)
    return sides


async def compared(stage: Stage, model: str, at_once: int) -> tuple[list[Sample], list[Sample]]:
    return await stage.by_turns(await ready(stage, model), lambda side: at_full_speed(side, stage, at_once))


async def paced(stage: Stage, at_once: int) -> tuple[list[Load], list[Load]]:
    sides = await ready(stage, f"calls-1x{stage.sizes.deltas}-every{EVERY_MS}-stamped")
    return await stage.by_turns(sides, lambda side: at_their_pace(side, stage, at_once))


async def runs(stage: Stage) -> list[Figure]:
    model = f"calls-1x{stage.sizes.deltas}"
    gateway, raw = await compared(stage, model, 16)
    more_gateway, more_raw = await compared(stage, model, 64)
    return [
        _cpu("CPU for a run, 16 at once", gateway, raw, at_most(2.5)),
        _rate("runs a second, 16 at once", gateway, raw),
        _rate("runs a second, 64 at once", more_gateway, more_raw),
        Figure(
            "bytes on the wire for a run",
            "KB",
            median([each.kilobytes for each in gateway]),
            median([each.kilobytes for each in raw]),
            below(45),
        ),
    ]


async def delay(stage: Stage) -> list[Figure]:
    gateway, raw = await paced(stage, 1)
    return [_delay("delay of a delta, 1 stream, p50", gateway, raw, 0.5, at_most(1.8))]


async def streams(stage: Stage) -> list[Figure]:
    count = stage.sizes.streams
    gateway, raw = await paced(stage, count)
    return [
        _delay(f"delay, {count} streams of 200/s, p50", gateway, raw, 0.5, at_most(3)),
        _delay(f"delay, {count} streams of 200/s, p99", gateway, raw, 0.99, at_most(5)),
    ]


async def routing(stage: Stage) -> list[Figure]:
    gateway, raw = await compared(stage, f"spaces-3x{stage.sizes.deltas // 3}", 16)
    return [_cpu("CPU for a run into 3 spaces", gateway, raw)]


async def parallel(stage: Stage) -> list[Figure]:
    gateway, raw = await compared(stage, f"calls-5x{stage.sizes.deltas // 5}", 16)
    return [_cpu("CPU for a run of 5 parallel calls", gateway, raw)]


def _cpu(what: str, gateway: list[Sample], raw: list[Sample], goal: Goal | None = None) -> Figure:
    measured = median([each.cpu_ms for each in gateway])
    return Figure(what, "ms", measured, median([each.cpu_ms for each in raw]), goal)


def _rate(what: str, gateway: list[Sample], raw: list[Sample]) -> Figure:
    rates = [median([each.rate for each in side]) for side in (gateway, raw)]
    return Figure(what, "1/s", rates[0], rates[1], at_least(0.4))


def _delay(what: str, gateway: list[Load], raw: list[Load], share: float, goal: Goal) -> Figure:
    ms = [median([quantile(each.milliseconds, share) for each in side]) for side in (gateway, raw)]
    return Figure(what, "ms", ms[0], ms[1], goal)
