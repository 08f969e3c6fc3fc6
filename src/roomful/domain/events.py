"""What happens in a space, as its readers hear it. A closed union: whoever consumes it matches every kind.

Delta events carry their part's id and their own fields only; the start events carry the rest.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal, TypeAlias

import msgspec

from roomful.domain.arguments import Arguments, Op
from roomful.domain.messages import Asks, Message
from roomful.domain.runs import PendingCall, RunError, RunStatus, Trigger, WaitsFor
from roomful.domain.shape import UNSET, Json, Noun, Unset
from roomful.domain.spaces import Member
from roomful.domain.trails import Child, ChildCall


class MessageChanged(Noun):
    """A message stored or changed. Its parts are merged by id: a settled part travels alone."""

    type: ClassVar[str] = "smartSpace.message"
    space_id: str
    message: Message
    stream_id: str | Unset = UNSET


class TextStarted(Noun):
    type: ClassVar[str] = "text-start"
    space_id: str
    message_id: str
    part_id: str
    run_id: str
    entity_id: str
    seq: int
    created_at: str
    tool_call_id: str | Unset = UNSET
    reasoning: bool | Unset = UNSET
    step: int | Unset = UNSET


class TextDelta(Noun):
    type: ClassVar[str] = "text-delta"
    part_id: str
    delta: str
    offset: int


class TextEnded(Noun):
    type: ClassVar[str] = "text-end"
    space_id: str
    message_id: str
    part_id: str
    run_id: str
    tool_call_id: str | Unset = UNSET


class CallStarted(Noun):
    type: ClassVar[str] = "tool-call.start"
    space_id: str
    message_id: str
    part_id: str
    run_id: str
    entity_id: str
    seq: int
    created_at: str
    tool_call_id: str
    tool_name: str
    custom_ui: str | Unset = msgspec.field(default=UNSET, name="customUI")
    target_entity_id: str | Unset = UNSET
    asks: Asks | Unset = UNSET
    agent_id: str | Unset = UNSET
    step: int | Unset = UNSET
    shows_args: bool = True
    shows_result: bool = True


class CallInput(Noun, gc=False):
    """The arguments grew. `so_far` and `mark` give the whole of them when a reader wants no operations."""

    type: ClassVar[str] = "tool-input-delta"
    tool_call_id: str
    ops: Sequence[Op]
    so_far: Arguments | None = None
    mark: tuple[int, int] = (0, -1)


class CallReady(Noun):
    """The input is complete. From now on a form may be answered."""

    type: ClassVar[str] = "tool-call"
    space_id: str
    message_id: str
    part_id: str
    run_id: str
    tool_call_id: str
    tool_name: str
    args: Json | Unset = UNSET


class CallCompleted(Noun):
    type: ClassVar[str] = "tool-call.complete"
    space_id: str
    message_id: str
    part_id: str
    run_id: str
    tool_call_id: str
    tool_name: str
    args: Json | Unset = UNSET
    output: Json | Unset = UNSET


class CallFailed(Noun):
    type: ClassVar[str] = "tool-call.error"
    space_id: str
    message_id: str
    part_id: str
    run_id: str
    tool_call_id: str
    tool_name: str
    error: str
    args: Json | Unset = UNSET


class SubagentCall(Noun):
    """Inside the delegation that `tool_call_id` shows, a call opened or settled. `path` is the list of inner
    calls from there down to the one whose sub-agent made it."""

    type: ClassVar[str] = "subagent.call"
    space_id: str
    message_id: str
    part_id: str
    tool_call_id: str
    path: list[str]
    call: ChildCall


class SubagentText(Noun):
    """A sub-agent wrote: its text up to `offset`, then this. What stood behind `offset` is gone."""

    type: ClassVar[str] = "subagent.text"
    space_id: str
    message_id: str
    part_id: str
    tool_call_id: str
    path: list[str]
    delta: str
    offset: int


class SubagentEnded(Noun):
    """All about the sub-agent's run but its calls, which were told one by one."""

    type: ClassVar[str] = "subagent.end"
    space_id: str
    message_id: str
    part_id: str
    tool_call_id: str
    path: list[str]
    child: Child


class PartReset(Noun):
    type: ClassVar[str] = "part.reset"
    space_id: str
    part_id: str


class RunChanged(Noun):
    space_id: str
    run_id: str
    entity_id: str
    status: RunStatus
    trigger: Trigger | Unset = UNSET
    pending_tool_calls: list[PendingCall] | Unset = UNSET
    waits_for: list[WaitsFor] | Unset = UNSET
    """What a waiting run waits for, wherever: one word for each."""
    asks_people: bool | Unset = UNSET
    """Whether a waiting run waits for a person."""
    error: RunError | Unset = UNSET
    root_run_id: str | Unset = UNSET
    """Of a run that another one called: the run that all of it came from."""

    @property
    def type(self) -> str:
        return "run.started" if self.status in ("queued", "running") else f"run.{self.status}"


class MemberJoined(Noun):
    type: ClassVar[str] = "member.joined"
    space_id: str
    member: Member


class MemberLeft(Noun):
    type: ClassVar[str] = "member.left"
    space_id: str
    member: Member


class AgentActive(Noun):
    type: ClassVar[str] = "agent.active"
    space_id: str
    entity_id: str
    run_id: str


class AgentInactive(Noun):
    type: ClassVar[str] = "agent.inactive"
    space_id: str
    entity_id: str
    run_id: str


class ReadUpTo(Noun):
    type: ClassVar[str] = "read"
    space_id: str
    entity_id: str
    message_id: str


SpaceEvent: TypeAlias = (
    MessageChanged
    | TextStarted
    | TextDelta
    | TextEnded
    | CallStarted
    | CallInput
    | CallReady
    | CallCompleted
    | CallFailed
    | SubagentCall
    | SubagentText
    | SubagentEnded
    | PartReset
    | RunChanged
    | MemberJoined
    | MemberLeft
    | AgentActive
    | AgentInactive
    | ReadUpTo
)

WORDS = (CallInput, TextDelta)
"""What comes often: a few more characters."""


class Announcement(msgspec.Struct, gc=False):
    """An event on its way: whose it is, and who alone may hear it."""

    event: SpaceEvent
    space_id: str
    run_id: str | None = None
    audience: str | None = None
    opens: bool = False
    """The message in this event is new and whole: from now on it grows."""
    encoded: dict[object, bytes] | None = None
    """The frames made so far, by form, for the next one who wants them. Announcements of one delta in several
    spaces share it. None: there is only one who reads it."""


class Position(msgspec.Struct, frozen=True):
    """A place in one stream. An epoch that is not the stream's own is unknown: ask for a snapshot."""

    epoch: str
    offset: int

    def __str__(self) -> str:
        return f"{self.epoch}.{self.offset}"

    @staticmethod
    def parse(text: str) -> "Position | None":
        epoch, dot, offset = text.rpartition(".")
        if not dot or not epoch or not offset.isascii() or not offset.isdigit() or len(offset) > 18:
            return None
        return Position(epoch, int(offset))


Announce: TypeAlias = Callable[[list[Announcement]], None]
CutReason = Literal["slow", "revoked", "draining", "closed", "renewed"]
