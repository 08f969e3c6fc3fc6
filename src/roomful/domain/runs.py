"""A run: one agent at work, from its trigger to its end, whatever spaces it shows itself in."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from roomful.domain.entities import EntityKind
from roomful.domain.messages import MemberAnswer
from roomful.domain.shape import UNSET, Json, Noun, Unset
from roomful.domain.tools import Visibility
from roomful.domain.usage import Price, Usage

RunStatus = Literal["queued", "running", "waiting_tool", "waiting_reply", "completed", "failed", "canceled"]
ENDED: frozenset[RunStatus] = frozenset({"completed", "failed", "canceled"})
ACTIVE: tuple[RunStatus, ...] = ("queued", "running", "waiting_tool", "waiting_reply")
WAITING: frozenset[RunStatus] = frozenset({"waiting_tool", "waiting_reply"})
TriggerType = Literal["message", "mention", "plan", "service", "call", "answer"]
CallStatus = Literal["ready", "running", "waiting", "complete", "error", "canceled", "unknown"]
WaitsFor = Literal["answer", "approval", "callback", "reply", "child_run"]
SETTLED: frozenset[CallStatus] = frozenset({"complete", "error", "canceled", "unknown"})


class Trigger(Noun):
    type: TriggerType
    space_id: str | Unset = UNSET
    message_id: str | Unset = UNSET
    entity_id: str | Unset = UNSET
    payload: Json | Unset = UNSET
    read_spaces: list[str] | Unset = UNSET
    """The spaces whose content the payload carries."""


class RunError(Noun):
    code: str
    message: str


class PendingCall(Noun):
    """A call that waits, as the asker may see it."""

    tool_call_id: str
    tool_name: str
    args: Json | Unset = UNSET
    space_ids: list[str] = []
    waits_for: WaitsFor | Unset = UNSET
    asks_people: bool = True
    """Whether a person has to do something."""


class CalledAs(Noun):
    """The name and the id under which a called run is shown."""

    agent_id: str
    name: str
    is_inline: bool = False
    """Its configuration stands in the tool that called it."""
    include_context: bool = False
    """It is told what its caller was told of spaces and messages."""


class Run(Noun):
    id: str
    agent_id: str
    status: RunStatus
    trigger: Trigger
    root_run_id: str
    created_at: str
    parent_call_id: str | Unset = UNSET
    active_space_id: str | Unset = UNSET
    pending_tool_calls: list[PendingCall] = []
    error: RunError | Unset = UNSET
    usage: Usage | Unset = UNSET
    ended_at: str | Unset = UNSET
    shown_in: list[str] = []
    """Every space that knows of this run: its trigger space and those where it opened a message."""
    depth: int = 0
    """How many runs lie between this one and the root."""
    started_by: str | Unset = UNSET
    """The agent whose run started this one."""
    asks_in: str | Unset = UNSET
    """Where a called run asks people and speaks when it names no space: where the call is shown, else where
    its caller was."""
    asks_whom: str | Unset = UNSET
    """The only member who sees what a called run asks there: whoever alone sees the call."""
    called_as: CalledAs | Unset = UNSET
    is_canceling: bool | Unset = UNSET
    """It is being stopped: whoever drives it only brings that to its end."""
    in_turn: bool | Unset = UNSET
    """It begins only when no other such run of its agent is at work."""
    at_work_since: str | Unset = UNSET
    """When it went to work for the last time. Unset while it waits."""
    read_spaces: list[str] | Unset = UNSET
    """The spaces whose content it knew when it was stored; what its calls have read since stands there."""
    trace: str | Unset = UNSET
    """The span that it lies in, where runs are traced: what led to it, or its own beginning."""

    @property
    def ended(self) -> bool:
        return self.status in ENDED

    def learn(self, *space_ids: str | Unset) -> bool:
        """It knows content of these spaces from now on. Tells whether one is new to it."""
        known = self.read_spaces or []
        self.read_spaces = list(dict.fromkeys([*known, *(each for each in space_ids if each)]))
        return len(self.read_spaces) > len(known)


class Lease(Noun):
    """The right to write for a run. Every claim raises the fence; a write with an older one is refused."""

    run_id: str
    owner: str
    fence: int

    @property
    def is_first(self) -> bool:
        """Whether nobody has driven the run before, so that it has said and called nothing yet."""
        return self.fence == 1


class Place(Noun):
    """Where a call shows itself. Decided when the call opens; does not change afterwards."""

    space_id: str
    message_id: str
    part_id: str


class Awaited(Noun):
    """Whose message settles a call that waits for a reply: anybody of these kinds, and these."""

    space_id: str
    kinds: list[EntityKind] = []
    entity_ids: list[str] = []
    of_people: bool = True
    """Whether a person may be the one."""

    def includes(self, entity_id: str, kind: str) -> bool:
        return entity_id in self.entity_ids or kind in self.kinds


class Held(Noun):
    """A call that goes to a guarded space only with consent, and whom that was asked of."""

    space_ids: list[str]
    """Where it is to go."""
    sources: list[str]
    """The spaces of which the run knows something that not everybody there may read."""
    target_entity_id: str | Unset = UNSET
    asked_in: str | Unset = UNSET
    """One of the sources. Unset: nobody could be asked."""
    asked_of: str | Unset = UNSET
    """The only member who sees the question there."""
    approvers: list[str] = []
    is_told: bool = False
    """The spaces where it does not appear were told so."""


class Consent(Noun):
    """Who agreed that a call is shown where it goes, and where that was asked."""

    place: Place
    by: str
    at: str


class Call(Noun):
    """One tool call, whole: what the model said, what became of it. Spaces see parts, never this."""

    id: str
    run_id: str
    step: int
    index: int
    tool_name: str
    args: Json
    status: CallStatus
    provider_id: str = ""
    raw_args: str | Unset = UNSET
    result: Json = None
    told: Json | Unset = UNSET
    """What the model was told, where it differs from the result."""
    error: str | Unset = UNSET
    visibility: Visibility = Visibility.HIDDEN
    active_space_id: str | Unset = UNSET
    target_entity_id: str | Unset = UNSET
    space_ids: list[str] = []
    """Where the call was routed; `places` are the parts that were opened there."""
    places: list[Place] = []
    answered_by: str | Unset = UNSET
    answered_at: str | Unset = UNSET
    reason: str | Unset = UNSET
    """Why somebody did not agree to it."""
    answers: list[MemberAnswer] | Unset = UNSET
    waits_for: WaitsFor | Unset = UNSET
    deadline: float | Unset = UNSET
    """Seconds since 1970 after which a waiting call is settled without an answer."""
    question: Json | Unset = UNSET
    """What a tool asked in the middle of its work."""
    continuation: Json | Unset = UNSET
    """`{"state": …, "answer": …}` for the executor of a call that goes on after such a question."""
    mentions: list[str] = []
    """The members whom a text addresses."""
    awaited: Awaited | Unset = UNSET
    """Whose reply the call waits for."""
    seen_inside: Visibility = Visibility.HIDDEN
    """How much of a sub-agent's call is seen in the part that shows the delegation."""
    started_at: str | Unset = UNSET
    """When the model began to write it."""
    ended_at: str | Unset = UNSET
    read_spaces: list[str] | Unset = UNSET
    """The spaces whose content its outcome carries."""
    kept: list[str] | Unset = UNSET
    """The blobs that hold what was too large of its outcome."""
    is_withheld: bool | Unset = UNSET
    """Not everybody who sees the call may read all of them there: its outcome is for the model alone."""
    held: Held | Unset = UNSET
    consent: Consent | Unset = UNSET
    is_plain: bool | Unset = UNSET
    """Plain words of the model, which could not be heard without consent."""

    def read(self, *space_ids: str) -> None:
        """Its outcome carries content of these spaces, too."""
        if space_ids:
            self.read_spaces = list(dict.fromkeys([*(self.read_spaces or ()), *space_ids]))

    def settled(self, at: str) -> "Call":
        """Notes when it ended, if its status says that it has."""
        if self.status in SETTLED:
            self.ended_at = at
        return self


class Step(Noun):
    """One model request of a run and what it said besides its calls."""

    run_id: str
    number: int
    text: str = ""
    usage: Usage = Usage()
    is_open: bool = False
    """The model still writes it: this is what was seen of it so far."""
    started_at: str | Unset = UNSET
    ended_at: str | Unset = UNSET
    """When the model's answer was over; its calls are executed after that."""
    price: Price | Unset = UNSET
    """What the model cost then, if the configuration said it."""
    is_withheld: bool | Unset = UNSET
    """Not told in the parts that show the run: not everybody there may read what it had read."""


class Handed(Noun):
    """A message given to a run that was at work already. `step` is the model request that first had it."""

    run_id: str
    message_id: str
    space_id: str
    entity_id: str
    at: str
    step: int | Unset = UNSET


MOVED = -1
"""The step of a message that a run was handed and did not get to: it went on to another run."""


def copies(calls: Iterable[Call]) -> tuple[Call, ...]:
    """As they are now: what is stored must not change with what comes later."""
    return tuple(msgspec.structs.replace(call) for call in calls)
