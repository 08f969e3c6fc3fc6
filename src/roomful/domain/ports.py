"""What the thinking rooms ask of the outside. Each port is small and says what it promises."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import msgspec

from roomful.domain.agents import Agent, ModelRef
from roomful.domain.arguments import Growth
from roomful.domain.audit import Audited, AuditQuery
from roomful.domain.blobs import Blob
from roomful.domain.changes import Change
from roomful.domain.deltas import ModelDelta, ModelRequest
from roomful.domain.entities import Entity, Principal, Token
from roomful.domain.events import Announcement, CutReason, Position
from roomful.domain.goals import Goal
from roomful.domain.grants import Grant
from roomful.domain.mcp import McpServerSeen, Pinned
from roomful.domain.memories import Memory
from roomful.domain.messages import Message
from roomful.domain.neighbours import Moments
from roomful.domain.outcomes import Outcome
from roomful.domain.plans import Plan
from roomful.domain.runs import Call, Handed, Run, RunStatus, Step
from roomful.domain.spaces import Company, Member, MySpace, Role, Space
from roomful.domain.tools import ToolSpec
from roomful.domain.watch import Histogram

T = TypeVar("T")
ALL = 2**31 - 1
"""A limit for who wants every row."""


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since 1970, UTC."""
        ...

    def iso(self) -> str:
        """The same as ISO 8601 with milliseconds and Z."""
        ...


class Ids(Protocol):
    def new(self, prefix: str) -> str:
        """`prefix_` and 128 random bits; never the same twice."""
        ...

    def secret(self) -> str: ...


PRIVATE = 1
"""A mark of a message: some of it is for one reader alone."""
ANSWERED = 2
"""A card in it has been answered."""
DELEGATES = 4
"""A sub-agent that it shows is still at work: what that does is read with it."""


class StoredMessage(msgspec.Struct, frozen=True):
    """A message as stored: its JSON ready to be sent, and what a reader needs to know without parsing it."""

    id: str
    seq: int
    marks: int
    """The sum of them."""
    body: str


class KnownAnswer(msgspec.Struct, frozen=True):
    digest: bytes
    status: int
    answer: bytes


class Descent(msgspec.Struct, frozen=True):
    """Runs below some calls, with their own calls and steps, each in order."""

    runs: list[Run]
    calls: list[Call]
    steps: list[Step]


class Background(msgspec.Struct):
    """What an agent has behind it when a run of it begins. What it noted comes as it is read alone."""

    memories: list[Memory] = []
    goals: list[Goal] = []
    plans: list[Plan] = []
    runs: list[Run] = []
    """Those that are active, newest first, with the one that begins."""
    began_before: str = ""
    """When its run before this one in the same space was made, if there was one."""


class Figures(msgspec.Struct, frozen=True):
    """What a store did since it was opened, and what it has before it."""

    messages_stored: int
    commits_waiting: int
    batch_sizes: Histogram
    """How many commits were stored together."""
    batch_seconds: Histogram
    is_writing_over: bool = False
    """The disk failed in such a way that only a restart helps."""


class Store(Protocol):
    """The record.

    A commit is synced to disk before it answers. Commits of one store take effect, and call `then`, in the
    order they were handed in; `then` runs on the event loop before anything later can be read, so what is
    announced in it is never behind what a reader finds. A commit that fails changes nothing and does not
    call `then`. Errors: Conflict, NotFound, LeaseLost, Unavailable (disk full, locked, gone: nothing was
    written, try again).
    """

    @property
    def moments(self) -> Moments: ...

    def commit(
        self,
        changes: Sequence[Change],
        then: Callable[[list[Any]], None] | None = None,
        *,
        after: Awaitable[list[Any]] | None = None,
    ) -> Awaitable[list[Any]]:
        """Answers one result per change; None for most. `after` is a commit that this one builds on: if it
        failed, or fails, this one fails the same way."""
        ...

    async def history(
        self,
        space_id: str,
        *,
        before: int | None = None,
        after: int | None = None,
        limit: int = 50,
        query: str | None = None,
        of_run: Run | None = None,
        at: Callable[[], T],
    ) -> tuple[list[StoredMessage], Descent, bool, T]:
        """A page by ascending `seq` (the last ones before `before`, or the first after `after`; with these
        words; of this run), all that happens below its delegations, whether there is more, and the result of
        `at`, called at the moment when exactly the commits that the page reflects have been announced."""
        ...

    async def message(self, space_id: str, message_id: str) -> Message | None: ...
    async def principal(self, digest: bytes) -> Principal | None: ...
    async def known_tokens(self, digests: Sequence[bytes]) -> set[bytes]:
        """Those of the digests that belong to a token."""
        ...

    async def entity(self, entity_id: str) -> Entity | None: ...
    async def entities(self) -> list[Entity]: ...
    async def tokens(self, entity_id: str) -> list[Token]: ...
    async def agent(self, agent_id: str) -> Agent | None: ...
    async def agents(self) -> list[Agent]: ...
    async def space(self, space_id: str) -> Space | None: ...
    async def space_and_role(self, space_id: str, entity_id: str) -> tuple[Space | None, Role | None]:
        """Both at one moment."""
        ...

    async def all_spaces(self) -> list[Space]: ...
    async def spaces_of(self, entity_id: str) -> list[tuple[Space, Role]]: ...
    async def my_spaces(self, entity_id: str) -> list[MySpace]: ...
    async def role(self, space_id: str, entity_id: str) -> Role | None: ...
    async def members(self, space_id: str) -> list[Member]: ...
    async def company(self, entity_id: str, space_id: str | None = None) -> list[Company]:
        """Every space that the entity is in, or this one if it is."""
        ...

    async def joined(self, space_id: str) -> dict[str, float]:
        """Since when each member is one, in seconds since 1970."""
        ...

    async def outside_agents(self) -> list[tuple[str, str]]:
        """Every space that an agent without configuration is a member of, and that agent."""
        ...

    async def run(self, run_id: str) -> Run | None: ...
    async def runs(
        self,
        *,
        agent_id: str | None = None,
        space_id: str | None = None,
        statuses: Sequence[RunStatus] = (),
        limit: int = 100,
    ) -> list[Run]:
        """Newest first."""
        ...

    async def calls(self, run_id: str) -> list[Call]:
        """In the order in which the model made them."""
        ...

    async def call(self, call_id: str) -> Call | None: ...
    async def overdue_calls(self, now: float, limit: int = 100) -> list[Call]:
        """Waiting, and their deadline has passed."""
        ...

    async def replies_awaited(self, space_id: str) -> list[Call]:
        """Calls that wait for somebody's message in this space."""
        ...

    async def calls_of_ended_children(self, limit: int = 100) -> list[Call]:
        """Calls that still wait for a run that has ended."""
        ...

    async def children(self, call_ids: Sequence[str]) -> list[Run]:
        """The runs that these calls started."""
        ...

    async def descent(self, call_ids: Sequence[str]) -> Descent:
        """Everything below these calls, at any depth, in one read."""
        ...

    async def runs_of_root(self, root_run_id: str) -> list[Run]:
        """Those that have not ended."""
        ...

    async def runs_in_root(self, root_run_id: str) -> int:
        """How many one trigger has led to, ended or not, with the first."""
        ...

    async def tokens_of_root(self, root_run_id: str) -> int: ...
    async def handed(self, run_id: str) -> list[Handed]:
        """The messages that a run was given while it was at work, in the order of their coming."""
        ...

    async def handed_to_idle(self) -> list[Handed]:
        """Messages given to runs that ended, or began to wait, before they had them."""
        ...

    async def audit(self, query: AuditQuery) -> list[Audited]:
        """By ascending id: the first after `after`, or the last ones."""
        ...

    async def grants_in(self, space_id: str) -> list[Grant]: ...
    async def grants_of(self, agent_id: str) -> list[Grant]: ...
    async def mcp_pins(self, pinned: Pinned) -> dict[str, str] | None:
        """The digests of the tools that were agreed to, by name; None before the first time."""
        ...

    async def plans_of(self, agent_id: str) -> list[Plan]:
        """In the order of their making."""
        ...

    async def due_plans(self, now: str, limit: int = 100) -> list[Plan]:
        """Active, and their time has come; the longest due first."""
        ...

    async def memories_of(self, agent_id: str) -> list[Memory]:
        """Newest first, wherever they were learned."""
        ...

    async def goals_of(self, agent_id: str) -> list[Goal]:
        """Newest first."""
        ...

    async def background(self, run: Run, space_id: str | None, most: int) -> Background:
        """As of a run, which says something in this space or in none. `most`: how many active runs."""
        ...

    async def steps(self, run_id: str) -> list[Step]: ...
    async def open_messages(self, run_id: str) -> list[Message]: ...
    async def unowned_runs(self) -> list[str]:
        """Queued or running, and nobody's, or the owner's lease has ended."""
        ...

    async def blob(self, blob_id: str) -> Blob | None: ...
    async def blob_data(self, blob_id: str) -> bytes | None: ...
    async def blob_spaces(self, blob_id: str) -> list[str]:
        """The spaces it was shown in and that are still there."""
        ...

    async def writers(self) -> dict[str, int]:
        """Every process that wrote, with the number of its last batch."""
        ...

    async def known_answer(self, owner: str, key: str) -> KnownAnswer | None: ...
    async def moment(self) -> float:
        """The time in seconds by which leases are measured: the same for all who share the record."""
        ...

    async def get_meta(self, key: str) -> str | None: ...
    async def set_meta(self, key: str, value: str) -> None:
        """Only if the key is not there yet."""
        ...

    def figures(self) -> Figures: ...
    async def close(self) -> None: ...


class Entry(msgspec.Struct, frozen=True, gc=False):
    offset: int
    announcement: Announcement
    size: int
    """In bytes on the wire, more or less."""


Tell: TypeAlias = Callable[[int, str], bool]
"""Sends a reader the next characters of one argument, with their place in the log. False: not now."""


class Lane(Protocol):
    """A straight way for more of one argument to the only one who reads it."""

    def say(self, announcement: Announcement, text: str) -> bool:
        """The same as to publish it. False, and nothing is done, if the way is not straight any more."""
        ...


class Ear(Protocol):
    """Hears of what comes for a reader on the spot."""

    def pass_on(self, word: Entry | None) -> bool:
        """There is something to take, or this word, which need not be taken then. False: who waits has to be
        woken for it."""
        ...

    def lane(self, growth: Growth) -> Tell | None:
        """A way to tell the reader more of one argument, which everybody may hear; None: there is none."""
        ...


class Subscription(Protocol):
    """One reader of one channel, from a position on. No queue: a place in the channel's log."""

    cut: CutReason | None
    on_cut: Callable[[], None] | None
    """Called when a reader is cut while it may be stuck in a write."""
    ear: Ear | None
    """Told of news instead of waking who waits for them."""

    def take(self) -> list[Entry]:
        """What came since the last call; empty when there is nothing."""
        ...

    async def wait(self, seconds: float) -> bool:
        """True when there is something to take or the subscription was cut, False when time is up."""
        ...

    def narrow(self, run_ids: Iterable[str], message_ids: Iterable[str] = ()) -> None:
        """From now on, of all that is said, only what these runs say and those that they call, and what
        becomes of these messages. Whatever was there to be taken has been taken."""
        ...

    def close(self, reason: CutReason = "closed") -> None: ...


class Bus(Protocol):
    """Carries announcements to readers.

    Order: one channel's entries reach every reader in the order of `publish`. Loss: a reader that falls
    more than a bound behind is cut with `slow` and resumes by its position; nobody else waits for it. The
    log keeps a bounded window. `publish` returns at once.
    """

    def publish(self, channel: str, announcements: Sequence[Announcement]) -> None: ...
    def lane(self, channel: str, growth: Growth) -> Lane | None:
        """To the one who would hear of it, if there is just one and it has heard all before it."""
        ...

    def position(self, channel: str) -> Position:
        """The place behind the newest entry."""
        ...

    def subscribe(self, channel: str, after: Position) -> Subscription | None:
        """None when the position is unknown or no longer in the window: use a snapshot."""
        ...

    def relay(self, source: str, target: str) -> None:
        """From now on everything on `source` is on `target` too."""
        ...

    def end_relay(self, source: str, target: str) -> None: ...
    def close(self, reason: CutReason) -> None:
        """Ends every subscription."""
        ...

    def is_followed(self, channel: str, /) -> bool:
        """Whether anybody subscribed to the channel lately: if not, publishing to it can be left out."""
        ...

    async def follows(self, channel: str) -> None:
        """Returns when whatever is published on the channel from now on, anywhere, is heard here."""
        ...

    def renew(self, channels: Sequence[str]) -> None:
        """What was published on them may be lost here: their positions are unknown from now on, and their
        readers are cut with `renewed`."""
        ...


Hear: TypeAlias = Callable[[Sequence[ModelDelta]], None]


class Model(Protocol):
    async def ask(self, request: ModelRequest, hear: Hear) -> None:
        """Tells `hear` the deltas in batches, a batch being what arrived together, and returns when all is
        said. Canceling it ends the request. Raises ModelFailed, and what `hear` raises."""
        ...


class Models(Protocol):
    def find(self, ref: ModelRef) -> Model:
        """Raises Invalid when no such provider can be had."""
        ...


class CallContext(msgspec.Struct, frozen=True):
    """All that an executor may know of the call it executes."""

    call: Call
    spec: ToolSpec
    run: Run
    agent_id: str
    args: Mapping[str, Any]


class Executor(Protocol):
    has_effects: bool
    """Whether it reaches outside: then an intent is stored before, and it is never silently repeated."""

    def can(self, spec: ToolSpec) -> bool:
        """Whether it can execute this tool; if not, the model is not offered it."""
        ...

    async def execute(self, context: CallContext) -> Outcome:
        """Never raises for what a tool or its author can do wrong: that is Failed."""
        ...


class McpServers(Protocol):
    """The servers of configured agents, as they are now. Looking connects to them; nothing else here does."""

    async def look(self, agent_id: str) -> list[McpServerSeen]: ...
    async def approve(
        self, agent_id: str, server: str, digest: str, tools: Sequence[str] | None, also: Sequence[Change]
    ) -> McpServerSeen:
        """What was looked at is agreed to: these tools of it, or all; `also` is committed with it. Conflict
        when the server says something else by now, or nothing; NotFound, Invalid for a tool that it does not
        have."""
        ...
