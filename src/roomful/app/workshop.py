"""What a run's life is made of, wired: how it begins, works, waits, is answered and leads to others."""

from collections.abc import Callable, Mapping
from typing import Protocol

from roomful.app.configs import Configs
from roomful.domain.entities import Principal
from roomful.domain.ports import Clock, Executor, Ids, Models, Store
from roomful.domain.tools import ToolSpec
from roomful.runs.agents import Agents, MoreTools
from roomful.runs.answers import Answers
from roomful.runs.bounds import Bounds
from roomful.runs.calls import Calls
from roomful.runs.delegating import Children, Delegating
from roomful.runs.hopeless import Hopeless
from roomful.runs.inspecting import Inspecting
from roomful.runs.intake import Intake
from roomful.runs.leftover import Leftover
from roomful.runs.loop import RunLoop
from roomful.runs.plans import Plans
from roomful.runs.posting import Posting
from roomful.runs.replies import Replies
from roomful.runs.results import Results
from roomful.runs.settling import Settling
from roomful.runs.starting import Starting
from roomful.runs.waking import Waking
from roomful.runs.watching import Watching
from roomful.runs.worker import Worker
from roomful.spaces.access import Access
from roomful.spaces.announcer import Announcer
from roomful.spaces.auditing import AuditLog
from roomful.spaces.blobs import Blobs
from roomful.spaces.history import History


class Tools(Protocol):
    """What executes tools, by their kind, and what is known of them beyond the configurations."""

    @property
    def executors(self) -> Mapping[type, Executor]: ...
    @property
    def more_tools(self) -> MoreTools: ...
    @property
    def complete(self) -> Callable[[ToolSpec], ToolSpec]: ...


class Workshop:
    """`intake` is where runs come from outside, `answers` what they waited for, `starting` how each begins,
    `inspecting` how its owner looks into one, `agents` whose they are; the worker is told what
    to drive and what to look after."""

    def __init__(
        self,
        tools: Tools,
        *,
        store: Store,
        access: Access,
        announcer: Announcer,
        history: History,
        blobs: Blobs,
        configs: Configs,
        models: Models,
        worker: Worker,
        clock: Clock,
        ids: Ids,
        watching: Watching | None = None,
        admit: Callable[[Principal, str], None] = lambda principal, space_id: None,
    ) -> None:
        self.agents = agents = Agents(store, configs.ready, tools.more_tools, tools.complete)
        watching = watching or Watching()
        results = Results(blobs)
        bounds = Bounds(store, clock, ids)
        self.starting = starting = Starting(
            worker=worker, announcer=announcer, clock=clock, ids=ids, tracer=watching.tracer
        )
        waking = Waking(store=store, starting=starting, clock=clock)
        replies = Replies(store=store, worker=worker, announcer=announcer, clock=clock)
        posting = Posting(store=store, waking=waking, replies=replies, bounds=bounds)
        delegating = Delegating(store=store, starting=starting, bounds=bounds)
        calls = Calls(
            tools.executors,
            results=results,
            posting=posting,
            delegating=delegating,
            ids=ids,
            watching=watching,
        )
        loop = RunLoop(
            store=store, agents=agents, models=models, history=history, calls=calls, posting=posting,
            starting=starting, bounds=bounds, stop=worker.cancel, ids=ids, watching=watching,
        )  # fmt: skip
        settling = Settling(
            store=store, worker=worker, announcer=announcer, starting=starting, results=results, clock=clock
        )
        children = Children(store=store, settling=settling, worker=worker, clock=clock)
        leftover = Leftover(
            store=store,
            agents=agents,
            waking=waking,
            bounds=bounds,
            announcer=announcer,
            clock=clock,
            ids=ids,
        )
        self.answers = Answers(
            store=store,
            agents=agents,
            settling=settling,
            children=children,
            clock=clock,
            ids=ids,
            audit=AuditLog(clock, ids),
        )
        self.intake = Intake(
            store=store, access=access, announcer=announcer, starting=starting, waking=waking,
            replies=replies, bounds=bounds, clock=clock, ids=ids, admit=admit,
        )  # fmt: skip
        self.inspecting = Inspecting(store=store, agents=agents, bounds=bounds, worker=worker)
        worker.use(watching.driven(loop.drive))
        hopeless = Hopeless(store=store, settling=settling)
        for hook in (children.ended, leftover.hand_on_from, hopeless.look):
            worker.after_each(hook)
        plans = Plans(store=store, starting=starting, clock=clock)
        chores = (hopeless.look_once, children.settle_left, leftover.hand_on, self.answers.expire_overdue)
        for chore in (*chores, plans.fire_due):
            worker.each_tick(chore)
