"""Agents, ready to run: their stored configuration made into an AgentSpec once, until it changes."""

from collections.abc import Callable
from typing import Any

from roomful.domain.agents import AgentSpec
from roomful.domain.errors import NotFound
from roomful.domain.ports import Store
from roomful.tools import configure

KEPT = 1000


class Agents:
    def __init__(self, store: Store, ready: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """`ready` makes what is sealed in a stored configuration usable."""
        self._store = store
        self._ready = ready
        self._made: dict[str, tuple[str, AgentSpec]] = {}

    async def find(self, agent_id: str) -> AgentSpec:
        agent = await self._store.agent(agent_id)
        if agent is None:
            raise NotFound(f"there is no agent {agent_id!r}")
        made = self._made.get(agent_id)
        if made is None or made[0] != agent.updated_at:
            if len(self._made) >= KEPT:
                self._made.clear()
            spec = configure(self._ready(agent.config), agent_id=agent_id, trusted=True)
            made = self._made[agent_id] = (agent.updated_at, spec)
        return made[1]
