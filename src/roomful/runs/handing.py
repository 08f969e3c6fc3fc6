"""Messages that a run is handed while it works: it has them from its next step on, for good."""

import msgspec

from roomful.domain.errors import Conflict
from roomful.domain.ports import Store
from roomful.domain.run_changes import TakeHanded
from roomful.domain.runs import MOVED, Handed
from roomful.domain.shape import UNSET
from roomful.runs.past import Past
from roomful.spaces.voice import Voice


class Handing:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def take(self, voice: Voice, past: Past) -> None:
        """Before a step: what came since the last one, and after a pause also what came before it."""
        while True:
            handed = [one for one in await self._store.handed(voice.run.id) if one.step != MOVED]
            fresh = [msgspec.structs.replace(one, step=past.next_step) for one in handed if one.step is UNSET]
            try:
                if fresh:
                    await voice.try_kept([TakeHanded(tuple(fresh))], lambda: (), lambda _: None)
            except Conflict:
                continue
            break
        known = {one.message_id: one for one in [*handed, *fresh]}
        past.handed = {}
        for one in known.values():
            assert one.step is not UNSET
            past.handed.setdefault(one.step, []).append(await self._in_words(one))

    async def _in_words(self, one: Handed) -> str:
        message = await self._store.message(one.space_id, one.message_id)
        text = message.text if message is not None else "(this message was deleted)"
        return f"While you were at work, {one.entity_id} said in {one.space_id}: {text}"
