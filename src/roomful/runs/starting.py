"""How every run begins: it is made with its place in the chain of runs, stored by whoever asked for it, and
begins to work when that is done."""

from typing import Literal

import msgspec

from roomful.domain.agents import Agent
from roomful.domain.changes import Change
from roomful.domain.events import Announcement
from roomful.domain.news import Look
from roomful.domain.ports import Clock, Ids
from roomful.domain.run_changes import AddRun
from roomful.domain.runs import Lease, Run, Trigger
from roomful.domain.shape import UNSET, Unset
from roomful.domain.tracing import UNTRACED, Tracer
from roomful.runs.worker import Worker
from roomful.spaces.announcer import Announcer
from roomful.spaces.run_news import run_began, run_event


class NewRun(msgspec.Struct, frozen=True):
    """`change` is to be stored; `run` is the run itself, for whoever drives it."""

    run: Run
    lease: Lease | None

    @property
    def stored(self) -> Run:
        """As it is now, whatever whoever drives it does with it."""
        return msgspec.structs.replace(self.run, shown_in=[*self.run.shown_in])

    @property
    def change(self) -> Change:
        return AddRun(run=self.stored, lease=self.lease)


class Starting:
    def __init__(
        self, *, worker: Worker, announcer: Announcer, clock: Clock, ids: Ids, tracer: Tracer = UNTRACED
    ) -> None:
        self._worker = worker
        self._announcer = announcer
        self._clock = clock
        self._ids = ids
        self._tracer = tracer

    def new(self, agent: Agent, trigger: Trigger, *, by: Run | None = None) -> NewRun:
        """A run that is about to be stored. `by` is the run that led to it, for it belongs to the same root
        and lies one deeper. An agent whose runs take turns begins it when the others are done."""
        in_turn = agent.config.get("onBusy") == "queue"
        return self._made(agent.id, trigger, by=by, in_turn=in_turn)

    def child(
        self, agent_id: str, trigger: Trigger, by: Run, *, call_id: str, asks_in: str | Unset
    ) -> NewRun:
        """A run that a call of another waits for. It takes no turns: its caller might be the one it waits
        for."""
        new = self._made(agent_id, trigger, by=by, in_turn=False)
        new.run.parent_call_id = call_id
        new.run.asks_in = asks_in
        return new

    def _made(self, agent_id: str, trigger: Trigger, *, by: Run | None, in_turn: bool) -> NewRun:
        run_id, space_id = self._ids.new("run"), trigger.space_id
        lease = None if in_turn else self._worker.reserve(run_id)
        status: Literal["queued", "running"] = "queued" if lease is None else "running"
        run = Run(
            id=run_id,
            agent_id=agent_id,
            status=status,
            trigger=trigger,
            root_run_id=by.root_run_id if by is not None else run_id,
            created_at=self._clock.iso(),
            active_space_id=space_id,
            shown_in=[space_id] if space_id else [],
            depth=by.depth + 1 if by is not None else 0,
            started_by=by.agent_id if by is not None else UNSET,
            in_turn=in_turn or UNSET,
            trace=self._tracer.here() or UNSET,
        )
        return NewRun(run, lease)

    def news(self, new: NewRun) -> list[Announcement]:
        """What the space where it was triggered hears of it."""
        run = new.run
        if not run.shown_in:
            return []
        space_id = run.shown_in[0]
        if run.in_turn:
            return [Announcement(event=run_event(run, space_id), space_id=space_id, run_id=run.id)]
        return run_began(run, space_id)

    def began(self, *runs: NewRun) -> None:
        """They are stored: their spaces are told, and they start."""
        for new in runs:
            self._announcer(self.news(new))
            if new.lease is not None:
                self._worker.launch(new.run, new.lease)
            elif new.run.in_turn:
                self._worker.look()
            else:
                self._worker.tell_others(Look())
