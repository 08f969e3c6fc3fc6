"""Runs that wait for a reply which nobody is left to give: they are told, instead of waiting for ever."""

import contextlib

from roomful.domain.errors import Conflict
from roomful.domain.ports import Store
from roomful.domain.runs import Awaited, Call, Run
from roomful.domain.shape import UNSET
from roomful.runs.replies import without_reply
from roomful.runs.settling import Settling

_WHY = "whoever could reply has ended without a word, or waits for you"


class Hopeless:
    def __init__(self, *, store: Store, settling: Settling) -> None:
        self._store = store
        self._settling = settling

    async def look(self, run: Run) -> None:
        """After a run has ended or begun to wait: whether others of its root now wait in vain."""
        if run.status != "waiting_reply" and not run.ended:
            return
        runs = await self._store.runs_of_root(run.root_run_id)
        waits = {one.id: await self._waits(one) for one in runs if one.status == "waiting_reply"}
        for one in await self._in_vain(runs, waits):
            for call in waits[one.id]:
                with contextlib.suppress(Conflict):
                    await self._settling.settle(one, without_reply(call, reason=_WHY))

    async def _waits(self, run: Run) -> list[Call]:
        calls = await self._store.calls(run.id)
        return [call for call in calls if call.status == "waiting" and call.waits_for == "reply"]

    async def _in_vain(self, runs: list[Run], waits: dict[str, list[Call]]) -> list[Run]:
        """Those for whom nobody works, nor for those who would have to work for them, and so on."""
        at_work = {run.agent_id for run in runs if run.id not in waits}
        left = [run for run in runs if run.id in waits]
        while True:
            hopeful = [run for run in left if await self._may_come(waits[run.id], at_work)]
            if not hopeful:
                return left
            at_work |= {run.agent_id for run in hopeful}
            left = [run for run in left if run not in hopeful]

    async def _may_come(self, calls: list[Call], at_work: set[str]) -> bool:
        """Whether one of these waits ends by itself, by somebody at work, or by a person."""
        for call in calls:
            if call.deadline is not UNSET or call.awaited is UNSET:
                return True
            if await self._is_there(call.awaited, at_work):
                return True
        return not calls

    async def _is_there(self, awaited: Awaited, at_work: set[str]) -> bool:
        if awaited.kinds:
            return True
        for entity_id in awaited.entity_ids:
            if entity_id in at_work or await self._store.agent(entity_id) is None:
                return True
        return False
