"""A recording as messages of a space: the person's by its owner, the rest by one agent.

Every id is made of the space's and the recording's own: the same recording gives the same messages again.
"""

import hashlib
from collections import Counter

import msgspec

from roomful.domain.messages import Message, Part, ReasoningPart, TextPart, ToolCallPart
from roomful.domain.shape import Json, encode_json
from roomful.recall.mastra.calls import RecordedCall, recorded_call
from roomful.recall.mastra.reading import Object, Recording, Said, is_call
from roomful.recall.mastra.trails import Trails

ORPHAN = "A sub-agent worked on this, and no recorded call says why:"


class Into(msgspec.Struct, frozen=True):
    """Where to, by whom, and the time of what has none of its own."""

    space_id: str
    owner_id: str
    agent_id: str
    at: str


class Imported(msgspec.Struct, frozen=True):
    """`notes` say what is kept otherwise than one might expect, one sentence each."""

    messages: list[Message]
    notes: list[str]


def imported(recording: Recording, into: Into) -> Imported:
    trails = Trails(recording)
    seen: Counter[tuple[str, ...]] = Counter()
    messages: list[Message] = []
    for said in recording.said:
        key = (said.thread_id, said.id, said.created_at or "")
        messages.append(_Making(into, trails, (*key, seen[key])).message(said))
        seen[key] += 1
    for call, agent_id in trails.orphans():
        messages.append(_Making(into, trails, ("orphan", call.thread_id)).orphan(call, agent_id))
    return Imported(messages, trails.notes)


class _Making:
    """One message, part by part."""

    def __init__(self, into: Into, trails: Trails, key: tuple[Json, ...]) -> None:
        self._into = into
        self._trails = trails
        self._id = _id("msg", into.space_id, *key)
        self._parts: list[Part] = []

    def message(self, said: Said) -> Message:
        if said.role in ("user", "assistant"):
            for part in said.parts:
                self._add(part, said.id)
        else:
            self._keep({"type": f"{said.role}-message", "parts": said.parts}, f"message {said.id}")
        return self._made(said.role == "user", said.created_at)

    def orphan(self, call: RecordedCall, agent_id: str) -> Message:
        self._parts.append(TextPart(id=self._next("prt"), text=ORPHAN))
        self._call(call, agent_id)
        return self._made(False, None)

    def _made(self, is_owners: bool, created_at: str | None) -> Message:
        into = self._into
        return Message(
            id=self._id,
            space_id=into.space_id,
            entity_id=into.owner_id if is_owners else into.agent_id,
            seq=0,
            status="final",
            role="user" if is_owners else "assistant",
            parts=self._parts,
            created_at=created_at or into.at,
            updated_at=created_at or into.at,
        )

    def _add(self, part: Object, message_id: str) -> None:
        type: str = part["type"]
        if is_call(part):
            call = recorded_call(part)
            self._call(call, call.agent_id)
        elif type == "text":
            cut_off = part.get("state") == "streaming"
            status = "canceled" if cut_off else "complete"
            self._parts.append(TextPart(id=self._next("prt"), text=part["text"], status=status))
        elif type == "reasoning":
            self._parts.append(ReasoningPart(id=self._next("prt"), text=part["text"]))
        elif type != "step-start":
            self._keep(part, f"message {message_id}")

    def _call(self, call: RecordedCall, agent_id: str | None) -> None:
        made = ToolCallPart(
            id=self._next("prt"),
            tool_call_id=self._next("call"),
            tool_name=call.tool_name,
            status=call.status,
            args=call.args,
            result=call.result,
            error=call.error,
            provider_call_id=call.id,
        )
        self._parts.append(made)
        if agent_id is not None:
            made.child = self._trails.child(call, agent_id)
            for thread_id, part in self._trails.rest:
                self._keep(part, f"thread {thread_id}")
            self._trails.rest.clear()

    def _keep(self, part: Object, place: str) -> None:
        """A part that Roomful has no kind for: as the result of a call that bears its name."""
        self._trails.notes.append(f"{place}: a part {part['type']!r} is kept as data")
        self._parts.append(
            ToolCallPart(
                id=self._next("prt"),
                tool_call_id=self._next("call"),
                tool_name=f"mastra.{part['type']}",
                status="complete",
                args={"from": place},
                result=part,
            )
        )

    def _next(self, prefix: str) -> str:
        return _id(prefix, self._id, len(self._parts))


def _id(prefix: str, *made_of: Json) -> str:
    return f"{prefix}_{hashlib.sha256(encode_json(made_of)).hexdigest()[:32]}"
