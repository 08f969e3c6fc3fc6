"""What was said is read again: the last of many messages, and the work of sub-agents."""

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from roomful.bench.figures import Figure, at_most, median
from roomful.bench.house import House, expect
from roomful.bench.load import Line, ask_often
from roomful.bench.raw import PAGE as ROWS
from roomful.bench.stage import Stage

PAGE: Final = 50
FEW: Final = 1000
STEADY: Final = 1.5
PLANTED_AT_ONCE: Final = 20_000
DELEGATIONS: Final = 5
"""Of one run."""
WORDS: Final = "What was said here is neither long nor short, as most of what people say. " * 4


class Asked(NamedTuple):
    port: int
    request: bytes


async def history(stage: Stage) -> list[Figure]:
    house, many = stage.house, stage.sizes.messages
    few = min(FEW, many // 2)
    for space_id, count in (("many", many), ("few", few)):
        await house.space(id=space_id)
        line = Line(house.port)
        expect(await line.ask(house.post(space_id, WORDS)))
        line.close()
        house.stop()
        await _plant(house.database, space_id, count)
        await house.start()
    path = f"/api/spaces/many/messages?limit={PAGE}"
    ours = Asked(house.port, house.get(path))
    bare = Asked(stage.raw_port, stage.raw_page(house.database, "many", PAGE))
    small = Asked(house.port, house.get(path.replace("many", "few")))
    reads = stage.sizes.reads
    gateway, read = await stage.by_turns(
        (True, False),
        lambda is_gateway: _read(ours, reads) if is_gateway else _read_bare(house.database, reads),
    )
    again, raw = await stage.by_turns((ours, bare), lambda asked: _read(asked, reads))
    more, of_few = await stage.by_turns((ours, small), lambda asked: _read(asked, reads))
    return [
        Figure(f"the last {PAGE} of {many:,} messages", "ms", median(gateway), median(read), at_most(5)),
        Figure("the same against the raw server over HTTP", "ms", median(again), median(raw)),
        Figure(f"the same against of {few:,}", "ms", median(more), median(of_few), at_most(STEADY)),
    ]


async def _read_bare(database: Path, times: int) -> float:
    """Milliseconds for the rows alone, decoded, in this process and without HTTP."""
    db, took = sqlite3.connect(f"file:{database}?mode=ro", uri=True), list[float]()
    try:
        for _ in range(times):
            began = time.monotonic()
            for (body,) in db.execute(ROWS, ("many", PAGE)):
                msgspec.json.decode(body)
            took.append((time.monotonic() - began) * 1000)
    finally:
        db.close()
    return median(took)


async def _read(asked: Asked, times: int) -> float:
    """Milliseconds until the whole answer is there, on a connection that is kept."""
    line, took = Line(asked.port), list[float]()
    for _ in range(times):
        began = time.monotonic()
        expect(await line.ask(asked.request, keeps=True))
        took.append((time.monotonic() - began) * 1000)
    line.close()
    return median(took)


async def _plant(database: Path, space_id: str, count: int) -> None:
    """As many messages like the one that is there, without asking anybody: no server is running."""
    db = sqlite3.connect(database, isolation_level=None)
    try:
        db.row_factory = sqlite3.Row
        row = dict(db.execute("SELECT * FROM messages WHERE space_id = ?", (space_id,)).fetchone())
        insert = f"INSERT INTO messages ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
        for first in range(2, count + 1, PLANTED_AT_ONCE):
            db.execute("BEGIN")
            db.executemany(insert, _copies(row, range(first, min(first + PLANTED_AT_ONCE, count + 1))))
            db.execute("COMMIT")
            await asyncio.sleep(0)
        db.execute("UPDATE spaces SET last_seq = ? WHERE id = ?", (count, space_id))
    finally:
        db.close()


def _copies(row: dict[str, Any], numbers: range) -> Iterator[tuple[Any, ...]]:
    body = msgspec.json.decode(row["body"])
    for number in numbers:
        own = {"id": f"{row['id']}-{number:07d}", "seq": number}
        copy = row | own | {"body": msgspec.json.encode(body | own).decode()}
        yield tuple(copy.values())


class Recalled(NamedTuple):
    cold: float
    """Milliseconds of the first read by a server that has just begun,"""
    warm: float
    """and of those after it."""


async def recall(stage: Stage) -> list[Figure]:
    house, runs = stage.house, stage.sizes.delegating_runs
    space_id = await house.spaces_for(f"delegate-{DELEGATIONS}x1")
    await ask_often(house.port, house.run(space_id), at_once=4, most=runs, seconds=60.0)
    gateway, raw = await stage.by_turns(
        (True, False),
        lambda is_gateway: _recall(house, space_id, stage) if is_gateway else _recall_raw(stage, space_id),
    )
    count = runs * DELEGATIONS
    return [
        Figure(
            f"{count} delegations recalled, just started",
            "ms",
            median([each.cold for each in gateway]),
            median([each.cold for each in raw]),
        ),
        Figure(
            f"{count} delegations recalled again",
            "ms",
            median([each.warm for each in gateway]),
            median([each.warm for each in raw]),
        ),
    ]


async def _recall(house: House, space_id: str, stage: Stage) -> Recalled:
    house.stop()
    await house.start()
    asked = Asked(house.port, house.get(f"/api/chat?threadId={space_id}"))
    return Recalled(await _read(asked, 1), await _read(asked, stage.sizes.reads))


async def _recall_raw(stage: Stage, space_id: str) -> Recalled:
    def asked(more: str) -> Asked:
        return Asked(stage.raw_port, stage.raw_page(stage.house.database, space_id, PAGE, more))

    return Recalled(await _read(asked("&fresh=1"), 1), await _read(asked(""), stage.sizes.reads))
