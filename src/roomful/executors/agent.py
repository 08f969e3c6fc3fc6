"""A sub-agent: the call waits for a run of another agent, or of one that is written in the tool itself."""

from collections.abc import Mapping
from typing import Any

from roomful.domain.outcomes import Delegated, Failed, Outcome, Waiting
from roomful.domain.ports import CallContext, Store
from roomful.domain.shape import Json
from roomful.domain.tools import SubAgent, ToolSpec


class AgentExecutor:
    has_effects = False

    def __init__(self, store: Store) -> None:
        self._store = store

    def can(self, spec: ToolSpec) -> bool:
        return isinstance(spec.executor, SubAgent)

    async def execute(self, context: CallContext) -> Outcome:
        executor = context.spec.executor
        assert isinstance(executor, SubAgent)
        prompt = _prompt(context.args)
        if executor.config is not None:
            label = executor.config.get("id") or context.spec.name
            child = Delegated(
                agent_id=context.agent_id,
                prompt=prompt,
                is_inline=True,
                include_context=executor.include_context,
                name=str(executor.config.get("name") or label),
                label=str(label),
            )
            return Waiting("child_run", child=child)
        agent = await self._store.agent(executor.agent_id or "")
        if agent is None or not await self._may_call(context, agent.id, agent.owner_id):
            return Failed(f"there is no agent {executor.agent_id!r} that you may call")
        child = Delegated(
            agent_id=agent.id,
            prompt=prompt,
            include_context=executor.include_context,
            name=agent.name,
            label=agent.id,
        )
        return Waiting("child_run", child=child)

    async def _may_call(self, context: CallContext, agent_id: str, owner_id: str) -> bool:
        """One's owner's agents, and those one could as well have asked in the space where one is."""
        me = await self._store.agent(context.agent_id)
        if me is not None and me.owner_id == owner_id:
            return True
        space_id = context.call.active_space_id
        return bool(space_id) and await self._store.role(str(space_id), agent_id) is not None


def _prompt(args: Mapping[str, Any]) -> Json:
    """The words alone, when there is nothing else."""
    if set(args) == {"prompt"} and isinstance(args["prompt"], str):
        return args["prompt"]
    return dict(args)
