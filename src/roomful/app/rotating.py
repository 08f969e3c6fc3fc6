"""Keys replaced, beside a running server: everything can be killed in the middle and done again."""

import msgspec

from roomful.app.clock import RandomIds
from roomful.app.keys import SECRET, new_admin_key, new_signing, read_signing
from roomful.app.sealing import SecretBox
from roomful.domain.agents import Agent
from roomful.domain.changes import AddAudit, PutAgent
from roomful.domain.entities import OPERATOR
from roomful.domain.errors import Conflict, Invalid
from roomful.domain.ports import Clock, Store
from roomful.settings import Settings
from roomful.spaces.auditing import AuditLog
from roomful.tools import reseal_secrets


class Resealed(msgspec.Struct):
    agents: int = 0
    secrets: int = 0
    current: int = 0
    """Those that the first key had sealed already."""
    lost: list[str] = []
    """Where one stands that no listed key opens."""


async def reseal(store: Store, clock: Clock, settings: Settings) -> Resealed:
    """Seals every stored secret with the first key, agent by agent."""
    box, done = SecretBox(settings.secret_key), Resealed()
    if not box.can_seal:
        raise Invalid("ROOMFUL_SECRET_KEY is not set: list the new key and then the old ones, as in new,old")
    for known in await store.agents():
        agent: Agent | None = known
        while agent is not None and not await _reseal_agent(store, clock, box, agent, done):
            agent = await store.agent(known.id)
    return done


async def _reseal_agent(store: Store, clock: Clock, box: SecretBox, agent: Agent, done: Resealed) -> bool:
    """False when it was changed meanwhile: then it has to be looked at again."""
    config, found = reseal_secrets(agent.config, box.is_current, lambda sealed: box.seal(box.open(sealed)))
    if found.moved:
        told = _rotated(clock, {"agentId": agent.id, "secrets": found.moved})
        try:
            await store.commit([PutAgent(msgspec.structs.replace(agent, config=config), was=agent), told])
        except Conflict:
            return False
    done.agents += bool(found.moved)
    done.secrets += found.moved
    done.current += found.current
    done.lost += [f"agent {agent.id}: {place}" for place in found.lost]
    return True


async def rotate_admin_key(store: Store, clock: Clock, settings: Settings) -> str:
    """The new key, shown this once."""
    if settings.admin_key:
        raise Invalid("ROOMFUL_ADMIN_KEY is set, and that one counts: change it there and restart")
    key, change = new_admin_key()
    await store.commit([change, _rotated(clock, {"key": "admin"})])
    return key


async def rotate_signing(store: Store, clock: Clock, grace: float) -> None:
    """What was signed before stays good for `grace` seconds."""
    known = await read_signing(store, await store.get_meta(SECRET) or "")
    await store.commit([new_signing(known, clock.now(), grace), _rotated(clock, {"key": "signing"})])


def _rotated(clock: Clock, detail: dict[str, object]) -> AddAudit:
    return AuditLog(clock, RandomIds())(OPERATOR, "keys.rotated", detail=detail)
