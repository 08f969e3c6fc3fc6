"""What the model is told before it says anything: who it is, where it is, what was said there lately."""

from collections.abc import Sequence

import msgspec

from roomful.domain.agents import AgentSpec
from roomful.domain.messages import Message, ReasoningPart, TextPart, ToolCallPart
from roomful.domain.plans import Plan
from roomful.domain.ports import Store
from roomful.domain.runs import Run
from roomful.domain.shape import UNSET, encode_json
from roomful.domain.spaces import Member, Space
from roomful.recall.plans import plan_in_words, plans_in_words
from roomful.spaces.history import History

HISTORY_MESSAGES = 20
PREVIEW = 400
"""Characters of a tool's input or output in the history; the agent can read the rest with a tool."""


class Scene(msgspec.Struct, frozen=True):
    """The spaces of an agent as of now, with their members."""

    spaces: tuple[Space, ...]
    members: dict[str, list[Member]]

    def has_member(self, space_id: str, entity_id: str) -> bool:
        return any(member.entity_id == entity_id for member in self.members.get(space_id, ()))


async def look_around(store: Store, agent_id: str) -> Scene:
    writable = [space for space, role in await store.spaces_of(agent_id) if role != "reader"]
    members = {space.id: await store.members(space.id) for space in writable}
    return Scene(spaces=tuple(writable), members=members)


async def describe(
    history: History, agent: AgentSpec, run: Run, scene: Scene, plans: Sequence[Plan] = ()
) -> str:
    """The system text: the author's instructions, then the facts of the moment."""
    blocks = [agent.instructions.strip()] if agent.instructions.strip() else []
    blocks.append(f"You are {agent.name} (entity id {agent.id}).")
    blocks.append(_places(scene, run))
    if (planned := plans_in_words(plans)) is not None:
        blocks.append(planned)
    blocks.append(_beginning(run, scene))
    if run.trigger.space_id is not UNSET:
        lines = await _recently(history, run, run.trigger.space_id, scene)
        if lines:
            blocks.append(f"Recent messages in {run.trigger.space_id}, oldest first:\n" + "\n".join(lines))
    return "\n\n".join(blocks)


def _beginning(run: Run, scene: Scene) -> str:
    trigger = run.trigger
    if trigger.space_id is UNSET:
        return f"This run was started by a {trigger.type}; no space is active."
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


async def _recently(history: History, run: Run, space_id: str, scene: Scene) -> list[str]:
    names = {member.entity_id: member.name for member in scene.members.get(space_id, ())}
    messages = await history.recent(space_id, run.agent_id, HISTORY_MESSAGES)
    return [
        f"{names.get(message.entity_id, message.entity_id)}: {summary}"
        for message in messages
        if message.id != run.trigger.message_id and (summary := in_words(message))
    ]


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
