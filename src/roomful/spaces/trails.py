"""What a delegation shows of the run inside it: told live, event by event, and read again from rows, in the
same words. Everything here is stored before it is told, so that a reader finds what was heard."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from roomful.domain.events import Announcement, SubagentCall, SubagentEnded, SubagentText
from roomful.domain.messages import Message, Part, ToolCallPart, delegations
from roomful.domain.ports import Descent, Store
from roomful.domain.runs import Call, Place, Run, Step
from roomful.domain.shape import UNSET, Unset
from roomful.domain.tools import Visibility
from roomful.domain.trails import Child, ChildCall, ChildCallStatus, ChildStatus
from roomful.spaces.flow import Flow

_STATUS: Mapping[str, ChildStatus] = {"completed": "completed", "failed": "failed", "canceled": "canceled"}
_CALL_STATUS: Mapping[str, ChildCallStatus] = {
    "complete": "complete", "error": "error", "canceled": "canceled", "unknown": "unknown",
}  # fmt: skip


class Target(msgspec.Struct, frozen=True):
    """A part that shows the run, however far above it."""

    place: Place
    run_id: str
    call_id: str
    path: tuple[str, ...]
    audience: str | None


class Trail:
    """One run's way up to the parts that show it."""

    def __init__(self, run: Run, targets: Sequence[Target], steps: Sequence[Step]) -> None:
        self._run = run
        self._targets = targets
        self.is_withheld = False
        """What the run says and calls now is not told: somebody there may not read what it has read."""
        self._before = len(text_told([step for step in steps if not step.is_open]))
        self._text = text_told(steps)
        """All that was told."""
        self._step = len([step for step in steps if not step.is_open])
        self._began: str | Unset = UNSET
        self._writing: list[str] = []

    @property
    def is_seen(self) -> bool:
        """Whether any part shows it."""
        return bool(self._targets)

    def judge(self, flow: Flow) -> None:
        """By what the run knows from now on."""
        self.is_withheld = any(flow.sources([one.place.space_id], one.audience) for one in self._targets)

    @property
    def space_ids(self) -> set[str]:
        return {target.place.space_id for target in self._targets}

    def begin(self, step: int, at: str) -> None:
        """The model begins this step, or begins it anew."""
        if step != self._step:
            self._step, self._before = step, len(self._text)
        self._began = at
        self._writing = []

    def write(self, text: str) -> None:
        if not self.is_withheld:
            self._writing.append(text)

    def unsaved(self) -> Step | None:
        """The step as it is written so far, when it is not what was told."""
        text = "".join(self._writing)
        if self._text[self._before :] == text:
            return None
        return Step(run_id=self._run.id, number=self._step, text=text, is_open=True, started_at=self._began)

    def told(self, step: Step) -> list[Announcement]:
        """What this adds to what was told, or puts in its place."""
        known = self._text[self._before :]
        kept = len(known) if step.text.startswith(known) else 0
        offset = self._before + kept
        delta = step.text[kept:]
        self._text = self._text[: self._before] + step.text
        return self._tell(lambda target: SubagentText(**_at(target), delta=delta, offset=offset))

    def call(self, call: Call, child: Child | Unset = UNSET) -> list[Announcement]:
        """A call opened, got a sub-agent, or settled."""
        seen = seen_call(call, child)
        if seen is None:
            return []
        return self._tell(lambda target: SubagentCall(**_at(target), call=seen))

    def ended(self, run: Run) -> list[Announcement]:
        child = child_of(run, self._text, UNSET)
        return self._tell(lambda target: SubagentEnded(**_at(target), child=child))

    def _tell(
        self, make: Callable[[Target], SubagentCall | SubagentText | SubagentEnded]
    ) -> list[Announcement]:
        return [
            Announcement(
                event=make(target),
                space_id=target.place.space_id,
                run_id=target.run_id,
                audience=target.audience,
            )
            for target in self._targets
        ]


def text_told(steps: Iterable[Step]) -> str:
    """What a run wrote, as the parts tell it that show it."""
    return "".join(step.text for step in steps if not step.is_withheld)


def _at(target: Target) -> dict[str, Any]:
    return {
        "space_id": target.place.space_id,
        "message_id": target.place.message_id,
        "part_id": target.place.part_id,
        "tool_call_id": target.call_id,
        "path": list(target.path),
    }


def seen_call(call: Call, child: Child | Unset = UNSET) -> ChildCall | None:
    """A sub-agent's call as the delegation shows it; None when it is not to be seen."""
    if call.seen_inside is Visibility.HIDDEN:
        return None
    if call.status == "waiting" and call.told is not UNSET:
        call = msgspec.structs.replace(call, status="complete", result=call.told)
    whole = call.seen_inside is Visibility.FULL
    tells = call.seen_inside in (Visibility.FULL, Visibility.RESULT) and not call.is_withheld
    failed = call.status == "error"
    return ChildCall(
        tool_call_id=call.id,
        tool_name=call.tool_name,
        status=_CALL_STATUS.get(call.status, "running"),
        args=call.args if whole else UNSET,
        result=call.result if call.status == "complete" and tells else UNSET,
        error=((tells and call.error) or "failed") if failed else UNSET,
        child=child if whole else UNSET,
    )


def child_of(run: Run, text: str, calls: list[ChildCall] | Unset) -> Child:
    has_ended = run.ended
    return Child(
        run_id=run.id,
        agent_id=run.called_as.agent_id if run.called_as is not UNSET else run.agent_id,
        name=run.called_as.name if run.called_as is not UNSET else run.agent_id,
        status=_STATUS.get(run.status, "running"),
        text=text,
        calls=calls,
        finish_reason=_finish_reason(run) if has_ended else None,
        usage=(run.usage or None) if has_ended else None,
    )


def _finish_reason(run: Run) -> str:
    if run.status == "completed":
        return "stop"
    if run.status == "canceled":
        return "canceled"
    return "tool-calls" if run.error is not UNSET and run.error.code == "limit" else "error"


def trees(descent: Descent) -> dict[str, Child]:
    """What each call started, with all below it, by the id of the call."""
    started: dict[str, Run] = {run.parent_call_id: run for run in descent.runs if run.parent_call_id}
    calls: dict[str, list[Call]] = {}
    for call in descent.calls:
        calls.setdefault(call.run_id, []).append(call)
    steps: dict[str, list[Step]] = {}
    for step in descent.steps:
        steps.setdefault(step.run_id, []).append(step)

    below = _Below(started, calls, steps)
    return {call_id: below.tree(run) for call_id, run in started.items()}


@dataclass(frozen=True, slots=True)
class _Below:
    started: Mapping[str, Run]
    calls: Mapping[str, Sequence[Call]]
    steps: Mapping[str, Sequence[Step]]

    def tree(self, run: Run) -> Child:
        seen = [seen_call(call, self._child(call)) for call in self.calls.get(run.id, ())]
        text = text_told(self.steps.get(run.id, ()))
        return child_of(run, text, [call for call in seen if call is not None])

    def _child(self, call: Call) -> Child | Unset:
        run = self.started.get(call.id)
        return self.tree(run) if run is not None else UNSET


def with_trails(message: Message, found: Mapping[str, Child]) -> Message:
    """The message with what its sub-agents have done so far."""
    if not delegations(message):
        return message
    parts = [
        msgspec.structs.replace(part, child=found[part.tool_call_id])
        if isinstance(part, ToolCallPart) and part.child is not UNSET and part.tool_call_id in found
        else part
        for part in message.parts
    ]
    return msgspec.structs.replace(message, parts=parts)


async def spaces_showing(store: Store, run: Run) -> list[str]:
    """Where a run shows itself, or is shown inside the part of the call that it answers."""
    return list(dict.fromkeys([*run.shown_in, *await spaces_above(store, run)]))


async def spaces_above(store: Store, run: Run) -> list[str]:
    """Where a run is shown inside the parts of the calls above it."""
    return [target.place.space_id for target in await _targets(store, run)]


async def find_trail(store: Store, run: Run) -> Trail | None:
    """For a run that another one called: the parts above it that may show it."""
    if run.parent_call_id is UNSET:
        return None
    return Trail(run, await _targets(store, run), await store.steps(run.id))


async def _targets(store: Store, run: Run) -> list[Target]:
    targets: list[Target] = []
    path: tuple[str, ...] = ()
    call_id: str | Unset = run.parent_call_id
    while call_id:
        call = await store.call(call_id)
        if call is None:
            break
        if call.visibility is Visibility.FULL:
            audience = call.target_entity_id or None
            targets += [Target(place, call.run_id, call.id, path, audience) for place in call.places]
        caller = await store.run(call.run_id)
        if caller is None or call.seen_inside is not Visibility.FULL:
            break
        path, call_id = (call.id, *path), caller.parent_call_id
    return targets


class HasParts(Protocol):
    def part(self, space_id: str, part_id: str) -> Part | None: ...


def show_trees(voice: HasParts, calls: Sequence[Call], descent: Descent) -> None:
    """The parts of these calls get all that happened inside."""
    found = trees(descent)
    for call in calls:
        for place in call.places:
            part = voice.part(place.space_id, place.part_id)
            if isinstance(part, ToolCallPart) and part.child is not UNSET and call.id in found:
                part.child = found[call.id]
