"""One step of a model on its way into spaces, without a house around it."""

from collections.abc import Sequence
from typing import Any, cast

from roomful.app.clock import SystemClock
from roomful.bus import MemoryBus
from roomful.domain.agents import AgentSpec, ModelRef
from roomful.domain.changes import AddMessage
from roomful.domain.deltas import ModelDelta
from roomful.domain.events import Announcement
from roomful.domain.grants import Granted
from roomful.domain.ports import Store
from roomful.domain.runs import Lease, Run, Trigger
from roomful.domain.shape import UNSET
from roomful.domain.spaces import Member
from roomful.domain.tools import Client, Echo, RouteRule, TextShape, ToolCallShape, ToolSpec, Visibility
from roomful.routing.router import StepRouter, StepSaid, Surroundings
from roomful.spaces.announcer import Announcer
from roomful.spaces.voice import Voice
from tests.routing.second_opinion import ACTIVE, COMPOSITE, DISPLAY, SPACES, TEXT, has_member
from tests.web.visiting import CountedIds

PEOPLE = [Member(entity_id=one, name=one.title(), kind="human", role="member") for one in ("ann", "bob")]


def _tool(name: str, visibility: Visibility, route: RouteRule, **more: Any) -> ToolSpec:
    schema = {"type": "object"}
    more = {"executor": Echo(), **more}
    return ToolSpec(
        name=name, description="", input_schema=schema, visibility=visibility, route=route, **more
    )


TOOLS = {
    tool.name: tool
    for tool in (
        _tool("full", Visibility.FULL, COMPOSITE),
        _tool("result", Visibility.RESULT, COMPOSITE),
        _tool("status", Visibility.STATUS, COMPOSITE),
        _tool("hidden", Visibility.HIDDEN, ACTIVE),
        _tool("draw", Visibility.FULL, DISPLAY),
        _tool("card", Visibility.FULL, COMPOSITE, executor=Client(), shape=ToolCallShape(component="Card")),
        _tool("say", Visibility.FULL, TEXT, shape=TextShape(from_arg="text")),
    )
}
AGENT = AgentSpec(
    id="shop",
    name="Shop",
    model=ModelRef("scripted:x"),
    instructions="",
    dialect="composite",
    tools=tuple(TOOLS.values()),
)


class Memory:
    """A store that keeps nothing and agrees to everything."""

    def __init__(self) -> None:
        self._seq = 0

    async def commit(self, changes: Sequence[Any], then: Any = None, *, after: Any = None) -> list[Any]:
        results = [self._result(change) for change in changes]
        if then is not None:
            then(results)
        return results

    def _result(self, change: Any) -> Any:
        if not isinstance(change, AddMessage):
            return None
        self._seq += 1
        return self._seq


async def told(
    deltas: Sequence[ModelDelta], active: str | None = "space-1"
) -> tuple[StepSaid, list[Announcement]]:
    """What the step comes to, and what was announced of it."""
    clock, ids = SystemClock(), CountedIds()
    announcer = Announcer(MemoryBus(clock, lambda: "epoch"))
    heard: list[Announcement] = []
    announcer.also_tell(heard.extend)
    run = Run(
        id="run_1",
        agent_id="shop",
        status="running",
        trigger=Trigger(type="message"),
        root_run_id="run_1",
        created_at=clock.iso(),
        active_space_id=active or UNSET,
    )
    voice = Voice(
        run, Lease("run_1", "me", 1), store=cast(Store, Memory()), announcer=announcer, clock=clock, ids=ids
    )
    around = Surroundings(
        member_of=SPACES, members=lambda space: PEOPLE, has_member=has_member, granted=Granted(())
    )
    router = StepRouter(1, AGENT, TOOLS, voice, around, ids)
    for delta in deltas:
        router.feed([delta])
    said = router.finish()
    await voice.settled()
    voice.abandon()
    return said, heard
