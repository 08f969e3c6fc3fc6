"""Runs that wait for a reply which nobody is left to give: they are told, instead of waiting for ever."""

import contextlib

from roomful.domain.errors import Conflict
from roomful.domain.ports import Store
from roomful.domain.runs import WAITING, Awaited, Call, Run
from roomful.domain.shape import UNSET, Unset
from roomful.runs.replies import without_reply
from roomful.runs.settling import Settling

MOST = 1000
_WHY = "whoever could reply has ended without a word, or waits for you"


class Hopeless:
    def __init__(self, *, store: Store, settling: Settling) -> None:
        self._store = store
        self._settling = settling
        self._has_looked = False

    async def look(self, run: Run) -> None:
        """After a run has ended or begun to wait: whether others of its root now wait in vain."""
        if run.status in WAITING or run.ended:
            await self._look_at(run.root_run_id)

    async def look_once(self) -> None:
        """For what happened just before the gateway stopped."""
        if not self._has_looked:
            waiting = await self._store.runs(statuses=("waiting_reply",), limit=MOST)
            for root_run_id in dict.fromkeys(run.root_run_id for run in waiting):
                await self._look_at(root_run_id)
            self._has_looked = True

    async def _look_at(self, root_run_id: str) -> None:
        runs = await self._store.runs_of_root(root_run_id)
        if not any(run.status == "waiting_reply" for run in runs):
            return
        waits = {run.id: await self._waits(run) for run in runs if run.status in WAITING}
        for run in await self._in_vain(runs, waits):
            for call in waits[run.id]:
                if call.waits_for == "reply":
                    with contextlib.suppress(Conflict):
                        await self._settling.settle(run, without_reply(call, reason=_WHY))

    async def _waits(self, run: Run) -> list[Call]:
        return [call for call in await self._store.calls(run.id) if call.status == "waiting"]

    async def _in_vain(self, runs: list[Run], waits: dict[str, list[Call]]) -> list[Run]:
        """Those for whom nobody works, nor for those who would have to work for them, and so on."""
        at_work = [run for run in runs if run.id not in waits]
        left = [run for run in runs if run.id in waits]
        while True:
            hopeful = [run for run in left if await self._may_come(waits[run.id], at_work)]
            if not hopeful:
                return left
            at_work += hopeful
            left = [run for run in left if run not in hopeful]

    async def _may_come(self, calls: list[Call], at_work: list[Run]) -> bool:
        """Whether one of these waits ends by itself, by somebody at work, or by somebody outside."""
        for call in calls:
            match call.waits_for:
                case "reply":
                    agents = {run.agent_id for run in at_work}
                    is_timed = call.deadline is not UNSET or call.awaited is UNSET
                    if is_timed or await self._is_there(call.awaited, agents):
                        return True
                case "child_run":
                    if any(run.parent_call_id == call.id for run in at_work):
                        return True
                case _:
                    return True
        return not calls

    async def _is_there(self, awaited: Awaited | Unset, at_work: set[str]) -> bool:
        if awaited is UNSET or awaited.kinds:
            return True
        for entity_id in awaited.entity_ids:
            if entity_id in at_work or await self._store.agent(entity_id) is None:
                return True
        return False
