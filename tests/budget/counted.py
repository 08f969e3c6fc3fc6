"""A whole gateway in the test whose clock stands still, and what its work comes to, counted.

    async with counted_house(tmp_path, monkeypatch) as house:
        with house.counting() as done:
            await house.say("Hello")
        done.statements, done.until_commit, done.commits, done.rows_written

No tick comes while a test runs, and the one look that does is not counted: what is, was asked for.
"""

import contextlib
import itertools
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest

from roomful.app import Gateway
from roomful.settings import Settings
from roomful.store import spaces
from roomful.store.sqlite import SqliteDatabase
from roomful.store.writer import Writer
from roomful.web import readers
from tests.servers.inhouse import MovableClock
from tests.web.visiting import FirstAnswers, Stream, Visit

NEVER = 1e6
"""Seconds: longer than any test."""
BY_ITSELF = ("BEGIN IMMEDIATE", spaces._OUTSIDE)
"""What is counted nowhere: that a transaction begins, and the look for agents outside, once a second."""

CARD: dict[str, Any] = {
    "name": "card",
    "description": "Show something.",
    "executionType": "basic",
    "visibility": "full",
    "execution": {"mode": "static", "output": {"shown": True}},
    "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}},
}
FORM: dict[str, Any] = {**CARD, "name": "form", "execution": {"mode": "no-execution"}}
SCOUT: dict[str, Any] = {
    "name": "ask_scout",
    "description": "Ask the scout.",
    "executionType": "ai-agent",
    "visibility": "full",
    "execution": {"agentConfig": {"name": "Scout", "model": "scripted:scout"}},
}
AGENT: dict[str, Any] = {
    "id": "helper",
    "name": "Helper",
    "model": "scripted:helper",
    "speaks": "both",
    "tools": [CARD, FORM, SCOUT],
    "limits": {"runsPerRoot": 100, "callsPerRun": 100},
}
FOUND: dict[str, Any] = {"turns": [{"text": "Found."}]}


def calling(tool: str, *, deltas: int = 1, size: int = 8, **more: Any) -> dict[str, Any]:
    """A script: one call whose arguments come in about so many deltas of this size, then a text."""
    args = {"prompt" if tool == "ask_scout" else "title": "x" * (deltas * size)}
    return {
        "turns": [
            {"steps": [{"calls": [{"tool": tool, "args": args, **more}], "chunk": size}, {"text": "So."}]}
        ]
    }


class Statement(NamedTuple):
    sql: str
    params: Sequence[Any]
    is_read: bool
    """Outside of a transaction."""
    changed: int
    """How many rows it wrote."""

    def __str__(self) -> str:
        return re.sub(r"\s+", " ", self.sql.strip())


class Done:
    """What was done in a while. A transaction's `COMMIT` is a statement, its beginning is none."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self.commits = 0
        """Those that were handed in. The writer may take several of them in one transaction."""

    @property
    def rows_written(self) -> int:
        """But for the writer's own number, one in each transaction."""
        return sum(one.changed for one in self.statements if "INTO writers" not in one.sql)

    @property
    def reads(self) -> list[Statement]:
        return [one for one in self.statements if one.is_read]

    @property
    def until_commit(self) -> list[Statement]:
        """Those before the first commit: the whole of a request, but nothing of a run that it wakes."""
        return list(itertools.takewhile(lambda one: one.sql != "COMMIT", self.statements))


def listed(statements: Sequence[Statement]) -> str:
    return "\n".join([f"{len(statements)}:", *map(str, statements)])


class CountedHouse(Visit):
    """Ada and the helper are in `room`. Whoever asks is Ada."""

    def __init__(self, gateway: Gateway, database: Path, kept: list[Done]) -> None:
        super().__init__(gateway.house, cast(FirstAnswers, None))
        self.gateway = gateway
        self.database = database
        self.ada = ""
        self._kept = kept

    @contextlib.contextmanager
    def counting(self) -> Iterator[Done]:
        done = Done()
        self._kept.append(done)
        try:
            yield done
        finally:
            self._kept.remove(done)

    async def asked(self, method: str, path: str, body: Any = None, *, expect: int = 200) -> Any:
        answer = await self.ask(method, path, body, token=self.ada)
        assert answer.status == expect, answer.body
        return answer.json if answer.body else None

    async def say(self, text: str = "Hello", space_id: str = "room") -> Any:
        return await self.asked("POST", f"/api/spaces/{space_id}/messages", {"text": text}, expect=201)

    async def woken(self) -> str:
        """A run of the helper that has ended or waits."""
        run_id = (await self.say())["runs"][0]["runId"]
        await self.rest()
        return run_id

    async def rest(self) -> None:
        await self.house.worker.idle()

    async def reader(self, space_id: str = "room", query: str = "") -> Stream:
        stream = self.open("GET", f"/api/spaces/{space_id}/stream{query}", token=self.ada)
        await stream.until(lambda stream: stream.sends)
        return stream


@contextlib.asynccontextmanager
async def counted_house(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: Mapping[str, Any] | None = None,
    scout: Mapping[str, Any] = FOUND,
) -> AsyncIterator[CountedHouse]:
    monkeypatch.setattr(readers, "CHECK_SECONDS", NEVER)
    kept: list[Done] = []
    _keep_all(monkeypatch, kept)
    clock = MovableClock()
    clock.stop()
    settings = Settings(
        database=f"sqlite:///{folder / 'roomful.db'}",
        lease_seconds=NEVER,
        heartbeat_seconds=NEVER,
        limit_streams=0,
        limit_posts=0,
        limit_space_posts=0,
    )
    scripts = {"helper": script or calling("card"), "scout": scout}
    gateway = await Gateway.open(settings, clock=clock, agents=[AGENT], scripts=scripts)
    house = CountedHouse(gateway, folder / "roomful.db", kept)
    try:
        await gateway.start()
        house.ada = await gateway.person("ada")
        await gateway.space("room", "ada", "helper", admin_agent_id="helper")
        await gateway.space("quiet", "ada")
        await house.asked("GET", "/api/spaces/room/messages")
        yield house
    finally:
        await house.leave()
        await gateway.close()


def _keep_all(monkeypatch: pytest.MonkeyPatch, kept: list[Done]) -> None:
    rows, count, submit = SqliteDatabase.rows, SqliteDatabase.count, Writer.submit

    def note(db: SqliteDatabase, sql: str, params: Sequence[Any], changed: int) -> None:
        for done in kept if sql not in BY_ITSELF else ():
            done.statements.append(Statement(sql, params, db._read_only, changed))

    def kept_rows(db: SqliteDatabase, sql: str, params: Sequence[Any] = ()) -> Any:
        found = rows(db, sql, params)
        is_write = sql.lstrip().startswith(("INSERT", "UPDATE", "DELETE"))
        note(db, sql, params, len(found) if is_write else 0)
        return found

    def kept_count(db: SqliteDatabase, sql: str, params: Sequence[Any] = ()) -> int:
        changed = count(db, sql, params)
        note(db, sql, params, max(changed, 0))
        return changed

    def kept_submit(writer: Writer, *given: Any, **more: Any) -> Any:
        for done in kept:
            done.commits += 1
        return submit(writer, *given, **more)

    monkeypatch.setattr(Writer, "submit", kept_submit)
    monkeypatch.setattr(SqliteDatabase, "rows", kept_rows)
    monkeypatch.setattr(SqliteDatabase, "count", kept_count)
