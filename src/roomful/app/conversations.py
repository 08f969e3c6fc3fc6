"""Spaces as conversations of agents outside, wired: what these publish becomes messages, and what happens
is published for them."""

import asyncio
import contextlib
import logging

from roomful.app.others import deployment
from roomful.bus import InMemoryBus, MemoryTopics, RedisTopics
from roomful.domain.envelopes import Topics
from roomful.domain.errors import RoomfulError
from roomful.domain.events import Announcement
from roomful.domain.ports import Store
from roomful.runs.intake import Intake
from roomful.runs.outside.envelopes import Envelopes
from roomful.runs.outside.followed import Followed
from roomful.runs.outside.incoming import Incoming
from roomful.runs.outside.outgoing import Outgoing
from roomful.spaces.access import Access
from roomful.spaces.announcer import GROWTH, Announcer

LAST_SECONDS = 2.0
"""How long a gateway that stops waits for what is still to be sent."""
KEPT_HERE = 1000
"""Messages of each topic in a bus of this process."""

log = logging.getLogger("roomful.outside")


class Conversations:
    """Made on a running event loop. `bus` is that of this process, for agents that live in it; None when
    there is a server for it."""

    def __init__(
        self,
        url: str,
        secret: str,
        *,
        store: Store,
        access: Access,
        announcer: Announcer,
        intake: Intake,
    ) -> None:
        self.bus = InMemoryBus(max_length=KEPT_HERE) if url == "memory:" else None
        self.envelopes = Envelopes(store=store, access=access, intake=intake)
        self._topics: Topics = (
            MemoryTopics(self.bus) if self.bus is not None else RedisTopics(url, deployment(secret))
        )
        self._followed = Followed(store, announcer)
        self._outgoing = Outgoing(self._topics, store=store, followed=self._followed)
        self._incoming = Incoming(
            self._topics, followed=self._followed, envelopes=self.envelopes, outgoing=self._outgoing
        )
        self._tasks: list[asyncio.Task[None]] = []
        announcer.also_tell(self._hear, words_for=self._followed.narrators)

    def start(self) -> None:
        for work in (self._look(), self._incoming.run(), self._outgoing.run()):
            task = asyncio.create_task(work)
            task.add_done_callback(_complain)
            self._tasks.append(task)

    async def close(self) -> None:
        """What is still to be read is read by another gateway, or after the next start."""
        if self._tasks:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._outgoing.sent(), LAST_SECONDS)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._topics.close()

    def _hear(self, announcements: list[Announcement]) -> None:
        if not self._followed.narrators:  # then what grows is nobody's business here
            announcements = [one for one in announcements if not isinstance(one.event, GROWTH)]
            if not announcements:
                return
        self._followed.hear(announcements)
        self._outgoing.hear(announcements)

    async def _look(self) -> None:
        while True:
            try:
                await self._outgoing.look()
            except RoomfulError as error:
                log.warning("agents outside could not be looked for: %s", error.detail)
            await self._followed.wait()


def _complain(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("agents outside are cut off until the next start", exc_info=error)
