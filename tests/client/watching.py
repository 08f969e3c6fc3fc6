"""What tests of the client share: a live space, compared with a page of it."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import msgspec

from roomful import Client
from roomful.client import Happening, LiveSpace
from roomful.domain.answers import Snapshot
from roomful.domain.events import Position, RunChanged, TextDelta
from roomful.domain.runs import ENDED
from tests.http.test_delegation import same
from tests.servers.roomful import PATIENCE, Caller


def run(story: Coroutine[Any, Any, None]) -> None:
    async def within() -> None:
        async with asyncio.timeout(2 * PATIENCE):
            await story

    asyncio.run(within())


def client_of(caller: Caller, **more: Any) -> Client:
    return Client(more.pop("url", caller.house.url), caller.token, **more)


def offset(position: str) -> tuple[str, int]:
    parsed = Position.parse(position)
    assert parsed is not None, position
    return parsed.epoch, parsed.offset


def state(space: LiveSpace) -> Any:
    return msgspec.to_builtins(space.messages())


async def compare(space: LiveSpace, caller: Caller) -> list[Happening]:
    """A page, and the live space brought to just that position, are the same. What happened until then."""
    page = await asyncio.to_thread(
        caller.get, f"/api/spaces/{space.space_id}/messages", params={"limit": 200}
    )
    epoch, last = offset(page["position"])
    happened: list[Happening] = []
    while offset(space.position)[0] != epoch or offset(space.position)[1] < last:
        happened.append(await anext(space))
    assert offset(space.position) == (epoch, last)
    same(state(space), page["messages"])
    return happened


async def until(space: LiveSpace, found: Callable[[Happening], bool]) -> list[Happening]:
    happened: list[Happening] = []
    async for event in space:
        happened.append(event)
        if found(event):
            return happened
    raise AssertionError("it ended")


def over(space: LiveSpace, run_id: str) -> Callable[[Happening], bool]:
    """The run has ended; a view that began anew does not hold it any more."""
    return lambda event: ended(run_id)(event) or (isinstance(event, Snapshot) and run_id not in space.runs)


def ended(run_id: str | None = None) -> Callable[[Happening], bool]:
    def found(event: Happening) -> bool:
        is_run = isinstance(event, RunChanged) and run_id in (None, event.run_id)
        return is_run and isinstance(event, RunChanged) and event.status in ENDED

    return found


def of(kind: type[Any]) -> Callable[[Happening], bool]:
    return lambda event: isinstance(event, kind)


def check_no_gap(events: Sequence[Happening], begun: dict[str, int]) -> None:
    """Every character came once. `begun` is how long each text already was."""
    lengths = dict(begun)
    for event in events:
        if isinstance(event, TextDelta):
            assert lengths.get(event.part_id, 0) == event.offset
            lengths[event.part_id] = event.offset + len(event.delta)
