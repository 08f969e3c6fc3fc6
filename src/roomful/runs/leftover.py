"""Messages that a run was handed and did not get to before it ended or began to wait: each starts another
run, as it would have done at first. What agents said begins no new root by that."""

import contextlib
from collections.abc import Sequence
from typing import Any

import msgspec

from roomful.domain.agents import Agent
from roomful.domain.changes import AddMessage, Change
from roomful.domain.errors import Conflict, NotFound, OverBound
from roomful.domain.events import Announcement, MessageChanged
from roomful.domain.messages import Message
from roomful.domain.ports import Clock, Ids, Store
from roomful.domain.run_changes import TakeHanded
from roomful.domain.runs import MOVED, WAITING, Handed, Run, Trigger
from roomful.domain.shape import UNSET
from roomful.runs.agents import Agents
from roomful.runs.bounds import Bounds
from roomful.runs.waking import Waking
from roomful.spaces.announcer import Announcer


class Leftover:
    def __init__(
        self,
        *,
        store: Store,
        agents: Agents,
        waking: Waking,
        bounds: Bounds,
        announcer: Announcer,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._store = store
        self._agents = agents
        self._waking = waking
        self._bounds = bounds
        self._announcer = announcer
        self._clock = clock
        self._ids = ids

    async def hand_on_from(self, run: Run) -> None:
        """The run ended, or waits."""
        if run.ended or run.status in WAITING:
            await self._all([one for one in await self._store.handed(run.id) if one.step is UNSET])

    async def hand_on(self) -> None:
        """The same for all runs, if the gateway stopped in between."""
        await self._all(await self._store.handed_to_idle())

    async def _all(self, left: Sequence[Handed]) -> None:
        for handed in left:
            run = await self._store.run(handed.run_id)
            agent = await self._store.agent(run.agent_id) if run is not None else None
            moved = TakeHanded((msgspec.structs.replace(handed, step=MOVED),))
            if agent is None:
                await self._store.commit([moved])
                continue
            with contextlib.suppress(Conflict):
                await self._hand_on(handed, agent, moved)

    async def _hand_on(self, handed: Handed, agent: Agent, moved: Change) -> None:
        by = await self._said_by(handed)
        trigger = Trigger(
            type="message" if by is None else "mention",
            space_id=handed.space_id,
            message_id=handed.message_id,
            entity_id=handed.entity_id,
        )
        woken = await self._waking.wake(agent, trigger, by=by)
        try:
            room = await self._room(by, agent.id) if by is not None and woken.new is not None else []
            await self._store.commit([moved, *room, woken.change], lambda _: self._waking.began(woken))
        except OverBound as bound:
            assert by is not None
            await self._say(bound, by, handed.space_id, moved)

    async def _said_by(self, handed: Handed) -> Run | None:
        """The run whose message it is, if it is no person's."""
        message = await self._store.message(handed.space_id, handed.message_id)
        return await self._store.run(message.run_id) if message is not None and message.run_id else None

    async def _room(self, by: Run, whom: str) -> list[Change]:
        try:
            limits = (await self._agents.of_run(by)).limits
        except NotFound:
            return []
        return self._bounds.room_for(limits, by, whom)

    async def _say(self, bound: OverBound, by: Run, space_id: str, moved: Change) -> None:
        """The run whose message it was may have ended: this is a message by itself."""
        now = self._clock.iso()
        message = Message(
            id=self._ids.new("msg"),
            space_id=space_id,
            entity_id=by.agent_id,
            seq=0,
            status="final",
            role="assistant",
            parts=[self._bounds.part(bound, by)],
            created_at=now,
            updated_at=now,
            run_id=by.id,
        )

        def then(results: list[Any]) -> None:
            message.seq = results[-1]
            event = MessageChanged(space_id=space_id, message=message)
            self._announcer([Announcement(event=event, space_id=space_id, run_id=by.id)])

        await self._store.commit([moved, AddMessage(message)], then)
