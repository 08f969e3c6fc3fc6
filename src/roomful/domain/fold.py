"""The fold: a space as a reader has it, made of a snapshot and the events since. Applying an event twice
changes nothing that applying it once did not. The gateway, the Python client and the page fold alike."""

from collections.abc import Sequence
from typing import assert_never, cast

import msgspec

from roomful.domain.arguments import Arguments, Op, apply_ops, unpointer
from roomful.domain.events import (
    AgentActive,
    AgentInactive,
    CallCompleted,
    CallFailed,
    CallInput,
    CallReady,
    CallStarted,
    MemberJoined,
    MemberLeft,
    MessageChanged,
    PartReset,
    ReadUpTo,
    RunChanged,
    SpaceEvent,
    SubagentCall,
    SubagentEnded,
    SubagentText,
    TextDelta,
    TextEnded,
    TextStarted,
)
from roomful.domain.messages import Message, Part, PartStatus, ReasoningPart, TextPart, ToolCallPart
from roomful.domain.runs import ENDED
from roomful.domain.shape import UNSET, Json
from roomful.domain.spaces import Member
from roomful.domain.trails import Child, ChildCall


class Growing:
    """A part that still streams: what it grows by is kept in pieces, and joined only when somebody looks."""

    __slots__ = ("arguments", "length", "mark", "part", "pieces", "so_far", "texts")

    def __init__(self, part: Part) -> None:
        self.part = part
        self.arguments: Arguments | None = None
        self.pieces: list[str] = []
        self.length = 0
        self.texts: dict[str, list[str]] = {}
        """Of the arguments, by their pointers."""
        self.so_far: Arguments | None = None
        """All of them, as they are at the mark, if the one who tells of them keeps them."""
        self.mark: tuple[int, int] | None = None
        """None: they are as they are when somebody looks."""

    def add_text(self, event: TextDelta) -> None:
        new = event.delta[self.length - event.offset :] if event.offset < self.length else event.delta
        self.pieces.append(new)
        self.length += len(new)

    def add_ops(self, ops: Sequence[Op]) -> None:
        for op in ops:
            kind, path, value = op
            pieces = self.texts.get(path) if kind == "append" else None
            if pieces is None:
                self._begin_input(op)
            else:
                pieces.append(value)

    def _begin_input(self, op: Op) -> None:
        assert isinstance(self.part, ToolCallPart)
        kind, path, value = op
        if kind == "append" and path.count("/") == 1:
            self.part.args = apply_ops(self.part.args, [("append", path, "")])  # Its place is kept.
            self.texts[path] = [value]
        else:
            self.texts.pop(path, None)
            self.part.args = apply_ops(self.part.args, [op])

    def settle(self) -> Part:
        part = self.part
        if isinstance(part, ToolCallPart):
            if self.so_far is not None and self.mark is None:
                part.args = self.so_far.at(self.so_far.mark)
            elif self.so_far is not None and self.mark is not None:
                part.args, self.so_far = self.so_far.at(self.mark), None
            elif self.texts:
                args = dict(cast("dict[str, Json]", part.args))
                for path, pieces in self.texts.items():
                    [key] = unpointer(path)
                    args[key] = args.get(key, "") + "".join(pieces)
                part.args, self.texts = args, {}
        elif self.pieces:
            part.text += "".join(self.pieces)
            self.pieces = []
        return part


class SpaceView:
    """One space as its readers see it. `open_only` keeps what still grows and forgets the rest. `is_writers`
    is for the one who writes the arguments: once told of them, it has all that is added to them."""

    def __init__(self, *, open_only: bool = False, is_writers: bool = False) -> None:
        self._messages: dict[str, Message] = {}
        self.growing: dict[str, Growing] = {}
        """By part, and by the call whose arguments are written."""
        self._open_only = open_only
        self._is_writers = is_writers
        self.members: dict[str, Member] = {}
        self.runs: dict[str, RunChanged] = {}
        self.active: dict[str, str] = {}

    def load(self, messages: list[Message], members: list[Member], runs: list[RunChanged]) -> None:
        for message in messages:
            self.adopt(message)
        self.members = {member.entity_id: member for member in members}
        self.runs = {run.run_id: run for run in runs}

    def adopt(self, message: Message) -> None:
        """Takes up a message as it stands, to let it grow here."""
        self.forget(message.id)
        self._messages[message.id] = message
        for part in message.parts:
            if part.status == "streaming":
                self._grow(part)

    def forget(self, message_id: str) -> None:
        if (message := self._messages.pop(message_id, None)) is not None:
            for part in message.parts:
                self.growing.pop(_key(part), None)

    def messages(self) -> list[Message]:
        """Every message by its place, with all that was written so far."""
        for growing in self.growing.values():
            growing.settle()
        return sorted(self._messages.values(), key=lambda message: message.seq)

    def places(self) -> list[tuple[int, str]]:
        """The `seq` and id of every message."""
        return [(message.seq, message.id) for message in self._messages.values()]

    def message(self, message_id: str) -> Message | None:
        message = self._messages.get(message_id)
        if message is not None:
            for part in message.parts:
                if (growing := self.growing.get(_key(part))) is not None:
                    growing.settle()
        return message

    def is_growing(self, event: TextDelta | TextEnded | CallInput) -> bool:
        key = event.tool_call_id if isinstance(event, CallInput) else event.part_id
        return key in self.growing

    @property
    def is_empty(self) -> bool:
        return not self._messages

    def follow_arguments(self, event: CallInput) -> None:
        """For an event that came with its operations only: notes in it the arguments as they are then. To be
        called before it is applied."""
        growing = self.growing.get(event.tool_call_id)
        if growing is None or not isinstance(growing.part, ToolCallPart):
            return
        if growing.arguments is None:
            growing.settle()
            growing.arguments = Arguments.of(growing.part.args or {})
        growing.arguments.grow(event.ops)
        event.so_far, event.mark = growing.arguments, growing.arguments.mark

    def apply(self, event: SpaceEvent) -> None:
        match event:
            case TextDelta():
                if (growing := self.growing.get(event.part_id)) is not None:
                    growing.add_text(event)
            case CallInput():
                if (growing := self.growing.get(event.tool_call_id)) is None:
                    return
                if event.so_far is not None:
                    growing.so_far, growing.mark = event.so_far, None if self._is_writers else event.mark
                else:
                    growing.add_ops(event.ops)
            case TextStarted() | CallStarted():
                self._start(event)
            case TextEnded():
                self._end_text(event)
            case CallReady() | CallCompleted() | CallFailed():
                self._settle_call(event)
            case SubagentCall() | SubagentText() | SubagentEnded():
                self._grow_trail(event)
            case PartReset():
                self._reset(event.part_id)
            case MessageChanged():
                self._put_message(event.message)
            case RunChanged():
                self._run_changed(event)
            case MemberJoined():
                self.members[event.member.entity_id] = event.member
            case MemberLeft():
                self.members.pop(event.member.entity_id, None)
            case AgentActive():
                self.active[event.run_id] = event.entity_id
            case AgentInactive():
                self.active.pop(event.run_id, None)
            case ReadUpTo():
                pass
            case _:
                assert_never(event)

    def _start(self, event: TextStarted | CallStarted) -> None:
        message = self._messages.get(event.message_id)
        if message is None:
            message = Message(
                id=event.message_id,
                space_id=event.space_id,
                entity_id=event.entity_id,
                run_id=event.run_id,
                seq=event.seq,
                status="open",
                role="assistant",
                parts=[],
                created_at=event.created_at,
                updated_at=event.created_at,
            )
            self._messages[message.id] = message
        if any(part.id == event.part_id for part in message.parts):
            return
        part = _new_part(event)
        message.parts.append(part)
        self._grow(part)

    def _grow(self, part: Part) -> None:
        growing = Growing(part)
        if not isinstance(part, ToolCallPart):
            growing.length = len(part.text)
        self.growing[_key(part)] = growing

    def _end_text(self, event: TextEnded) -> None:
        if (growing := self.growing.pop(event.part_id, None)) is not None:
            growing.settle().status = "complete"

    def _settle_call(self, event: CallReady | CallCompleted | CallFailed) -> None:
        if (growing := self.growing.pop(event.tool_call_id, None)) is not None and event.args is UNSET:
            growing.settle()
        message = self._messages.get(event.message_id)
        if message is None:
            return
        for index, part in enumerate(message.parts):
            if part.id == event.part_id and isinstance(part, ToolCallPart):
                message.parts[index] = settled_part(part, event)

    def _grow_trail(self, event: SubagentCall | SubagentText | SubagentEnded) -> None:
        message = self._messages.get(event.message_id)
        for part in message.parts if message is not None else ():
            if part.id == event.part_id and isinstance(part, ToolCallPart) and part.child is not UNSET:
                part.child = grown_child(part.child, event, event.path)

    def _reset(self, part_id: str) -> None:
        for message in self._messages.values():
            for index, part in enumerate(message.parts):
                if part.id == part_id:
                    self.growing.pop(_key(part), None)
                    message.parts[index] = emptied = empty_part(part)
                    self._grow(emptied)

    def _put_message(self, changed: Message) -> None:
        """Parts that it does not name go on growing. What grows here is not the event's own, which others
        have still to read."""
        for part in changed.parts:
            self.growing.pop(_key(part), None)
        known = self._messages.get(changed.id)
        if self._open_only and (known is None or changed.status == "final"):
            self.forget(changed.id)
            return
        changed = msgspec.structs.replace(changed, parts=list(map(msgspec.structs.replace, changed.parts)))
        merged = msgspec.structs.replace(changed, parts=merge_parts(known.parts if known else [], changed))
        self._messages[changed.id] = merged
        for part in changed.parts:
            if part.status == "streaming":
                self._grow(part)

    def _run_changed(self, event: RunChanged) -> None:
        if event.status in ENDED:
            self.runs.pop(event.run_id, None)
        else:
            self.runs[event.run_id] = event


def _key(part: Part) -> str:
    """Text deltas name the part, argument deltas the call."""
    return part.tool_call_id if isinstance(part, ToolCallPart) else part.id


def _new_part(event: TextStarted | CallStarted) -> Part:
    if isinstance(event, CallStarted):
        return ToolCallPart(
            id=event.part_id,
            tool_call_id=event.tool_call_id,
            tool_name=event.tool_name,
            args={} if event.shows_args else UNSET,
            result=None if event.shows_result else UNSET,
            status="streaming",
            custom_ui=event.custom_ui,
            run_id=event.run_id,
            target_entity_id=event.target_entity_id,
            asks=event.asks,
            agent_id=event.agent_id,
            step=event.step,
        )
    if event.reasoning:
        return ReasoningPart(id=event.part_id, text="", status="streaming", step=event.step)
    return TextPart(
        id=event.part_id, text="", status="streaming", tool_call_id=event.tool_call_id, step=event.step
    )


def empty_part(part: Part) -> Part:
    if isinstance(part, ToolCallPart):
        args: Json = UNSET if part.args is UNSET else {}
        return msgspec.structs.replace(part, args=args, status="streaming")
    return msgspec.structs.replace(part, text="", status="streaming")


def settled_part(part: ToolCallPart, event: CallReady | CallCompleted | CallFailed) -> ToolCallPart:
    """The part after its call became ready, completed or failed."""
    status: PartStatus
    more: dict[str, Json] = {}
    match event:
        case CallReady():
            status = "ready"
        case CallCompleted():
            status, more["result"] = "complete", event.output
        case CallFailed():
            status, more["error"] = "error", event.error
    args = event.args if event.args is not UNSET else part.args
    return msgspec.structs.replace(part, status=status, args=args, **more)


def grown_child(
    child: Child, event: SubagentCall | SubagentText | SubagentEnded, path: Sequence[str]
) -> Child:
    """The delegation after this event; `path` is the way that is still to go, down to where it happened."""
    calls = child.calls or []
    if path:
        grown = [
            _grown_call(call, event, path[1:]) if call.tool_call_id == path[0] else call for call in calls
        ]
        return msgspec.structs.replace(child, calls=grown)
    match event:
        case SubagentCall():
            known = {call.tool_call_id: call for call in calls}
            before = known.get(event.call.tool_call_id)
            if before is not None and event.call.child is UNSET:
                event = msgspec.structs.replace(
                    event, call=msgspec.structs.replace(event.call, child=before.child)
                )
            return msgspec.structs.replace(
                child, calls=list({**known, event.call.tool_call_id: event.call}.values())
            )
        case SubagentText():
            return msgspec.structs.replace(child, text=child.text[: event.offset] + event.delta)
        case SubagentEnded():
            return msgspec.structs.replace(event.child, calls=calls)


def _grown_call(
    call: ChildCall, event: SubagentCall | SubagentText | SubagentEnded, path: Sequence[str]
) -> ChildCall:
    if call.child is UNSET:
        return call
    return msgspec.structs.replace(call, child=grown_child(call.child, event, path))


def merge_parts(known: list[Part], changed: Message) -> list[Part]:
    """Parts with a known id replace the old ones, new ones come behind; a deleted message has none."""
    if changed.deleted:
        return []
    fresh = {part.id: part for part in changed.parts}
    merged = [fresh.pop(part.id, part) for part in known]
    return merged + list(fresh.values())
