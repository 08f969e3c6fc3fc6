"""A run waits for a person and goes on with the answer."""

import re
import time
from typing import Final, NamedTuple

from roomful.bench.crowd import Crowd
from roomful.bench.figures import Figure, median
from roomful.bench.house import expect
from roomful.bench.load import Line
from roomful.bench.processes import CannotMeasure
from roomful.bench.stage import Stage

MODEL: Final = "ask-1x20"
_RUN: Final = re.compile(rb'"runId":"([^"]+)"')
_CALL: Final = re.compile(rb'"toolCallId":"([^"]+)"')


class Cycles(NamedTuple):
    cpu_ms: float
    """Of the server, from the question to the end of the run."""
    ms: float
    """From the answer to the end of the run."""


async def pause(stage: Stage) -> list[Figure]:
    space_id = await stage.house.spaces_for(MODEL)
    gateway, raw = await stage.by_turns(
        (True, False), lambda is_gateway: _wait(stage, space_id) if is_gateway else _without_waiting(stage)
    )
    return [
        Figure(
            "CPU for a run that waits for an answer",
            "ms",
            median([each.cpu_ms for each in gateway]),
            median([each.cpu_ms for each in raw]),
        ),
        Figure("from the answer to the end of the run", "ms", median([each.ms for each in gateway])),
    ]


async def _wait(stage: Stage, space_id: str) -> Cycles:
    house, count, took = stage.house, stage.sizes.cycles, list[float]()
    line = Line(house.port)
    reader = Crowd(
        house.port,
        lambda _: house.read(space_id),
        opening=b"event: snapshot",
        sought=b"event: run.completed",
    )
    await reader.open(1)
    before = house.child.cpu()
    for cycle in range(count):
        asked = expect(await line.ask(house.run(space_id), keeps=True)).body
        run, call = _RUN.search(asked), _CALL.search(asked)
        if run is None or call is None:
            raise CannotMeasure("the gateway did not ask what it should have asked")
        began = time.monotonic()
        expect(await line.ask(house.answer(run[1].decode(), call[1].decode()), keeps=True))
        await reader.wait(cycle + 1)
        took.append((time.monotonic() - began) * 1000)
    used = house.child.cpu() - before
    reader.leave()
    line.close()
    return Cycles(used / count * 1000, median(took))


async def _without_waiting(stage: Stage) -> Cycles:
    line, count = Line(stage.raw_port), stage.sizes.cycles
    before = stage.raw.cpu()
    for _ in range(count):
        expect(await line.ask(stage.raw_run(MODEL)))
    line.close()
    return Cycles((stage.raw.cpu() - before) / count * 1000, 0.0)
