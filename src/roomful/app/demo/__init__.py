"""The demo world: people, spaces and agents that show what Roomful does, without a key."""

import contextlib
import dataclasses
import hashlib
import hmac
from collections.abc import Sequence

from roomful.app.configs import Configs, load_agents
from roomful.app.demo.world import AGENTS, Person, Place, read_world
from roomful.domain.changes import AddEntity, AddSpace, AddToken, Change, PutMember
from roomful.domain.entities import Entity, Token
from roomful.domain.errors import Conflict
from roomful.domain.ports import Store
from roomful.domain.shape import encode_json
from roomful.domain.spaces import Space
from roomful.web import House
from roomful.web.auth import digest_of

SECRET = "demo_secret"
FURNISHED = "demo_furnished"


async def build_demo(house: House, configs: Configs) -> House:
    """Makes what is not there yet; what people did in the demo stays. A Conflict is another gateway that
    makes the same at the same moment, and whole."""
    store, world = house.store, read_world()
    now = house.clock.iso()
    await store.set_meta(SECRET, house.ids.secret())
    secret = await store.get_meta(SECRET) or ""
    people: list[dict[str, str]] = []
    for person in world.people:
        token = "demo_" + hmac.new(secret.encode(), person.id.encode(), hashlib.sha256).hexdigest()
        await _add_person(store, person, token, now)
        people.append({"id": person.id, "name": person.name, "token": token, "about": person.about})
    await load_agents(house, configs, AGENTS, owner_id=world.owner)
    await _furnish(store, world.spaces, now)
    return dataclasses.replace(house, demo_people=tuple(people), demo_stories=tuple(world.stories))


async def _furnish(store: Store, places: Sequence[Place], now: str) -> None:
    """Once for each edition of the world: whoever left a space since does not come back by a restart."""
    edition = f"{FURNISHED}_{hashlib.sha256(encode_json(places)).hexdigest()[:16]}"
    if await store.get_meta(edition) is not None:
        return
    for place in places:
        is_new = await store.space(place.id) is None
        known = {member.entity_id for member in await store.members(place.id)}
        changes: list[Change] = [AddSpace(_space(place, now))] if is_new else []
        changes += [PutMember(place.id, who, role) for who, role in place.members.items() if who not in known]
        if changes:
            with contextlib.suppress(Conflict):
                await store.commit(changes)
    await store.set_meta(edition, now)


def _space(place: Place, now: str) -> Space:
    return Space(id=place.id, name=place.name, created_at=now, admin_agent_id=place.admin_agent_id)


async def _add_person(store: Store, person: Person, token: str, now: str) -> None:
    changes: list[Change] = []
    if await store.entity(person.id) is None:
        changes.append(AddEntity(Entity(id=person.id, name=person.name, kind="human", created_at=now)))
    digest = digest_of(token)
    if await store.principal(digest) is None:
        made = Token(id=f"tok_demo_{person.id}", entity_id=person.id, created_at=now)
        changes.append(AddToken(made, digest))
    if changes:
        with contextlib.suppress(Conflict):
            await store.commit(changes)
