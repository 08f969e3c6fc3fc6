"""The demo world: people, spaces and agents that show what Roomful does, without a key."""

import contextlib
import dataclasses
import hashlib
import hmac
from pathlib import Path

import msgspec
import yaml

from roomful.app.configs import Configs, load_agents
from roomful.domain.changes import AddEntity, AddSpace, AddToken, Change, PutMember
from roomful.domain.entities import Entity, Token
from roomful.domain.errors import Conflict
from roomful.domain.ports import Store
from roomful.domain.spaces import Role, Space
from roomful.web import House

SECRET = "demo_secret"


class Person(msgspec.Struct):
    id: str
    name: str


class Place(msgspec.Struct, rename="camel"):
    id: str
    name: str
    members: dict[str, Role]
    admin_agent_id: str | msgspec.UnsetType = msgspec.UNSET


class World(msgspec.Struct):
    people: list[Person]
    spaces: list[Place]


async def build_demo(house: House, configs: Configs) -> House:
    """Makes what is not there yet; what people did in the demo stays. A Conflict is another gateway that
    makes the same at the same moment, and whole."""
    store, folder = house.store, Path(__file__).parent
    world = msgspec.convert(yaml.safe_load((folder / "world.yaml").read_text()), World)
    now = house.clock.iso()
    await load_agents(store, house.clock, configs, folder / "agents")
    await store.set_meta(SECRET, house.ids.secret())
    secret = await store.get_meta(SECRET) or ""
    people: list[dict[str, str]] = []
    for person in world.people:
        token = "demo_" + hmac.new(secret.encode(), person.id.encode(), hashlib.sha256).hexdigest()
        await _add_person(store, person, token, now)
        people.append({"id": person.id, "name": person.name, "token": token})
    for place in world.spaces:
        if await store.space(place.id) is None:
            changes: list[Change] = [AddSpace(_space(place, now))]
            changes += [PutMember(place.id, who, role) for who, role in place.members.items()]
            with contextlib.suppress(Conflict):
                await store.commit(changes)
    return dataclasses.replace(house, demo_people=tuple(people))


def _space(place: Place, now: str) -> Space:
    return Space(id=place.id, name=place.name, created_at=now, admin_agent_id=place.admin_agent_id)


async def _add_person(store: Store, person: Person, token: str, now: str) -> None:
    changes: list[Change] = []
    if await store.entity(person.id) is None:
        changes.append(AddEntity(Entity(id=person.id, name=person.name, kind="human", created_at=now)))
    digest = hashlib.sha256(token.encode()).digest()
    if await store.principal(digest) is None:
        made = Token(id=f"tok_demo_{person.id}", entity_id=person.id, created_at=now)
        changes.append(AddToken(made, digest))
    if changes:
        with contextlib.suppress(Conflict):
            await store.commit(changes)
