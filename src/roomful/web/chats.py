"""Spaces that other protocols open: a chat or a thread of theirs is a space with one person and one agent
in it, until others join."""

import base64
import contextlib
import hashlib

from roomful.domain.changes import AddSpace, PutMember
from roomful.domain.entities import ADMIN, Principal
from roomful.domain.errors import Conflict, Forbidden, Invalid
from roomful.domain.runs import ACTIVE, Run
from roomful.domain.shape import UNSET, check_id
from roomful.domain.spaces import Member, Space
from roomful.web.desk import Desk
from roomful.web.house import House
from roomful.web.membership import tell_joined

MOST_CHARACTERS = 512
_NAME = 80


def space_id_of(thread_id: str) -> str:
    """The space that a thread is. A name that cannot be an id here is mapped to one, always to the same."""
    with contextlib.suppress(Invalid):
        return check_id(thread_id)
    if not 0 < len(thread_id) <= MOST_CHARACTERS:
        raise Invalid(f"id: the name of a chat has 1 to {MOST_CHARACTERS} characters")
    digest = hashlib.sha256(thread_id.encode()).digest()
    return "thread_" + base64.b32encode(digest[:20]).decode().lower()


async def open_chat(
    desk: Desk, principal: Principal, thread_id: str, agent_id: str | None, *, begins: bool
) -> Space:
    """The space, in which the principal may write and the agent is. Where there is none, one is made by what
    begins a chat: somebody's words that were found to be right."""
    space_id = space_id_of(thread_id)
    store = desk.house.store
    if begins and await store.space(space_id) is None:
        with contextlib.suppress(Conflict):
            return await _begin(desk, principal, space_id, thread_id, agent_id)
    space = await desk.house.access.space(principal, space_id, "write")
    if agent_id is not None and await store.role(space_id, agent_id) is None:
        raise Invalid(f"agentId: {agent_id[:80]!r} is not in this space; its owner may bring it in")
    return space


async def run_at_work(house: House, space_id: str, agent_id: str | None) -> Run | None:
    """The newest run at work here that no other run called."""
    runs = await house.store.runs(space_id=space_id, agent_id=agent_id, statuses=ACTIVE)
    return next((run for run in runs if run.parent_call_id is UNSET), None)


async def _begin(
    desk: Desk, principal: Principal, space_id: str, thread_id: str, agent_id: str | None
) -> Space:
    house = desk.house
    if principal.is_admin:
        raise Forbidden("the admin key does not speak for itself: name a member in X-Roomful-As")
    if agent_id is None:
        raise Invalid(f"agentId: there is no chat {thread_id[:80]!r} yet; say with which agent it begins")
    agent = await house.store.agent(agent_id)
    if agent is None or agent.owner_id not in (principal.entity_id, ADMIN):
        raise Invalid(f"agentId: there is no agent {agent_id[:80]!r} that you may begin a chat with")
    me = await house.store.entity(principal.entity_id)
    assert me is not None, "the caller was recognised"
    space = Space(
        id=space_id,
        name=f"{agent.name}: {thread_id}"[:_NAME],
        created_at=house.clock.iso(),
        alias=thread_id if thread_id != space_id else UNSET,
    )
    members = [
        Member(entity_id=me.id, name=me.name, kind=me.kind, role="owner"),
        Member(entity_id=agent.id, name=agent.name, kind="agent", role="member"),
    ]
    joined = [PutMember(space_id, member.entity_id, member.role) for member in members]

    def then(_: list[object]) -> None:
        for member in members:
            tell_joined(desk, space_id, member)

    told = house.audit(principal, "space.created", space_ids=(space_id,), agent_id=agent.id)
    await house.store.commit([AddSpace(space), *joined, told], then)
    return space
