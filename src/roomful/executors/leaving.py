"""How a run is left: without a word, to another agent, or because it is stopped."""

from collections.abc import Awaitable, Callable, Mapping

from roomful.domain.outcomes import Done, Ends, Failed, Outcome
from roomful.domain.ports import CallContext, Store
from roomful.domain.runs import Run
from roomful.domain.shape import UNSET, clean_text
from roomful.executors.builtin import Operation


class Leaving:
    def __init__(self, store: Store, stop: Callable[[str], Awaitable[Run]]) -> None:
        self._store = store
        self._stop = stop
        self.operations: Mapping[str, Operation] = {
            "skip": self._skip,
            "hand_off": self._hand_off,
            "stop_run": self._stop_run,
        }

    async def _skip(self, context: CallContext) -> Outcome:
        return Ends({"skipped": True})

    async def _hand_off(self, context: CallContext) -> Outcome:
        agent_id = clean_text(str(context.args.get("targetAgentEntityId", "")))
        if context.run.parent_call_id is not UNSET:
            return Failed("another run waits for your answer: you cannot hand it over")
        if agent_id == context.agent_id:
            return Failed("you cannot hand over to yourself")
        if not await self._may_take_over(context, agent_id):
            return Failed(f"there is no agent {agent_id[:80]!r} here to whom you could hand over")
        return Ends({"handedTo": agent_id}, status="canceled", hand_to=agent_id)

    async def _may_take_over(self, context: CallContext, agent_id: str) -> bool:
        """In a space, an agent that is there too; else one of the same owner."""
        other, me = await self._store.agent(agent_id), await self._store.agent(context.agent_id)
        if other is None or me is None:
            return False
        if context.run.trigger.space_id is not UNSET:
            return await self._store.role(context.run.trigger.space_id, agent_id) is not None
        return other.owner_id == me.owner_id

    async def _stop_run(self, context: CallContext) -> Outcome:
        run_id = clean_text(str(context.args.get("runId", "")))
        run = await self._store.run(run_id)
        if run is None or run.agent_id != context.agent_id:
            return Failed(f"you have no run {run_id[:80]!r}")
        if run.id == context.run.id:
            return Ends({"runId": run_id, "status": "canceled"}, status="canceled")
        if not run.ended:
            run = await self._stop(run_id)
        return Done({"runId": run_id, "status": run.status})
