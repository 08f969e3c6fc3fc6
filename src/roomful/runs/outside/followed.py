"""The spaces that an agent outside is a member of, as of a moment ago."""

import asyncio
import contextlib
from collections.abc import Iterable

from roomful.domain.envelopes import chat_topic
from roomful.domain.events import Announcement, MemberJoined, MemberLeft
from roomful.domain.ports import Store
from roomful.spaces.announcer import Announcer
from roomful.spaces.narrating import Narrator

LOOK_SECONDS = 1.0
_MOVES = (MemberJoined, MemberLeft)


class Followed:
    """Somebody who joins or leaves here is noticed at once; what other gateways do, within a second."""

    def __init__(self, store: Store, announcer: Announcer) -> None:
        self._store = store
        self._announcer = announcer
        self._stale = asyncio.Event()
        self._is_any = asyncio.Event()
        self.narrators: dict[str, Narrator] = {}

    @property
    def topics(self) -> list[str]:
        return [chat_topic(space_id) for space_id in self.narrators]

    def hear(self, announcements: Iterable[Announcement]) -> None:
        for announcement in announcements:
            event = announcement.event
            if isinstance(event, _MOVES) and event.member.kind == "agent":
                self._stale.set()

    async def any(self) -> None:
        """Returns when there is a space to follow."""
        await self._is_any.wait()

    async def wait(self) -> None:
        """Returns when it is time to look again."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stale.wait(), LOOK_SECONDS)

    async def look(self) -> None:
        self._stale.clear()
        agents: dict[str, list[str]] = {}
        for space_id, agent_id in await self._store.outside_agents():
            agents.setdefault(space_id, []).append(agent_id)
        for space_id in self.narrators.keys() - agents.keys():
            del self.narrators[space_id]
        for space_id, agent_ids in agents.items():
            if space_id not in self.narrators:
                members = await self._store.members(space_id)
                growing = self._announcer.growing(space_id)
                self.narrators[space_id] = Narrator(space_id, members, growing.values())
            self.narrators[space_id].know_agents(agent_ids)
        if self.narrators:
            self._is_any.set()
        else:
            self._is_any.clear()
