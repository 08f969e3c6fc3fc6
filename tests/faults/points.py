"""Where a gateway can die: just before and just after each durable write and each request to the outside.

A process that wrapped itself counts the points it comes to, notes each of them, and kills itself at the one
it was told. The product knows nothing of it.
"""

import os
import signal
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp

from roomful.domain.changes import Change
from roomful.domain.deltas import ModelDelta, ModelRequest
from roomful.domain.ports import Clock, Hear
from roomful.egress import client as egress
from roomful.egress.hops import Hop
from roomful.models.openai import OpenAIModel
from roomful.store import record
from roomful.store.database import Write
from roomful.store.postgres import PostgresDatabase
from roomful.store.sqlite import SqliteDatabase
from roomful.store.writer import Ticket, Writer

IDLE = {"KeepAlive"}
"""Written from time to time whatever happens: no point, so that their numbers mean the same each time."""


class Points:
    """Every point of this process so far. It dies at the one numbered `fatal`; 0 is none."""

    def __init__(self, notes: Path, fatal: int) -> None:
        self._notes = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._fatal = fatal
        self._count = 0
        self._lock = threading.Lock()

    def reach(self, what: str) -> None:
        with self._lock:
            self._count += 1
            os.write(self._notes, f"{what}\n".encode())
            if self._count == self._fatal:
                os.kill(os.getpid(), signal.SIGKILL)


def wrap(points: Points) -> None:
    _wrap_commits(points)
    _wrap_requests(points)
    _wrap_models(points)


def _wrap_commits(points: Points) -> None:
    now: set[str] = set()
    """What is in the transaction; the one thread that writes knows."""
    plan, transaction = record.plan, Writer._transaction

    def named(change: Change, clock: Clock) -> Write:
        write = plan(change, clock)
        write.__dict__["change"] = type(change).__name__
        return write

    def noted(self: Writer, batch: list[Ticket]) -> int | None:
        now.clear()
        now.update(getattr(write, "change", "tidying") for ticket in batch for write in ticket.writes)
        return transaction(self, batch)

    def around(commit: Callable[[Any], None]) -> Any:
        def wrapped(db: Any) -> None:
            if now == IDLE:
                commit(db)
                return
            what = "+".join(sorted(now - IDLE)) or "the schema"
            points.reach(f"before the commit of {what}")
            commit(db)
            points.reach(f"after the commit of {what}")

        return wrapped

    record.plan = named
    Writer._transaction = noted
    for database in (SqliteDatabase, PostgresDatabase):
        database.commit = around(database.commit)


def _wrap_requests(points: Points) -> None:
    """All tools go out by the one egress, MCP too."""
    answer, chunks = egress.HttpEgress._answer, egress._Stream.chunks

    async def sent(self: Any, stack: AsyncExitStack, hop: Hop) -> aiohttp.ClientResponse:
        what = f"{hop.method} to a tool"
        points.reach(f"before {what}")
        response = await answer(self, stack, hop)
        points.reach(f"when the answer to {what} begins")
        return response

    async def read(self: Any) -> AsyncIterator[bytes]:
        async for piece in chunks(self):
            yield piece
        points.reach("after a tool's answer")

    egress.HttpEgress._answer = sent
    egress._Stream.chunks = read


def _wrap_models(points: Points) -> None:
    ask = OpenAIModel.ask

    async def asked(self: OpenAIModel, request: ModelRequest, hear: Hear) -> None:
        points.reach(f"before {request.agent_id} asks its model")
        is_first = True

        def heard(batch: Sequence[ModelDelta]) -> None:
            nonlocal is_first
            if is_first:
                points.reach(f"when the model of {request.agent_id} begins")
                is_first = False
            hear(batch)

        await ask(self, request, heard)
        points.reach(f"after the model of {request.agent_id} answered")

    OpenAIModel.ask = asked
