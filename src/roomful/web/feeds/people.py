"""Those who follow all their spaces at once: which spaces these are, and one channel that joins them."""

import asyncio

from roomful.spaces.announcer import person_channel, space_channel
from roomful.web.house import House

GRACE_SECONDS = 60.0
"""How long a person's channel is kept going for somebody who comes back."""


class Person:
    """`spaces` is always right: whoever joins or leaves is told of here in the step that announces it."""

    def __init__(self, entity_id: str, generation: str) -> None:
        self.entity_id = entity_id
        self.generation = generation
        """Part of every position: after a time without a reader, older positions are unknown."""
        self.channel = person_channel(entity_id)
        self.spaces: frozenset[str] = frozenset()
        self.moves = 0
        """How often this person came into a space or left one."""
        self.loaded: asyncio.Task[None] | None = None
        self.readers = 0
        self.leaving: asyncio.TimerHandle | None = None


class People:
    def __init__(self, house: House) -> None:
        self._house = house
        self._people: dict[str, Person] = {}

    async def follow(self, entity_id: str) -> Person:
        """Counts one more reader; every call needs its `unfollow`."""
        person = self._people.get(entity_id)
        if person is None:
            person = self._people[entity_id] = Person(entity_id, self._house.ids.new("at")[-8:])
        person.readers += 1
        if person.leaving is not None:
            person.leaving.cancel()
            person.leaving = None
        if person.loaded is None or person.loaded.done():
            person.loaded = asyncio.create_task(self._load(person))
        try:
            await asyncio.shield(person.loaded)
        except BaseException:
            person.loaded = None
            self.unfollow(person)
            raise
        return person

    def unfollow(self, person: Person) -> None:
        person.readers -= 1
        if person.readers == 0:
            loop = asyncio.get_running_loop()
            person.leaving = loop.call_later(GRACE_SECONDS, self._forget, person)

    def joined(self, entity_id: str, space_id: str) -> None:
        """To be called before the news are announced, so that the person hears them too."""
        if (person := self._people.get(entity_id)) is not None:
            person.moves += 1
            person.spaces |= {space_id}
            self._house.bus.relay(space_channel(space_id), person.channel)

    def joined_elsewhere(self, entity_id: str, space_id: str) -> None:
        """Whoever came into a space by another process begins anew: the news may not have come here."""
        if (person := self._people.get(entity_id)) is not None:
            self.joined(entity_id, space_id)
            self._house.bus.renew([person.channel])

    def left(self, entity_id: str, space_id: str) -> None:
        """To be called after the news were announced: they are the last that the person hears of it."""
        if (person := self._people.get(entity_id)) is not None:
            person.moves += 1
            person.spaces -= {space_id}
            self._house.bus.end_relay(space_channel(space_id), person.channel)

    async def look_again(self, entity_id: str) -> None:
        """Whoever left a space by another process may have come back by this one before that was heard."""
        if (person := self._people.get(entity_id)) is not None and await self.refresh(person):
            self._house.bus.renew([person.channel])

    async def refresh(self, person: Person) -> bool:
        """Whether the person is in other spaces than was known here."""
        before = person.spaces
        await self._load(person)
        return person.spaces != before

    async def refresh_all(self) -> None:
        """What happened in other processes may not have been told."""
        for person in list(self._people.values()):
            if await self.refresh(person):
                self._house.bus.renew([person.channel])

    async def _load(self, person: Person) -> None:
        """Reads until nothing changed while it read."""
        while True:
            moves = person.moves
            mine = await self._house.store.my_spaces(person.entity_id)
            if moves == person.moves:
                break
        now = [each.space.id for each in mine]
        for space_id in person.spaces.difference(now):
            self._house.bus.end_relay(space_channel(space_id), person.channel)
        person.spaces = frozenset(now)
        for space_id in now:
            self._house.bus.relay(space_channel(space_id), person.channel)
        await asyncio.gather(*(self._house.bus.follows(space_channel(id)) for id in now))

    def _forget(self, person: Person) -> None:
        for space_id in person.spaces:
            self._house.bus.end_relay(space_channel(space_id), person.channel)
        del self._people[person.entity_id]
