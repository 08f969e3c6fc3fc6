"""Messages written by many at once."""

import asyncio
import sqlite3
import time
from pathlib import Path
from typing import Final

from roomful.app.clock import SystemClock
from roomful.bench.figures import Figure, at_most, median
from roomful.bench.stage import Stage
from roomful.domain.changes import AddMessage, AddSpace
from roomful.domain.messages import Message, Part, ToolCallPart
from roomful.domain.shape import encode_json
from roomful.domain.spaces import Space
from roomful.store import open_store

PRODUCERS: Final = 64
SPACES: Final = 20
TABLE: Final = """
CREATE TABLE messages (
  space_id TEXT NOT NULL, seq INTEGER NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (space_id, seq)
) WITHOUT ROWID"""


async def store(stage: Stage) -> list[Figure]:
    async def ours() -> float:
        return await _stored(stage.new_folder(), stage.sizes.stored)

    async def bare() -> float:
        return await asyncio.to_thread(_inserted, stage.new_folder(), stage.sizes.stored)

    gateway, raw = await stage.by_turns((ours, bare), lambda write: write())
    return [
        Figure(
            f"a message stored by one of {PRODUCERS} writers",
            "µs",
            median(gateway) * 1e6,
            median(raw) * 1e6,
            at_most(2.5),
        )
    ]


def _message(number: int, moment: str) -> Message:
    """About a kilobyte."""
    args = {"name": "A chair", "price": 12, "text": "x" * 120}
    parts: list[Part] = [
        ToolCallPart(
            id=f"part-{number}-{index}",
            tool_call_id=f"call-{number}-{index}",
            tool_name="show_card",
            status="complete",
            args=args,
        )
        for index in range(4)
    ]
    return Message(
        id=f"message-{number}",
        space_id=f"space-{number % SPACES}",
        entity_id="agent",
        seq=0,
        status="final",
        role="assistant",
        parts=parts,
        created_at=moment,
        updated_at=moment,
    )


async def _stored(folder: Path, count: int) -> float:
    """Seconds for one message, each in a commit of its own."""
    clock = SystemClock()
    record = await open_store(f"sqlite:///{folder / 'store.db'}", clock)
    try:
        moment = clock.iso()
        ids = [f"space-{number}" for number in range(SPACES)]
        await record.commit([AddSpace(Space(id=id, name=id, created_at=moment)) for id in ids])
        messages = [_message(number, moment) for number in range(count)]

        async def producer(first: int) -> None:
            for message in messages[first::PRODUCERS]:
                await record.commit([AddMessage(message)])

        began = time.monotonic()
        await asyncio.gather(*[producer(first) for first in range(PRODUCERS)])
        return (time.monotonic() - began) / count
    finally:
        await record.close()


def _inserted(folder: Path, count: int) -> float:
    """Seconds for one row, as many in a commit as there are writers, synced like ours."""
    db = sqlite3.connect(folder / "bare.db", isolation_level=None)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute(TABLE)
        messages = [_message(number, "2026-01-01T00:00:00.000Z") for number in range(count)]
        rows = [
            (each.space_id, number, each.id, encode_json(each).decode())
            for number, each in enumerate(messages)
        ]
        began = time.monotonic()
        for first in range(0, count, PRODUCERS):
            db.execute("BEGIN")
            db.executemany("INSERT INTO messages VALUES (?, ?, ?, ?)", rows[first : first + PRODUCERS])
            db.execute("COMMIT")
        return (time.monotonic() - began) / count
    finally:
        db.close()
