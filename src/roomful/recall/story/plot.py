"""How a story is told again: what happens of itself, what is brought about, what is only put in its place,
and what has to wait for what."""

import msgspec

from roomful.domain.agents import Agent
from roomful.domain.grants import hash_of
from roomful.domain.messages import Message, Part, TextPart, ToolCallPart
from roomful.domain.runs import MOVED, Call, Handed
from roomful.domain.shape import UNSET
from roomful.recall.story.acts import Act
from roomful.recall.story.happenings import acts_of, reply_to
from roomful.recall.story.records import Asked, CutOff, Story, ToldRun, ToldStep
from roomful.spaces.mentions import who_wakes


class Plot(msgspec.Struct):
    story: Story
    runs: dict[str, ToldRun]
    calls: dict[str, Call]
    given_runs: dict[str, str]
    """Runs that are not told again, and why."""
    given_messages: dict[str, str]
    """Messages that are put in their place as they were recorded, and why."""
    left_out: dict[str, str]
    """What is not compared of a message, and why, by the message's id."""
    changed: list[str]
    """Agents whose configuration was changed after their first run."""
    acts: list[Act]
    first_parts: dict[str, Message]
    """The message that a part begins, by the part's id."""

    def begins(self, step: ToldStep, at: int) -> Message | None:
        """The message of the space that the run begins with what it says here."""
        said = step.said[at]
        if isinstance(said, Asked):
            found = [place.part_id for place in self.calls[said.call_id].places]
        elif isinstance(said, CutOff):
            found = [said.part.id]
        else:
            found = [said.part_id] if said.part_id is not UNSET else []
        return next((self.first_parts[one] for one in found if one in self.first_parts), None)

    def end_of(self, told: ToldRun, step: ToldStep) -> str:
        """When what the run said in this step took effect, as far as that can be seen; else nothing."""
        run = told.run
        if step is told.steps[-1] and step.is_whole and run.status == "completed":
            return run.ended_at or ""
        made = {call.id: call for call in told.calls if call.step == step.number}
        messages = {place.message_id for call in made.values() for place in call.places}
        led_to = [
            other.run.created_at
            for other in self.story.runs
            if other.run.parent_call_id in made
            or (other.run.trigger.message_id in messages and other.run.started_by == run.agent_id)
        ]
        return min(led_to, default="")

    def comparable(self, message: Message) -> Message:
        """Without what cannot come out the same."""
        if message.id not in self.left_out:
            return message
        parts: list[Part] = [
            msgspec.structs.replace(part, approval=UNSET) if isinstance(part, ToolCallPart) else part
            for part in message.parts
        ]
        return msgspec.structs.replace(message, woke=UNSET, parts=parts)

    def awaits(self, told: ToldRun, step: ToldStep) -> list[str]:
        """The messages that the run must have been handed before it comes to the end of this step."""
        late = [one.message_id for one in told.handed if one.step == MOVED and _stops(told, one) is step]
        return [one.message_id for one in told.handed if one.step == step.number + 1] + late


def _stops(told: ToldRun, handed: Handed) -> ToldStep:
    """The step with which the run began to wait, or ended, before it got to the message."""
    for step in told.steps:
        waits = [call for call in told.calls if call.step == step.number and call.waits_for is not UNSET]
        if any((call.answered_at or "") >= handed.at for call in waits if call.told is UNSET):
            return step
    return told.steps[-1]


def plot_of(story: Story) -> Plot:
    runs = {told.run.id: told for told in story.runs}
    given_runs = _given_runs(story)
    given_messages = _given_messages(story, given_runs)
    return Plot(
        story=story,
        runs=runs,
        calls={call.id: call for told in story.runs for call in told.calls},
        given_runs=given_runs,
        given_messages=given_messages,
        left_out=_left_out(story),
        changed=[agent.id for agent in story.agents if _is_changed(story, agent)],
        acts=acts_of(story, set(given_runs), set(given_messages)),
        first_parts={message.parts[0].id: message for message in story.messages if message.parts},
    )


def _given_runs(story: Story) -> dict[str, str]:
    agents = {agent.id for agent in story.agents}
    deleted = {message.run_id for message in story.messages if message.deleted}
    given: dict[str, str] = {}
    for told in story.runs:
        run = told.run
        if run.status in ("queued", "running"):
            given[run.id] = "still going on when the story was written"
        elif run.agent_id not in agents:
            given[run.id] = f"its agent {run.agent_id!r} is no more"
        elif run.id in deleted:
            given[run.id] = "a message of it was deleted"
        elif any(step.is_repeated for step in told.steps):
            given[run.id] = "the gateway stopped, and its model had to say something again"
        elif run.status == "failed" and any(call.status == "running" for call in told.calls):
            given[run.id] = "it failed in the middle of one of its calls"
        elif any(call.status == "unknown" for call in told.calls):
            given[run.id] = "the gateway stopped in the middle of one of its calls"
    return _with_those_below(story, given)


def _with_those_below(story: Story, given: dict[str, str]) -> dict[str, str]:
    """A run is told again only with all that it calls, and with the one that calls it."""
    callers = {call.id: told.run.id for told in story.runs for call in told.calls}
    links = [(told.run.id, callers.get(told.run.parent_call_id or "")) for told in story.runs]
    while True:
        more = {
            one: given[other]
            for child, parent in links
            for one, other in ((child, parent), (parent, child))
            if parent is not None and one is not None and other in given and one not in given
        }
        if not more:
            return given
        given |= more


def _given_messages(story: Story, given_runs: dict[str, str]) -> dict[str, str]:
    runs = {told.run.id for told in story.runs}
    given: dict[str, str] = {}
    for message in story.messages:
        if message.run_id in given_runs:
            given[message.id] = given_runs[message.run_id or ""]
        elif message.deleted:
            given[message.id] = "deleted: what it said is not known"
        elif message.run_id is UNSET and not _is_a_post(message):
            given[message.id] = "came from elsewhere: no run of this house made it"
        elif message.run_id is not UNSET and message.run_id not in runs:
            given[message.id] = "its run is not known"
        elif message.run_id is UNSET and _woke_nobody_then(story, message):
            given[message.id] = (
                "woke nobody when it was written, and would now: imported, or others were here"
            )
    return given


def _left_out(story: Story) -> dict[str, str]:
    found: dict[str, str] = {}
    for message in story.messages:
        if _is_busy_elsewhere(story, message):
            found[message.id] = "the note that its agent was busy, which was in another space"
        if any(_is_edited(part) for part in message.parts):
            found[message.id] = "the card with the arguments before somebody edited them"
    return found


def _is_edited(part: Part) -> bool:
    """The card was bound to other arguments than those that were executed."""
    if not isinstance(part, ToolCallPart) or part.approval is UNSET or part.args is UNSET:
        return False
    return part.approval.args_hash != hash_of(part.tool_name, part.args)


def _is_busy_elsewhere(story: Story, message: Message) -> bool:
    """It waited for a turn, and nobody of this story was before it."""
    queued = [note for note in message.woke or () if note.how == "queued"]
    runs = [told.run for told in story.runs if told.run.in_turn]
    return any(
        not any(
            run.agent_id == note.agent_id
            and run.id != note.run_id
            and run.created_at <= message.created_at <= (run.ended_at or message.created_at)
            for run in runs
        )
        for note in queued
    )


def _is_changed(story: Story, agent: Agent) -> bool:
    runs = [told.run for told in story.runs if told.run.agent_id == agent.id]
    return any(run.created_at < agent.updated_at for run in runs)


def _is_a_post(message: Message) -> bool:
    return message.role == "user" and all(
        isinstance(part, TextPart) and part.tool_call_id is UNSET for part in message.parts
    )


def _woke_nobody_then(story: Story, message: Message) -> bool:
    place = story.place
    there = [one for one in place.members if place.joined.get(one.entity_id, "") <= message.created_at]
    agents = {agent.id for agent in story.agents}
    woken = [
        one for one in who_wakes(place.space, there, message.entity_id, message.mentions) if one in agents
    ]
    replies = [reply for told in story.runs for call in told.calls if (reply := reply_to(call)) is not None]
    replied = any(reply.get("messageId") == message.id for reply in replies)
    started = any(told.run.trigger.message_id == message.id for told in story.runs)
    handed = any(one.message_id == message.id for told in story.runs for one in told.handed)
    return bool(woken) and not (replied or started or handed)
