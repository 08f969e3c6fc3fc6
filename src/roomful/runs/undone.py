"""What a run that fails leaves undone: nothing of it goes on, or is shown as if it did."""

from collections.abc import Awaitable, Callable

from roomful.domain.errors import Conflict
from roomful.domain.ports import Store
from roomful.domain.run_changes import ExpectCall, SaveCalls
from roomful.domain.runs import Call, Run, copies
from roomful.runs.calls import Calls, blocks
from roomful.spaces.voice import Voice


async def give_up_rest(
    voice: Voice, store: Store, calls: Calls, stop: Callable[[str], Awaitable[Run]]
) -> None:
    """First the runs that it called. A card that somebody answers meanwhile stays answered."""
    waiting = [call.id for call in await _undone(voice, store) if call.status == "waiting"]
    for child in await store.children(waiting):
        await stop(child.id)
    while left := await _undone(voice, store):
        expected = [ExpectCall(call.id) for call in left if call.status == "waiting"]
        for call in left:
            call.status = "unknown" if call.status == "running" else "canceled"
            call.settled(voice.iso())
        try:
            await voice.try_kept([*expected, SaveCalls(copies(left))], lambda: (), lambda _: None)
        except Conflict:
            continue
        await calls.give_up(voice, left)


async def _undone(voice: Voice, store: Store) -> list[Call]:
    made = await store.calls(voice.run.id)
    return [call for call in made if call.status in ("ready", "running") or blocks(call)]
