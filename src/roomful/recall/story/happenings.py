"""What happened to the house from outside in a story, in its order."""

from collections.abc import Iterator
from typing import cast

from roomful.domain.grants import Grant, hash_of
from roomful.domain.runs import SETTLED, Call, Run
from roomful.domain.shape import UNSET, Json, encode_json
from roomful.domain.spaces import Role
from roomful.domain.tools import Visibility
from roomful.recall.story.acts import (
    Act,
    Allow,
    Answer,
    Begin,
    CallBack,
    Cancel,
    Expire,
    Give,
    Join,
    Leave,
    Post,
    ReplyElsewhere,
    Revoke,
    Vote,
)
from roomful.recall.story.records import Story, ToldRun

NOT_IN_SPACE = "you are not in this space any more"
"""What a run is told that waits for a reply where its agent is not any more."""


def acts_of(story: Story, given_runs: set[str], given_messages: set[str]) -> list[Act]:
    told = [one for one in story.runs if one.run.id not in given_runs]
    found: list[Act] = [*_company(story)]
    for message in story.messages:
        if message.id in given_messages:
            found.append(Give(message=message, at=message.created_at, seq=message.seq))
        elif not message.run_id:
            found.append(Post(message=message, at=message.created_at, seq=message.seq))
    spoken = _spoken(story, told)
    found += _beginnings(story, told, spoken - given_messages)
    for one in told:
        for call in one.calls:
            found += _about_call(call, spoken)
    found += _cancels(story, told)
    found += _grants(story, told)
    return sorted(found, key=lambda act: (act.at, act.seq))


def _spoken(story: Story, told: list[ToldRun]) -> set[str]:
    """The messages that the story itself brings about, in whatever space."""
    places = {place.message_id for one in told for call in one.calls for place in call.places}
    return places | {message.id for message in story.messages}


def _beginnings(story: Story, told: list[ToldRun], spoken: set[str]) -> Iterator[Act]:
    calls = {call.id for one in story.runs for call in one.calls}
    late = [call for one in told for call in one.calls if call.told is not UNSET and call.answered_by]
    begun: set[tuple[str, str]] = set()
    for one in told:
        run, trigger = one.run, one.run.trigger
        if run.parent_call_id is not UNSET and run.parent_call_id in calls:
            continue
        if trigger.type == "answer" and _came_of(trigger.payload, late):
            continue
        key = (run.agent_id, trigger.message_id or "")
        is_again = key in begun and run.started_by is UNSET
        begun.add(key)
        if trigger.type in ("message", "mention") and trigger.message_id in spoken and not is_again:
            continue
        yield Begin(run=run, at=run.created_at)


def _came_of(payload: Json, late: list[Call]) -> bool:
    told = [{"toolName": call.tool_name, "args": call.args, "result": call.result} for call in late]
    return payload in told


def _about_call(call: Call, spoken: set[str]) -> Iterator[Act]:
    for vote in call.answers or ():
        yield Vote(call=call, vote=vote, at=vote.at)
    if call.answered_by is not UNSET:
        yield Answer(call=call, at=call.answered_at or "")
    elif call.waits_for == "callback" and call.status == "complete":
        yield CallBack(call=call, at=call.answered_at or "")
    elif call.waits_for in ("answer", "approval", "callback") and call.answered_at is not UNSET:
        yield Expire(call_id=call.id, at=call.answered_at)
    elif call.waits_for == "reply" and call.status in SETTLED:
        yield from _reply(call, spoken)


def reply_to(call: Call) -> dict[str, Json] | None:
    """The message that a call waited for, as its run was told."""
    return _result(call).get("reply") if call.waits_for == "reply" else None


def _result(call: Call) -> dict[str, Json]:
    result: Json = call.result
    return cast("dict[str, Json]", result) if isinstance(result, dict) else {}


def _reply(call: Call, spoken: set[str]) -> Iterator[Act]:
    reply = reply_to(call)
    if reply is None and _result(call).get("timedOut"):
        yield Expire(call_id=call.id, at=call.answered_at or "")
    elif reply is not None and reply.get("messageId") not in spoken:
        yield ReplyElsewhere(call=call, by=str(reply.get("from")), text=str(reply.get("text")))


def _cancels(story: Story, told: list[ToldRun]) -> Iterator[Act]:
    """Those who were stopped with their caller are stopped with it again."""
    calls = {call.id: call for one in story.runs for call in one.calls}
    for one in told:
        run = one.run
        caller = calls.get(run.parent_call_id or "")
        if run.status != "canceled" or (caller is not None and caller.status == "canceled"):
            continue
        if run.error is not UNSET and run.error.code == "timeout" and caller is not None:
            yield Expire(call_id=caller.id, at=run.ended_at or "")
        else:
            yield Cancel(run=run, at=run.ended_at or "")


def _company(story: Story) -> Iterator[Act]:
    """Agents that came later, and those who are gone: they stayed until their last run ended."""
    place = story.place
    here: dict[str, Role] = {member.entity_id: member.role for member in place.members}
    posts = {message.id: message.created_at for message in story.messages}
    runs = [told.run for told in story.runs if story.space_id in told.run.shown_in]
    for entity_id, at in place.joined.items():
        begun = [_began(run, posts) for run in runs if run.agent_id == entity_id]
        yield Join(entity_id=entity_id, role=here.get(entity_id, "member"), at=min([at, *begun]))
    gone = {entity.id for entity in story.entities if entity.kind == "agent" and entity.id not in here}
    for entity_id in dict.fromkeys(run.agent_id for run in runs if run.agent_id in gone):
        mine = [run for run in runs if run.agent_id == entity_id]
        yield Join(entity_id=entity_id, at=min(_began(run, posts) for run in mine))
        yield Leave(entity_id=entity_id, at=_left_at(story, mine))
    yield from _outside_agents(story, gone - {run.agent_id for run in runs})


def _outside_agents(story: Story, gone: set[str]) -> Iterator[Act]:
    """Agents without runs here who spoke and are gone: they stayed until the word after their last one."""
    for entity_id in sorted(gone):
        spoke = [at for at, message in enumerate(story.messages) if message.entity_id == entity_id]
        if spoke:
            yield Join(entity_id=entity_id, at=story.messages[spoke[0]].created_at)
            for following in story.messages[spoke[-1] + 1 :][:1]:
                yield Leave(entity_id=entity_id, at=following.created_at)


def _began(run: Run, posts: dict[str, str]) -> str:
    return min(run.created_at, posts.get(run.trigger.message_id or "", run.created_at))


def _left_at(story: Story, runs: list[Run]) -> str:
    """When a wait of theirs ended because they were gone, else with their last run."""
    ids = {run.id for run in runs}
    calls = [call for told in story.runs for call in told.calls if call.run_id in ids]
    told_so = [call.answered_at or "" for call in calls if _result(call).get("reason") == NOT_IN_SPACE]
    return min(told_so) if told_so else max(run.ended_at or run.created_at for run in runs)


def _grants(story: Story, told: list[ToldRun]) -> Iterator[Act]:
    """What agents were granted is seen by what they were not asked about. Some of it may be revoked since."""
    asking = {agent.id for agent in story.agents if b'"approval"' in encode_json(agent.config)}
    posts = {message.id: message.created_at for message in story.messages}
    for one in told:
        for call in one.calls if one.run.agent_id in asking else ():
            if call.waits_for == "approval" or call.answered_by is not UNSET:
                continue
            before = [other.answered_at or "" for other in one.calls if _agreed_before(other, call)]
            for space_id in call.space_ids:
                grant = _grant(one.run, call, space_id)
                yield Allow(grant=grant, at=max([_began(one.run, posts), *before]))
                if one.run.ended_at is not UNSET:
                    yield Revoke(grant=grant, at=one.run.ended_at)


def _agreed_before(other: Call, call: Call) -> bool:
    return other.waits_for == "approval" and other.step < call.step


def _grant(run: Run, call: Call, space_id: str) -> Grant:
    """For these arguments alone, unless it shows that the tool was granted whatever they are."""
    is_exact = call.visibility is Visibility.FULL
    return Grant(
        id=f"grt_{call.id}_{space_id}",
        space_id=space_id,
        agent_id=run.agent_id,
        tool_name=call.tool_name,
        granted_by=run.agent_id,
        created_at=run.created_at,
        args_hash=hash_of(call.tool_name, call.args) if is_exact else UNSET,
    )
