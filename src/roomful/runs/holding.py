"""Calls that wait at the door of a guarded space: let in when somebody agrees, else a general word there."""

import msgspec

from roomful.domain.messages import ToolCallPart
from roomful.domain.ports import Ids, Store
from roomful.domain.run_changes import SaveCalls
from roomful.domain.runs import Call, copies
from roomful.recall.context import Scene
from roomful.routing.router import StepRouter, Surroundings
from roomful.runs.agents import Equipped
from roomful.runs.past import Past
from roomful.runs.showing import show_part
from roomful.spaces.flow import UNSHOWN, flow_of
from roomful.spaces.voice import Voice

_NOT_LET_IN = ("error", "canceled")


class Holding:
    def __init__(self, store: Store, ids: Ids) -> None:
        self._store = store
        self._ids = ids

    def let_in(self, voice: Voice, agent: Equipped, past: Past, around: Surroundings) -> None:
        """Those that somebody agreed to are shown where they were to go, and go on like any others."""
        agreed = [(at, call) for at, call in enumerate(past.calls) if call.held and call.status == "ready"]
        if not agreed:
            return
        voice.begin_again()
        for at, call in agreed:
            router = StepRouter(call.step, agent.spec, agent.tools, voice, around, self._ids)
            past.calls[at] = router.let_in(call)
        voice.drop_unfinished()

    async def judge(self, voice: Voice, scene: Scene) -> None:
        """What the run knows now is judged wherever it shows itself, and is shown."""
        read, trail, known = voice.run.read_spaces or [], voice.trail, scene.members
        above = trail.space_ids - known.keys() if trail is not None else set[str]()
        judged = [space_id for space_id in above if set(read) - {space_id}]
        spaces = [*scene.spaces, *[await self._store.space(space_id) for space_id in judged]]
        voice.flow = await flow_of(self._store, read, spaces, known, speaks_in=known.keys())
        if trail is not None:
            trail.judge(voice.flow)

    async def tell(self, voice: Voice, past: Past) -> None:
        """Where a run could not show something, people learn that, once, and not what it was."""
        told = {
            where for call in past.calls if call.held and call.held.is_told for where in call.held.space_ids
        }
        for call in past.calls:
            if call.held and not call.held.is_told and call.status in _NOT_LET_IN:
                held = call.held = msgspec.structs.replace(call.held, is_told=True)
                for space_id in dict.fromkeys(held.space_ids):
                    if space_id not in told and await self._store.role(space_id, voice.run.agent_id):
                        told.add(space_id)
                        await show_part(voice, self._part(call), space_id)
                await voice.kept([SaveCalls(copies([call]))])

    def _part(self, call: Call) -> ToolCallPart:
        assert call.held
        return ToolCallPart(
            id=self._ids.new("prt"),
            tool_call_id=call.id,
            tool_name=call.tool_name,
            run_id=call.run_id,
            status="error",
            error=UNSHOWN,
            target_entity_id=call.held.target_entity_id,
        )
