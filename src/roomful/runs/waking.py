"""How a message reaches an agent: it starts a run, waits for its turn, or is handed to the run at work. It is
never dropped: what a run was handed and did not get to starts another one."""

import msgspec

from roomful.domain.agents import Agent
from roomful.domain.changes import Change
from roomful.domain.messages import Woke
from roomful.domain.ports import Clock, Store
from roomful.domain.run_changes import Hand
from roomful.domain.runs import Handed, Run, Trigger
from roomful.domain.shape import UNSET
from roomful.runs.starting import NewRun, Starting


class Woken(msgspec.Struct, frozen=True):
    """One agent, woken by one message. Stored by whoever stores the message."""

    run: Run
    way: NewRun | Handed
    """How the message reaches it: the run is new, or was at work."""
    note: Woke | None = None
    """What the message says about it, when it is not a run that starts at once."""

    @property
    def new(self) -> NewRun | None:
        return self.way if isinstance(self.way, NewRun) else None

    @property
    def change(self) -> Change:
        return self.way.change if isinstance(self.way, NewRun) else Hand(self.way)


class Waking:
    def __init__(self, *, store: Store, starting: Starting, clock: Clock) -> None:
        self._store = store
        self._starting = starting
        self._clock = clock

    async def wake(self, agent: Agent, trigger: Trigger, *, by: Run | None = None) -> Woken:
        """`by` is the run whose message it is."""
        busy = agent.config.get("onBusy")
        if busy == "steer" and (run := await self._at_work(agent.id, trigger, by)) is not None:
            return self._handed(run, trigger)
        new = self._starting.new(agent, trigger, by=by)
        note = None
        if busy == "queue" and await self._has_turns_before(agent.id):
            note = Woke(run_id=new.run.id, agent_id=agent.id, how="queued")
        return Woken(run=new.run, way=new, note=note)

    def began(self, *woken: Woken) -> None:
        """They are stored."""
        self._starting.began(*(one.new for one in woken if one.new is not None))

    def _handed(self, run: Run, trigger: Trigger) -> Woken:
        assert trigger.space_id
        assert trigger.message_id
        handed = Handed(
            run_id=run.id,
            message_id=trigger.message_id,
            space_id=trigger.space_id,
            entity_id=trigger.entity_id or "",
            at=self._clock.iso(),
        )
        note = Woke(run_id=run.id, agent_id=run.agent_id, how="steered")
        return Woken(run=run, way=handed, note=note)

    async def _at_work(self, agent_id: str, trigger: Trigger, by: Run | None) -> Run | None:
        """The run that takes what is said in this space: one that was started here and waits for nobody."""
        if trigger.space_id is UNSET or trigger.message_id is UNSET:
            return None
        runs = await self._store.runs(
            agent_id=agent_id, space_id=trigger.space_id, statuses=("queued", "running"), limit=10
        )
        here = [
            run
            for run in runs
            if run.trigger.space_id == trigger.space_id
            and run.parent_call_id is UNSET
            and (by is None or run.id != by.id)
        ]
        return here[-1] if here else None

    async def _has_turns_before(self, agent_id: str) -> bool:
        runs = await self._store.runs(agent_id=agent_id, statuses=("queued", "running"), limit=50)
        return any(run.in_turn for run in runs)
