"""Who may do what. Every route and every tool asks here; a space one may not see does not exist."""

from typing import Literal

from roomful.domain.agents import Agent
from roomful.domain.blobs import Blob
from roomful.domain.entities import Principal
from roomful.domain.errors import Forbidden, NotFound
from roomful.domain.ports import Store
from roomful.domain.runs import Run
from roomful.domain.spaces import Member, Role, Space
from roomful.spaces.blobs import may_have
from roomful.spaces.trails import spaces_showing

Action = Literal["read", "write", "own"]


def owns(principal: Principal, agent: Agent | None) -> bool:
    """The operator has every agent, also those that are gone."""
    return principal.is_admin or (agent is not None and agent.owner_id == principal.entity_id)


def no_space(space_id: str) -> NotFound:
    """One sentence for unknown and forbidden alike, so that ids cannot be probed."""
    return NotFound(f"there is no space {space_id!r} that you are in")


def no_blob() -> NotFound:
    return NotFound("there is no such file that you may see")


class Access:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def space(self, principal: Principal, space_id: str, action: Action) -> Space:
        """The space, if this principal may do this there. `write` is to speak as a member: the operator's
        key does not, it names whom it acts for."""
        space, role = await self._store.space_and_role(space_id, principal.entity_id)
        if space is None or (role is None and not principal.is_admin):
            raise no_space(space_id)
        if action == "write":
            _check_write(principal, role)
        elif action == "own" and role != "owner" and not principal.is_admin:
            raise Forbidden(f"only an owner of {space_id!r} or the admin may do this")
        return space

    async def company(self, principal: Principal, space_id: str) -> tuple[Space, list[Member]]:
        """The space and its members, if this principal may speak there."""
        found = await self._store.company(principal.entity_id, space_id)
        if not found:
            space = await self.space(principal, space_id, "write")
            return space, await self._store.members(space_id)
        [company] = found
        _check_write(principal, company.role)
        return company.space, company.members

    async def may_read(self, principal: Principal, space_id: str) -> bool:
        return principal.is_admin or await self._store.role(space_id, principal.entity_id) is not None

    async def agent(self, principal: Principal, agent_id: str) -> Agent:
        """The agent, if this principal may change it."""
        agent = await self._store.agent(agent_id)
        if agent is None or not owns(principal, agent):
            raise NotFound(f"there is no agent {agent_id!r} of yours")
        return agent

    async def blob(self, principal: Principal, blob_id: str) -> Blob:
        """What an agent made is also its owner's, who sees its runs whole."""
        blob = await self._store.blob(blob_id)
        if blob is None:
            raise no_blob()
        if principal.is_admin or await may_have(self._store, blob, principal.entity_id):
            return blob
        maker = await self._store.agent(blob.owner_id)
        if maker is None or maker.owner_id != principal.entity_id:
            raise no_blob()
        return blob

    async def owns_run(self, principal: Principal, run: Run) -> bool:
        """The operator and the agent's owner see a run whole."""
        return principal.is_admin or owns(principal, await self._store.agent(run.agent_id))

    async def run(self, principal: Principal, run_id: str) -> tuple[Run, list[str] | None]:
        """A run and the spaces through which the principal sees it; None: they see all of it."""
        run = await self._store.run(run_id)
        if run is None:
            raise _no_run(run_id)
        return run, await self.sees_run(principal, run)

    async def sees_run(self, principal: Principal, run: Run) -> list[str] | None:
        """The same of a run that was read."""
        if await self.owns_run(principal, run):
            return None
        seen_in = await spaces_showing(self._store, run)
        through = [space for space in seen_in if await self.may_read(principal, space)]
        if not through:
            raise _no_run(run.id)
        return through

    async def may_stop(self, principal: Principal, run: Run) -> None:
        """Whoever may write where a run shows itself may stop it."""
        if await self.owns_run(principal, run):
            return
        for space_id in await spaces_showing(self._store, run):
            if await self._store.role(space_id, principal.entity_id) in ("owner", "member"):
                return
        raise Forbidden("to stop this run you need to be a writing member of a space where it shows itself")


def _no_run(run_id: str) -> NotFound:
    return NotFound(f"there is no run {run_id!r} that you may see")


def _check_write(principal: Principal, role: Role | None) -> None:
    if principal.is_admin:
        raise Forbidden("the admin key does not speak for itself: name a member in X-Roomful-As")
    if role == "reader":
        raise Forbidden("you may read this space but not write in it: ask an owner to make you a member")
