"""A whole gateway for one test: people speak and answer in it, and one sees what comes of it."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from roomful.app import Gateway
from roomful.domain.entities import Principal
from roomful.domain.errors import NotFound
from roomful.domain.events import Announcement, SpaceEvent
from roomful.domain.messages import Message, Part, ToolCallPart
from roomful.domain.runs import Run
from roomful.domain.shape import Json
from roomful.domain.wire import Form
from roomful.testing.seen import Said, Seen
from roomful.web.feeds.following import Following
from roomful.web.views import run_seen

PATIENCE = 10.0
_PAGE = 200
_decode = msgspec.json.Decoder(Message).decode
_Place = tuple[str, str]
"""A space and a member of it."""


@contextlib.asynccontextmanager
async def open_house(
    *,
    agents: Iterable[Mapping[str, Any]] | str | Path = (),
    scripts: Mapping[str, str | Mapping[str, Json]] | None = None,
    tools: Iterable[Callable[..., Any]] = (),
    spaces: Mapping[str, Iterable[str]] | None = None,
    patience: float = PATIENCE,
    **settings: Any,
) -> AsyncGenerator["OpenHouse"]:
    """A gateway whose database lasts as long as this. `spaces` names the members of each; who is no agent
    becomes a person. `patience` is how many seconds runs have until they rest. All else is as in
    `Gateway.opened`."""
    settings = {"database": "sqlite:///:memory:", **settings}
    async with Gateway.opened(agents=agents, scripts=scripts, tools=tools, **settings) as gateway:
        house = OpenHouse(gateway, patience)
        for space_id, members in (spaces or {}).items():
            await house.space(space_id, *members)
        yield house


class OpenHouse:
    """What a member is shown here comes the same way as over HTTP: the same checks, pages and events."""

    def __init__(self, gateway: Gateway, patience: float) -> None:
        self.gateway = gateway
        self._house = gateway.house
        self._patience = patience
        self._told: list[Announcement] = []
        self._looked = asyncio.Event()
        self._driven = 0
        """How often a run was driven to its end or to where it waits."""
        self._house.announcer.also_tell(self._hear)
        self._house.worker.each_tick(self._has_looked)
        self._house.worker.after_each(self._was_driven)

    async def space(self, id: str, *members: str, **more: Any) -> None:
        """As `Gateway.space`, but somebody who is not known becomes a person."""
        for member in members:
            if await self._house.store.entity(member) is None:
                await self.gateway.person(member)
        await self.gateway.space(id, *members, **more)

    async def say(
        self,
        member_id: str,
        space_id: str,
        text: str,
        *,
        mentions: Iterable[str] = (),
        reply_to: str | None = None,
    ) -> Said:
        """Posts, and waits until every run in the house has ended or waits."""
        who = await self._principal(member_id)

        async def post() -> tuple[list[str], str]:
            posted = await self._house.intake.post(
                who, space_id, text=text, mentions=list(mentions), reply_to=reply_to
            )
            return [run.id for run in posted.runs], posted.message.id

        return await self._watch(who, space_id, post)

    async def answer(
        self, member_id: str, card: ToolCallPart, result: Json = None, *, close: bool = False
    ) -> Said:
        """Answers a card, and waits as `say` does. `close` ends a poll."""
        who, run_id = await self._principal(member_id), card.run_id or ""

        async def settle() -> tuple[list[str], str]:
            await self._house.answers.answer(who, run_id, card.tool_call_id, result, close=close)
            return [run_id], ""

        return await self._watch(who, await self._place_of(card, who), settle)

    async def messages(self, space_id: str, *, by: str) -> list[Message]:
        """All that a member can read in a space now."""
        who = await self._principal(by)
        await self._house.access.space(who, space_id, "read")
        return await self._read(space_id, by)

    async def rest(self) -> None:
        """Returns when every run has ended or waits. TimeoutError, which names them, if some do not."""
        worker, store = self._house.worker, self._house.store
        try:
            async with asyncio.timeout(self._patience):
                driven = -1
                while driven != self._driven or not worker.is_idle:
                    await worker.idle()
                    driven = self._driven
                    await self._look()
        except TimeoutError:
            busy = await store.runs(statuses=("queued", "running"))
            runs = ", ".join(f"{run.id} of {run.agent_id!r} is {run.status}" for run in busy)
            raise TimeoutError(
                f"after {self._patience:g} s there are runs that do not rest: {runs}"
            ) from None

    async def _look(self) -> None:
        """The worker looks for what else there is to do; twice, as it may be in the middle of it now."""
        for _ in range(2):
            self._looked.clear()
            self._house.worker.look()
            await self._looked.wait()

    async def _watch(
        self, who: Principal, space_id: str, act: Callable[[], Awaitable[tuple[list[str], str]]]
    ) -> Said:
        """`act` gives the runs to look at, and the message that everybody knows already."""
        await self.rest()
        before = await self._all()
        self._told = []
        run_ids, message_id = await act()
        await self.rest()
        told = self._told
        after = await self._all()
        seen = {
            place: _seen(before.get(place, []), after[place], _heard(told, *place), message_id)
            for place in after
        }
        here = seen.get((space_id, who.entity_id), Seen([], [], []))
        runs = [run_seen(*await self._house.access.run(who, run_id)) for run_id in run_ids]
        return Said(
            here.messages, here.parts, here.events, runs=runs, by_member=seen, member_id=who.entity_id
        )

    async def _all(self) -> dict[_Place, list[Message]]:
        return {
            (space.id, member.entity_id): await self._read(space.id, member.entity_id)
            for space in await self._house.store.all_spaces()
            for member in await self._house.store.members(space.id)
        }

    async def _read(self, space_id: str, viewer: str) -> list[Message]:
        messages: list[Message] = []
        while True:
            after = messages[-1].seq if messages else 0
            page = await self._house.history.page(space_id, viewer, after=after, limit=_PAGE)
            messages += map(_decode, page.messages)
            if not page.has_more or not page.messages:
                return messages

    async def _principal(self, entity_id: str) -> Principal:
        entity = await self._house.store.entity(entity_id)
        if entity is None:
            raise NotFound(f"there is no entity {entity_id!r}")
        return Principal(entity_id=entity.id, kind=entity.kind, token_id="testing")

    async def _place_of(self, card: ToolCallPart, who: Principal) -> str:
        call = await self._house.store.call(card.tool_call_id)
        places = [place.space_id for place in call.places] if call is not None else []
        mine = [place for place in places if await self._house.access.may_read(who, place)]
        return mine[0] if mine else ""

    def _hear(self, announcements: list[Announcement]) -> None:
        self._told += announcements

    async def _has_looked(self) -> None:
        self._looked.set()

    async def _was_driven(self, _: Run) -> None:
        self._driven += 1


def _seen(
    before: Sequence[Message], after: Sequence[Message], events: Sequence[SpaceEvent], message_id: str
) -> Seen:
    known = {message.id: message for message in before}
    known_parts = {part.id: part for message in before for part in message.parts}
    changed = [message for message in after if known.get(message.id) != message]
    parts: list[Part] = [
        part
        for message in changed
        for part in message.parts
        if message.id != message_id and known_parts.get(part.id) != part
    ]
    return Seen(changed, parts, events)


def _heard(told: Sequence[Announcement], space_id: str, member_id: str) -> list[SpaceEvent]:
    member = Following(Principal(entity_id=member_id, kind="human", token_id=""), None, Form.PLAIN)
    return [one.event for one in told if one.space_id == space_id and member.hears(one)]
