"""How a run is stopped for good: it is taken from whoever drives it, and ends. If the gateway stops in
between, whoever takes up the run goes on with this."""

import logging
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from roomful.domain.changes import Change
from roomful.domain.errors import Conflict
from roomful.domain.ports import Store
from roomful.domain.run_changes import Claimed, ExpectCall, ExpectStatus, SaveCalls, SaveRun, TakeOver
from roomful.domain.runs import ACTIVE, SETTLED, Run, RunError, copies
from roomful.domain.shape import UNSET, Unset
from roomful.spaces.trails import show_trees
from roomful.spaces.voice import Voice

log = logging.getLogger("roomful.runs")


class Canceling:
    def __init__(self, store: Store, *, owner: str, cancel: Callable[[str], Awaitable[Run]]) -> None:
        """`owner` takes the runs; `cancel` stops those that they called."""
        self._store = store
        self._owner = owner
        self._cancel = cancel

    async def take(self, run_id: str, why: RunError | Unset, also: Sequence[Change]) -> Claimed | None:
        """The run is being stopped from now on, whoever has driven it. None when it has ended."""
        expect = ExpectStatus(run_id=run_id, statuses=ACTIVE)
        try:
            [_, taken, *_] = await self._store.commit([expect, TakeOver(run_id, self._owner, why), *also])
        except Conflict:
            return None
        return taken

    async def end(self, voice: Voice, why: RunError | Unset, also: Sequence[Change] = ()) -> None:
        """First what it waits for, so that nothing wakes it up again; then those it called; then itself. A
        card that somebody answers meanwhile stays answered. The calls that it made last may be on their way
        to the store, where they are looked for."""
        if not voice.is_taken_up:
            await voice.take_up()
            voice.catch_readers_up()
        await voice.settled()
        while True:
            try:
                return await self._end(voice, why, also)
            except Conflict:
                log.info("something that run %s waits for came while it was canceled", voice.run.id)

    async def _end(self, voice: Voice, why: RunError | Unset, also: Sequence[Change]) -> None:
        made = await self._store.calls(voice.run.id)
        called = [call for call in made if call.waits_for == "child_run"]
        left = [call for call in made if call.status not in SETTLED]
        canceled = [msgspec.structs.replace(call, status="canceled").settled(voice.iso()) for call in left]
        changes: list[Change] = [ExpectCall(call.id) for call in left if call.status == "waiting"]
        changes += [SaveCalls(copies(canceled))] if canceled else []
        run = voice.run
        run.status, run.is_canceling, run.error, run.pending_tool_calls = "running", True, why, []
        if called:
            await voice.try_kept(
                [*changes, SaveRun(msgspec.structs.replace(run)), *also], lambda: (), lambda _: None
            )
            changes, also = [], ()
            for child in await self._store.children([call.id for call in called]):
                await self._cancel(child.id)
            show_trees(voice, called, await self._store.descent([call.id for call in called]))
        inside = [news for call in canceled for news in voice.trail.call(call)] if voice.trail else []
        run.is_canceling = UNSET
        await voice.finish("canceled", [*changes, *also], inside)
