"""Small nouns for the store's tests, and a clock that stands still."""

from typing import Any

from roomful.domain.agents import Agent
from roomful.domain.changes import AddEntity, AddMessage, AddSpace, Change, PutMember
from roomful.domain.entities import Entity, EntityKind
from roomful.domain.messages import Message, Part, TextPart, ToolCallPart
from roomful.domain.ports import Store
from roomful.domain.runs import Call, CallStatus, PendingCall, Run, RunStatus, Trigger
from roomful.domain.spaces import Space

NOON = "2026-01-02T12:00:00.000Z"
LATER = "2026-01-02T13:00:00.000Z"


class HandClock:
    def __init__(self) -> None:
        self.seconds = 1_767_355_200.0

    def now(self) -> float:
        return self.seconds

    def iso(self) -> str:
        return NOON


def entity(id: str, name: str = "Ann", kind: EntityKind = "human", created_at: str = NOON) -> Entity:
    return Entity(id=id, name=name, kind=kind, created_at=created_at)


def space(id: str = "s", created_at: str = NOON) -> Space:
    return Space(id=id, name=f"Space {id}", created_at=created_at)


def agent(id: str, name: str = "Bot") -> Agent:
    return Agent(
        id=id, name=name, owner_id="ann", config={"model": "scripted:x"}, created_at=NOON, updated_at=NOON
    )


def message(
    id: str, text: str = "hello", space_id: str = "s", entity_id: str = "ann", **more: Any
) -> Message:
    parts: list[Part] = more.pop("parts", [TextPart(id=f"{id}-1", text=text)])
    return Message(
        id=id,
        space_id=space_id,
        entity_id=entity_id,
        seq=more.pop("seq", 0),
        status=more.pop("status", "final"),
        role="user",
        parts=parts,
        created_at=NOON,
        updated_at=NOON,
        **more,
    )


def card(id: str, **more: Any) -> ToolCallPart:
    status = more.pop("status", "waiting")
    return ToolCallPart(
        id=id, tool_call_id=f"call-{id}", tool_name="approve", run_id="r", status=status, **more
    )


def run(id: str = "r", status: RunStatus = "queued", created_at: str = NOON, **more: Any) -> Run:
    return Run(
        id=id,
        agent_id=more.pop("agent_id", "bot"),
        status=status,
        trigger=Trigger(type="message"),
        root_run_id=id,
        created_at=created_at,
        **more,
    )


def call(id: str, step: int = 1, index: int = 0, status: CallStatus = "waiting", **more: Any) -> Call:
    return Call(
        id=id,
        run_id=more.pop("run_id", "r"),
        step=step,
        index=index,
        tool_name="approve",
        args={"sum": 12},
        status=status,
        **more,
    )


def pending(call_id: str) -> PendingCall:
    return PendingCall(tool_call_id=call_id, tool_name="approve")


async def settle_in(store: Store, *space_ids: str) -> None:
    """Ann, Bo, and spaces with Ann in them."""
    changes: list[Change] = [AddEntity(entity("ann")), AddEntity(entity("bo", "Bo"))]
    for space_id in space_ids or ("s",):
        changes += [AddSpace(space(space_id)), PutMember(space_id, "ann", "owner")]
    await store.commit(changes)


async def say(store: Store, *texts: str, space_id: str = "s", entity_id: str = "ann") -> None:
    """One message per text, with ids m1, m2 and so on."""
    for number, text in enumerate(texts, start=1):
        await store.commit([AddMessage(message(f"m{number}", text, space_id, entity_id))])


async def ids(store: Store, space_id: str = "s") -> list[str]:
    page, *_ = await store.history(space_id, limit=1000, at=lambda: None)
    return [row.id for row in page]


async def seqs(store: Store, space_id: str = "s") -> list[int]:
    page, *_ = await store.history(space_id, limit=1000, at=lambda: None)
    return [row.seq for row in page]
