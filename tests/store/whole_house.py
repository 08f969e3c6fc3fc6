"""A small database with one row of everything, as the house itself would write it, and a way to spoil it."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from roomful.domain.blobs import Blob
from roomful.domain.changes import (
    AddBlob,
    AddEntity,
    AddGrant,
    AddInvite,
    AddMessage,
    AddSpace,
    AddToken,
    MarkRead,
    PutAgent,
    PutGoals,
    PutMember,
    PutMemories,
    PutPlan,
    RemoveMember,
    ShowBlob,
)
from roomful.domain.entities import Token
from roomful.domain.goals import Goal
from roomful.domain.grants import Grant
from roomful.domain.invites import Invite
from roomful.domain.memories import Memory
from roomful.domain.messages import MemberAnswer, TextPart, ToolCallPart
from roomful.domain.plans import Plan
from roomful.domain.run_changes import AddRun, Hand, KeepAlive, SaveCalls, SaveStep
from roomful.domain.runs import Handed, Lease, Step
from roomful.domain.trails import Child
from roomful.store import open_store
from roomful.store.postgres import without_schema
from tests.store.things import NOON, HandClock, agent, call, entity, message, run, space


def part(id: str, call_id: str, run_id: str, status: Any, **more: Any) -> ToolCallPart:
    return ToolCallPart(
        id=id, tool_call_id=call_id, tool_name="approve", run_id=run_id, status=status, **more
    )


def vote(entity_id: str) -> MemberAnswer:
    return MemberAnswer(entity_id=entity_id, result={"choice": 1}, at=NOON)


async def furnish(url: str) -> None:
    """Ann and Bot in s, Bo was there; `done` has ended, `waiting` waits, `driven` is at work and called
    `below`, which asks in s for Sub, who was never there."""
    store = await open_store(url, HandClock())
    blob = Blob(id="blob", owner_id="ann", media_type="text/plain", size=5, created_at=NOON)
    picture = Blob(id="picture", owner_id="bot", media_type="image/png", size=3, created_at=NOON)
    child = Child(run_id="below", agent_id="sub", name="Sub", status="running")
    answered: dict[str, Any] = {"answered_by": "ann", "answered_at": NOON}
    images = {"success": True, "images": [{"url": picture.url}]}
    await store.commit(
        [
            *(AddEntity(entity(id)) for id in ("ann", "bo")),
            *(AddEntity(entity(id, kind="agent")) for id in ("bot", "sub")),
            *(PutAgent(agent(id)) for id in ("bot", "sub")),
            *(AddSpace(space(id)) for id in ("s", "t")),
            *(PutMember("s", id, "owner") for id in ("ann", "bot", "bo")),
            PutMember("t", "ann", "owner"),
            AddToken(Token("tok", "ann", NOON), b"digest"),
            AddInvite(Invite(digest=b"invite", space_id="s", role="member", maker_id="ann", expires_at=4e9)),
            AddBlob(blob, b"hello"),
            AddBlob(picture, b"png"),
            ShowBlob("blob", "s"),
            ShowBlob("picture", "s"),
        ]
    )
    live = 1e10
    await store.commit(
        [
            KeepAlive("worker", live),
            AddRun(run("done", "completed", ended_at=NOON, shown_in=["s"])),
            AddRun(run("waiting", "waiting_tool", shown_in=["s"])),
            AddRun(run("driven", "running", shown_in=["s"]), Lease("driven", "worker", 1)),
            SaveCalls(
                (
                    call("answered", run_id="done", status="complete", **answered),
                    call("drawn", run_id="done", status="complete", result=images),
                    call("late", run_id="done", status="waiting", waits_for="answer", told={"shown": True}),
                    call("asked", run_id="waiting", waits_for="answer", answers=[vote("ann"), vote("bo")]),
                    call("calls", run_id="driven", waits_for="child_run"),
                )
            ),
            SaveStep(Step(run_id="done", number=1)),
            AddRun(
                run(
                    "below",
                    agent_id="sub",
                    parent_call_id="calls",
                    started_by="bot",
                    asks_in="s",
                    shown_in=["s"],
                )
            ),
        ]
    )
    await store.commit(
        [
            AddMessage(message("m1", attachments=["blob"])),
            AddMessage(message("m2", entity_id="bo")),
            AddMessage(
                message(
                    "m3",
                    entity_id="bot",
                    run_id="done",
                    parts=[
                        TextPart(id="p1", text="Look:"),
                        part("p2", "answered", "done", "complete", **answered),
                        part("p3", "drawn", "done", "complete", result=images),
                        part("p4", "late", "done", "waiting"),
                    ],
                )
            ),
            AddMessage(
                message(
                    "m4",
                    entity_id="bot",
                    run_id="waiting",
                    status="open",
                    parts=[part("p5", "asked", "waiting", "waiting", answers=[vote("ann"), vote("bo")])],
                )
            ),
            AddMessage(
                message(
                    "m5",
                    entity_id="bot",
                    run_id="driven",
                    status="open",
                    parts=[part("p6", "calls", "driven", "running", child=child)],
                )
            ),
            AddMessage(message("m6", entity_id="sub", run_id="below", status="open")),
            AddMessage(message("m7", deleted=True, parts=[])),
            Hand(Handed(run_id="driven", message_id="m1", space_id="s", entity_id="ann", at=NOON)),
            MarkRead("s", "ann", 3),
            RemoveMember("s", "bo"),
            AddGrant(
                Grant(
                    id="grant",
                    space_id="s",
                    agent_id="bot",
                    tool_name="pay",
                    granted_by="ann",
                    created_at=NOON,
                )
            ),
            PutPlan(Plan("plan", "bot", "p", "do", "completed", NOON, NOON)),
            PutMemories("bot", (Memory("bot", "k", 1, NOON, NOON, space_id="s"),), 10),
            PutGoals("bot", (Goal("goal", "bot", "win", NOON, NOON),), 10),
        ]
    )
    await store.close()


class Spoiler:
    """Writes what the house never would: nothing is checked. SQL is written with `?`."""

    def __init__(self, url: str) -> None:
        self._connection: Any
        if url.startswith("sqlite:///"):
            self._connection = sqlite3.connect(
                Path(url.removeprefix("sqlite:///")), isolation_level=None, check_same_thread=False
            )
            self._mark = "?"
        else:
            address, schema = without_schema(url)
            self._connection = psycopg.connect(address, autocommit=True)
            self._connection.execute(f'SET search_path TO "{schema}"')
            self._connection.execute("SET session_replication_role TO replica")
            self._mark = "%s"

    def __call__(self, sql: str, *params: Any) -> list[tuple[Any, ...]]:
        cursor = self._connection.execute(sql.replace("?", self._mark), params)
        return cursor.fetchall() if cursor.description else []

    def body(self, table: str, id: str, change: Callable[[dict[str, Any]], object], **columns: Any) -> None:
        """Changes the body, and these columns with it."""
        [(body,)] = self(f"SELECT body FROM {table} WHERE id = ?", id)
        changed = json.loads(body)
        change(changed)
        sets = ", ".join(f"{column} = ?" for column in ("body", *columns))
        self(f"UPDATE {table} SET {sets} WHERE id = ?", json.dumps(changed), *columns.values(), id)

    def part(self, message_id: str, number: int, **changes: Any) -> None:
        self.body("messages", message_id, lambda message: message["parts"][number].update(changes))

    def without_keys(self, table: str) -> None:
        """The same rows in a table that lets every row in."""
        self(f"CREATE TABLE bare AS SELECT * FROM {table}")
        self(f"DROP TABLE {table}")
        self(f"ALTER TABLE bare RENAME TO {table}")

    def close(self) -> None:
        self._connection.close()
