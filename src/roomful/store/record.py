"""The record: the port `Store` over either engine."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import msgspec

from roomful.domain.agents import Agent
from roomful.domain.audit import Audited, AuditQuery
from roomful.domain.blobs import Blob
from roomful.domain.changes import Change
from roomful.domain.entities import Entity, Principal, Token
from roomful.domain.errors import Invalid, Unavailable
from roomful.domain.goals import Goal
from roomful.domain.grants import Grant
from roomful.domain.mcp import Pinned
from roomful.domain.memories import Memory
from roomful.domain.messages import Message
from roomful.domain.plans import Plan
from roomful.domain.ports import Background, Clock, Descent, Figures, KnownAnswer, StoredMessage
from roomful.domain.runs import Call, Handed, Run, RunStatus, Step
from roomful.domain.spaces import Company, Member, MySpace, Role, Space
from roomful.store import (
    audit,
    background,
    blobs,
    calls,
    company,
    goals,
    grants,
    mcp_pins,
    memories,
    messages,
    people,
    plans,
    remembered,
    runs,
    spaces,
)
from roomful.store.announced import Announced
from roomful.store.database import Engine
from roomful.store.hand import Hand
from roomful.store.plan import plan, runs_in, spaces_in
from roomful.store.writer import Then, Ticket, Writer

T = TypeVar("T")
_CANNOT_BE_ENCODED = (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError)


class Record:
    """Made on a running event loop, whose thread alone may use it."""

    def __init__(self, engine: Engine, clock: Clock, name: str, hand: Hand[Ticket] | None = None) -> None:
        self._engine = engine
        self._clock = clock
        self._reader = engine.reader
        self.moments = Announced(name)
        self._writer = Writer(engine.writing, name, self.moments, hand)

    async def tidy(self) -> None:
        """Throws away what workers and writers that are gone left behind, now or the next time."""
        with contextlib.suppress(Unavailable):
            await self._writer.submit([remembered.forget_the_gone()])

    def commit(
        self,
        changes: Sequence[Change],
        then: Then | None = None,
        *,
        after: Awaitable[list[Any]] | None = None,
    ) -> asyncio.Future[list[Any]]:
        """Never raises: what goes wrong is in the future."""
        try:
            writes = [plan(change, self._clock) for change in changes]
        except _CANNOT_BE_ENCODED as error:
            refused: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
            refused.set_exception(Invalid(f"This cannot be written as JSON: {error}."))
            return refused
        runs = tuple(runs_in(changes)) if self._engine.writing.shared else ()
        return self._writer.submit(writes, then, tuple(spaces_in(changes)), runs, after)

    async def history(
        self,
        space_id: str,
        *,
        before: int | None = None,
        after: int | None = None,
        limit: int = 50,
        query: str | None = None,
        of_run: Run | None = None,
        at: Callable[[], T],
    ) -> tuple[list[StoredMessage], Descent, bool, T]:
        shared = self._engine.writing.shared
        reading = messages.Reading(space_id, before, after, limit, query, of_run, shared)
        return await messages.history(self._reader, self.moments, reading, at)

    async def message(self, space_id: str, message_id: str) -> Message | None:
        return await messages.message(self._reader, space_id, message_id)

    async def open_messages(self, run_id: str) -> list[Message]:
        return await messages.open_messages(self._reader, run_id)

    async def principal(self, digest: bytes) -> Principal | None:
        return await people.principal(self._reader, digest)

    async def known_tokens(self, digests: Sequence[bytes]) -> set[bytes]:
        return await people.known_tokens(self._reader, digests)

    async def entity(self, entity_id: str) -> Entity | None:
        return await people.entity(self._reader, entity_id)

    async def entities(self) -> list[Entity]:
        return await people.entities(self._reader)

    async def tokens(self, entity_id: str) -> list[Token]:
        return await people.tokens(self._reader, entity_id)

    async def agent(self, agent_id: str) -> Agent | None:
        return await people.agent(self._reader, agent_id)

    async def agents(self) -> list[Agent]:
        return await people.agents(self._reader)

    async def space(self, space_id: str) -> Space | None:
        return await spaces.space(self._reader, space_id)

    async def space_and_role(self, space_id: str, entity_id: str) -> tuple[Space | None, Role | None]:
        return await spaces.space_and_role(self._reader, space_id, entity_id)

    async def all_spaces(self) -> list[Space]:
        return await spaces.all_spaces(self._reader)

    async def spaces_of(self, entity_id: str) -> list[tuple[Space, Role]]:
        return await spaces.spaces_of(self._reader, entity_id)

    async def my_spaces(self, entity_id: str) -> list[MySpace]:
        return await spaces.my_spaces(self._reader, entity_id)

    async def role(self, space_id: str, entity_id: str) -> Role | None:
        return await spaces.role(self._reader, space_id, entity_id)

    async def members(self, space_id: str) -> list[Member]:
        return await spaces.members(self._reader, space_id)

    async def company(self, entity_id: str, space_id: str | None = None) -> list[Company]:
        return await spaces.company(self._reader, entity_id, space_id)

    async def joined(self, space_id: str) -> dict[str, float]:
        return await spaces.joined(self._reader, space_id)

    async def outside_agents(self) -> list[tuple[str, str]]:
        return await spaces.outside_agents(self._reader)

    async def run(self, run_id: str) -> Run | None:
        return await runs.run(self._reader, run_id)

    async def runs(
        self,
        *,
        agent_id: str | None = None,
        space_id: str | None = None,
        statuses: Sequence[RunStatus] = (),
        limit: int = 100,
    ) -> list[Run]:
        return await runs.runs(self._reader, agent_id, space_id, statuses, limit)

    async def unowned_runs(self) -> list[str]:
        return await runs.unowned_runs(self._reader)

    async def call(self, call_id: str) -> Call | None:
        return await calls.call(self._reader, call_id)

    async def calls(self, run_id: str) -> list[Call]:
        return await calls.calls(self._reader, run_id)

    async def overdue_calls(self, now: float, limit: int = 100) -> list[Call]:
        return await calls.overdue_calls(self._reader, now, limit)

    async def replies_awaited(self, space_id: str) -> list[Call]:
        return await company.replies_awaited(self._reader, space_id)

    async def calls_of_ended_children(self, limit: int = 100) -> list[Call]:
        return await company.calls_of_ended_children(self._reader, limit)

    async def children(self, call_ids: Sequence[str]) -> list[Run]:
        return await company.children(self._reader, call_ids)

    async def descent(self, call_ids: Sequence[str]) -> Descent:
        return await company.descent(self._reader, call_ids)

    async def runs_of_root(self, root_run_id: str) -> list[Run]:
        return await company.runs_of_root(self._reader, root_run_id)

    async def runs_in_root(self, root_run_id: str) -> int:
        return await company.runs_in_root(self._reader, root_run_id)

    async def tokens_of_root(self, root_run_id: str) -> int:
        return await company.tokens_of_root(self._reader, root_run_id)

    async def handed(self, run_id: str) -> list[Handed]:
        return await company.handed(self._reader, run_id)

    async def handed_to_idle(self) -> list[Handed]:
        return await company.handed_to_idle(self._reader)

    async def audit(self, query: AuditQuery) -> list[Audited]:
        return await audit.audit(self._reader, query)

    async def grants_in(self, space_id: str) -> list[Grant]:
        return await grants.grants_in(self._reader, space_id)

    async def grants_of(self, agent_id: str) -> list[Grant]:
        return await grants.grants_of(self._reader, agent_id)

    async def mcp_pins(self, pinned: Pinned) -> dict[str, str] | None:
        return await mcp_pins.pins_of(self._reader, pinned)

    async def plans_of(self, agent_id: str) -> list[Plan]:
        return await plans.plans_of(self._reader, agent_id)

    async def due_plans(self, now: str, limit: int = 100) -> list[Plan]:
        return await plans.due_plans(self._reader, now, limit)

    async def memories_of(self, agent_id: str) -> list[Memory]:
        return await memories.memories_of(self._reader, agent_id)

    async def goals_of(self, agent_id: str) -> list[Goal]:
        return await goals.goals_of(self._reader, agent_id)

    async def background(self, run: Run, space_id: str | None, most: int) -> Background:
        return await background.background(self._reader, run, space_id, most)

    async def steps(self, run_id: str) -> list[Step]:
        return await calls.steps(self._reader, run_id)

    async def blob(self, blob_id: str) -> Blob | None:
        return await blobs.blob(self._reader, blob_id)

    async def blob_data(self, blob_id: str) -> bytes | None:
        return await blobs.blob_data(self._reader, blob_id)

    async def blob_spaces(self, blob_id: str) -> list[str]:
        return await blobs.blob_spaces(self._reader, blob_id)

    async def writers(self) -> dict[str, int]:
        return await remembered.writers(self._reader)

    async def known_answer(self, owner: str, key: str) -> KnownAnswer | None:
        return await remembered.known_answer(self._reader, owner, key)

    async def moment(self) -> float:
        [(moment,)] = await self._reader.rows("SELECT moment()")
        return moment

    async def get_meta(self, key: str) -> str | None:
        return await remembered.get_meta(self._reader, key)

    async def set_meta(self, key: str, value: str) -> None:
        await self._writer.submit([remembered.set_meta(key, value)])

    def figures(self) -> Figures:
        return Figures(
            messages_stored=self._writer.messages_stored,
            commits_waiting=self._writer.waiting,
            is_writing_over=self._writer.is_over,
            batch_sizes=self._writer.batch_sizes,
            batch_seconds=self._writer.batch_seconds,
        )

    async def close(self) -> None:
        """Stores what was handed in before."""
        await self._writer.close()
        await asyncio.to_thread(self._engine.close)
