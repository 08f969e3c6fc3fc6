"""All readers lose their connection at once, and come back for what they missed."""

import time
from typing import NamedTuple

from roomful.bench import marks, wire
from roomful.bench.crowd import Crowd, Reader
from roomful.bench.figures import Figure, median
from roomful.bench.house import expect
from roomful.bench.load import Line
from roomful.bench.processes import Child
from roomful.bench.stage import Stage


class Storm(NamedTuple):
    child: Child
    crowd: Crowd
    port: int
    speak: bytes


class Back(NamedTuple):
    seconds: float
    cpu_ms: float
    """Of the server, for one reader."""


async def storm(stage: Stage) -> list[Figure]:
    count, house = stage.sizes.storm, stage.house
    space_id = await house.space()
    gateway = Crowd(
        house.port, lambda reader: house.read(space_id, reader.position), opening=b"event: snapshot"
    )
    raw = Crowd(stage.raw_port, _ask_raw, opening=b"\r\n\r\n", sought=b"data: ")
    sides = (
        Storm(house.child, gateway, house.port, house.post(space_id, marks.delta(0))),
        Storm(stage.raw, raw, stage.raw_port, stage.raw_run("calls-1x1", space="storm")),
    )
    coming, at_the_limit = await stage.by_turns(sides, lambda side: _come_back(side, count))
    return [
        Figure(
            f"all {count} readers back with what they missed",
            "s",
            median([each.seconds for each in coming]),
            median([each.seconds for each in at_the_limit]),
        ),
        Figure(
            "CPU for a reader who comes back",
            "ms",
            median([each.cpu_ms for each in coming]),
            median([each.cpu_ms for each in at_the_limit]),
        ),
    ]


def _ask_raw(reader: Reader) -> bytes:
    """One who was there before is owed the last event."""
    return wire.request("GET", f"/readers?storm{'+again' if reader.is_open else ''}")


async def _come_back(side: Storm, count: int) -> Back:
    await side.crowd.open(count)
    had = [reader.count for reader in side.crowd.readers]
    side.crowd.leave()
    line = Line(side.port)
    expect(await line.ask(side.speak))
    line.close()
    before, began = side.child.cpu(), time.monotonic()
    await side.crowd.connect()
    await side.crowd.wait(max(had) + 1)
    took, used = time.monotonic() - began, side.child.cpu() - before
    side.crowd.leave()
    return Back(took, used / count * 1000)
