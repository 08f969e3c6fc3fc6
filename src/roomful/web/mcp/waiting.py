"""Waiting for runs: until each has ended or a person has to do something, or the time is up."""

import asyncio
from collections.abc import Sequence

from roomful.domain.entities import Principal
from roomful.domain.errors import Unauthorized
from roomful.domain.events import (
    Announcement,
    CallCompleted,
    CallFailed,
    CallReady,
    CutReason,
    MemberLeft,
    RunChanged,
    TextEnded,
)
from roomful.domain.ports import Subscription
from roomful.domain.runs import WAITING, Run
from roomful.spaces.announcer import space_channel
from roomful.web.feeds.following import viewer_of
from roomful.web.mcp.tool import Guest, Tell

LOOK_SECONDS = 15.0
"""How often the runs are looked at though nothing was heard of them."""


class Waiting:
    """An open stream like any other to the house: it is counted, and ends when the token does. What is heard
    in the space says when to look; the record says how the runs are."""

    def __init__(self, guest: Guest, space_id: str, run_ids: Sequence[str], tell: Tell) -> None:
        assert guest.credential is not None, "whoever waits has a token"
        self.digest = guest.credential.digest
        self.space_id = space_id
        self._guest = guest
        self._house = guest.house
        self._run_ids = run_ids
        self._tell = tell
        self._subscription: Subscription | None = None
        self._ended: CutReason | None = None

    @property
    def principal(self) -> Principal:
        return self._guest.principal

    def end(self, reason: CutReason) -> None:
        self._ended = reason
        if self._subscription is not None:
            self._subscription.close(reason)

    async def rest(self, seconds: float) -> bool:
        """Whether all of them came to rest. Not when the time is up, nor when this gateway is to stop."""
        readers = self._guest.desk.readers
        readers.admit(self)
        try:
            return await self._rest(asyncio.get_running_loop().time() + seconds)
        finally:
            if self._subscription is not None:
                self._subscription.close()
            readers.dismiss(self)

    async def _rest(self, until: float) -> bool:
        loop = asyncio.get_running_loop()
        while True:
            subscription = await self._follow()
            if await self._all_rest():
                return True
            if await self._heard(subscription, min(until, loop.time() + LOOK_SECONDS)):
                continue
            if self._ended == "revoked":
                await self._check_place()
                raise Unauthorized("this token is not valid, or not any more")
            if self._ended or subscription.cut == "draining" or loop.time() >= until:
                return False

    async def _follow(self) -> Subscription:
        """Another one when the last was cut: nothing is lost by that, since the record is read next."""
        if self._subscription is None or self._subscription.cut:
            channel = space_channel(self.space_id)
            await self._house.bus.follows(channel)
            found = self._house.bus.subscribe(channel, self._house.bus.position(channel))
            assert found is not None, "this is where the channel stands"
            self._subscription = found
        return self._subscription

    async def _heard(self, subscription: Subscription, until: float) -> bool:
        """Whether something came by which runs may have come to rest."""
        loop = asyncio.get_running_loop()
        while (left := until - loop.time()) > 0 and not self._ended and not subscription.cut:
            if await subscription.wait(left):
                heard = [entry.announcement for entry in subscription.take()]
                for announcement in heard:
                    self._narrate(announcement)
                if any(isinstance(one.event, RunChanged | MemberLeft) for one in heard):
                    return True
        return False

    async def _check_place(self) -> None:
        await self._house.access.space(self.principal, self.space_id, "read")

    async def _all_rest(self) -> bool:
        await self._check_place()
        for run_id in self._run_ids:
            run = await self._house.store.run(run_id)
            if run is not None and not await self._rests(run):
                return False
        return True

    async def _rests(self, run: Run) -> bool:
        if run.ended or _asks_people(run):
            return True
        below = await self._house.store.runs_of_root(run.root_run_id) if run.status in WAITING else []
        return any(map(_asks_people, below))

    def _narrate(self, announcement: Announcement) -> None:
        if announcement.run_id not in self._run_ids:
            return
        if announcement.audience not in (None, viewer_of(self.principal)):
            return
        match announcement.event:
            case RunChanged() as event:
                self._tell(f"{event.entity_id} is {event.status}")
            case CallReady() as event:
                self._tell(f"{event.tool_name} was called")
            case CallCompleted() as event:
                self._tell(f"{event.tool_name} is complete")
            case CallFailed() as event:
                self._tell(f"{event.tool_name} failed")
            case TextEnded():
                self._tell("something was said")
            case _:
                pass


def _asks_people(run: Run) -> bool:
    return run.status in WAITING and any(call.asks_people for call in run.pending_tool_calls)
