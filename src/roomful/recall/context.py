"""What the model is told before it says anything: who it is, where it is, what was said there lately, and
what it noted before."""

from collections.abc import Sequence

import msgspec

from roomful.domain.agents import AgentSpec
from roomful.domain.messages import Message, ReasoningPart, TextPart, ToolCallPart
from roomful.domain.ports import Store
from roomful.domain.runs import Run
from roomful.domain.shape import UNSET, Unset, encode_json
from roomful.domain.spaces import Member, Space
from roomful.recall.notes import write_notes
from roomful.recall.plans import plan_in_words, plan_lines
from roomful.spaces.flow import spaces_of
from roomful.spaces.history import History
from roomful.spaces.scope import place_of, scope_at

HISTORY_MESSAGES = 20
PREVIEW = 400
"""Characters of a tool's input or output in the history; the agent can read the rest with a tool."""
OTHER_RUNS = 20
NEW = "--- new since your last run here ---"


class Scene(msgspec.Struct, frozen=True):
    """The spaces of an agent as of now, with their members."""

    spaces: tuple[Space, ...]
    members: dict[str, list[Member]]

    def has_member(self, space_id: str, entity_id: str) -> bool:
        return any(member.entity_id == entity_id for member in self.members.get(space_id, ()))


async def look_around(store: Store, agent_id: str) -> Scene:
    writable = [one for one in await store.company(agent_id) if one.role != "reader"]
    return Scene(
        spaces=tuple([one.space for one in writable]),
        members={one.space.id: one.members for one in writable},
    )


class Told(msgspec.Struct, frozen=True):
    """`system` is the author's instructions and the facts of the moment, `notes` what stands before the
    trigger's own words."""

    system: str
    notes: str
    read_spaces: Sequence[str] = ()
    """The spaces whose content both hold, beside the one where the run began."""
    recent: Sequence[Message] = ()
    """The last messages where the run began, told or not, as the agent sees them."""


async def describe(store: Store, history: History, agent: AgentSpec, run: Run, scene: Scene) -> Told:
    if run.called_as is not UNSET and run.called_as.is_inline and not run.called_as.include_context:
        return Told(system=_who(agent), notes="")
    shared = _told_of(run, scene)
    behind = await store.background(run, shared, OTHER_RUNS + 1)
    others = [other for other in behind.runs if other.id != run.id]
    sources = [note.space_id for note in (*behind.memories, *behind.goals, *behind.plans)]
    sources += [_began_in(other) for other in others]
    scope = await scope_at(store, run.agent_id, place_of(run), sources, scene.members)
    recent = [] if shared is None else await history.recent(shared, run.agent_id, HISTORY_MESSAGES)
    told = [_who(agent), _places(scene, run), _beginning(run, scene)]
    if lines := _recently(run, scene.members.get(shared or "", ()), recent, behind.began_before):
        told.append(f"Recent messages in {shared}, oldest first:\n" + "\n".join(lines))
    told += _elsewhere([other for other in others if scope.covers(_began_in(other))])
    memories = [memory for memory in behind.memories if scope.covers(memory.space_id)]
    goals = [goal for goal in behind.goals if scope.covers(goal.space_id)]
    plans = [plan for plan in behind.plans if plan.next_at and scope.covers(plan.space_id)]
    notes = write_notes(memories, goals, plan_lines(plans))
    read = (*([shared] if shared else ()), *spaces_of([*memories, *goals, *plans]))
    return Told(system="\n\n".join(told), notes=notes, read_spaces=read, recent=recent)


def _who(agent: AgentSpec) -> str:
    instructions = agent.instructions.strip()
    who = f"You are {agent.name} (entity id {agent.id})."
    return f"{instructions}\n\n{who}" if instructions else who


def _told_of(run: Run, scene: Scene) -> str | None:
    """The space whose messages the run is told: where it was triggered; of a called run that shares its
    caller's context, where that was, if it is a member there itself."""
    if run.trigger.space_id is not UNSET:
        return run.trigger.space_id
    shares = run.called_as is not UNSET and run.called_as.include_context
    return run.asks_in if shares and run.asks_in is not UNSET and run.asks_in in scene.members else None


def _began_in(run: Run) -> str | Unset:
    return run.trigger.space_id or run.asks_in


def _elsewhere(runs: Sequence[Run]) -> list[str]:
    if not runs:
        return []
    lines = ["Your other active runs:"]
    for run in runs:
        where = f" in {run.trigger.space_id}" if run.trigger.space_id else ""
        lines.append(f"- {run.id}: {run.status}, started by a {run.trigger.type}{where}")
    return ["\n".join(lines)]


def _beginning(run: Run, scene: Scene) -> str:
    trigger = run.trigger
    if trigger.space_id is UNSET:
        by = f"{trigger.entity_id} with " if trigger.entity_id else ""
        return f"This run was started by {by}a {trigger.type}; no space is active."
    names = {member.entity_id: member.name for member in scene.members.get(trigger.space_id, ())}
    who = f"{names.get(trigger.entity_id or '', 'somebody')} [{trigger.entity_id or ''}]"
    return f"This run was started by {who} with a {trigger.type} in {trigger.space_id}."


def _places(scene: Scene, run: Run) -> str:
    lines = ["Your spaces:"]
    for space in scene.spaces:
        here = " (active)" if space.id == run.active_space_id else ""
        people = ", ".join(f"{m.name} [{m.entity_id}, {m.kind}]" for m in scene.members[space.id][:50])
        lines.append(f"- {space.id}: {space.name}{here}; members: {people}")
    return "\n".join(lines) if scene.spaces else "You are in no space."


def _recently(run: Run, members: Sequence[Member], messages: Sequence[Message], seen_until: str) -> list[str]:
    """With a line before what came after `seen_until`, if that is not empty."""
    names = {member.entity_id: member.name for member in members}
    lines: list[str] = []
    for message in messages:
        summary = in_words(message)
        if message.id == run.trigger.message_id or not summary:
            continue
        if seen_until and message.entity_id != run.agent_id and message.created_at > seen_until:
            lines.append(NEW)
            seen_until = ""
        lines.append(f"{names.get(message.entity_id, message.entity_id)}: {summary}")
    return lines


def in_words(message: Message, limit: int = PREVIEW) -> str:
    """A message as one reads it aloud: its texts, and its tool calls, each value up to a limit."""
    said: list[str] = []
    for part in message.parts:
        match part:
            case TextPart():
                said.append(part.text)
            case ToolCallPart():
                said.append(_call_in_words(part, limit))
            case ReasoningPart():
                pass
    said += [f"[attachment {blob_id}]" for blob_id in message.attachments]
    return " ".join(said)


def _call_in_words(part: ToolCallPart, limit: int) -> str:
    shown = f"[{part.tool_name}"
    if part.args is not UNSET:
        shown += f" {_short(encode_json(part.args), limit)}"
    if part.result is not UNSET and part.result is not None:
        shown += f" → {_short(encode_json(part.result), limit)}"
    return f"{shown} ({part.status})]"


def _short(data: bytes, limit: int) -> str:
    text = data[: 4 * limit + 4].decode(errors="ignore")
    return text if len(text) <= limit else text[:limit] + "…"


def trigger_in_words(run: Run, message: Message | None) -> str:
    """The last thing the model reads before its first answer."""
    if run.trigger.type == "plan":
        return plan_in_words(run.trigger.payload)
    if message is None or run.trigger.payload is not UNSET:
        payload = run.trigger.payload
        if isinstance(payload, str):
            return payload
        return encode_json(payload).decode() if payload is not UNSET else "Begin."
    return message.text or "(no words, only what is attached)"
