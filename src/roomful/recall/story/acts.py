"""What happened to the house from outside, in its order: people spoke, answered, agreed, stopped a run; time
ran out; and what cannot be told again, which is put in its place as it was."""

from collections.abc import Iterator
from typing import TypeAlias, cast

import msgspec

from roomful.domain.grants import Grant
from roomful.domain.messages import MemberAnswer, Message
from roomful.domain.runs import SETTLED, Call, Run
from roomful.domain.shape import UNSET, Json
from roomful.recall.story.records import Story, ToldRun


class _Act(msgspec.Struct, frozen=True, kw_only=True):
    at: str = ""
    """When; empty when nobody wrote it down: as soon as it can be."""
    seq: int = 0
    """The place of the message that comes of it, if one does."""


class Post(_Act, frozen=True):
    message: Message


class Give(_Act, frozen=True):
    """A message that is put in its place as it was recorded."""

    message: Message


class Begin(_Act, frozen=True):
    """A run whose beginning lies outside the story."""

    run: Run


class Answer(_Act, frozen=True):
    call: Call


class Vote(_Act, frozen=True):
    call: Call
    vote: MemberAnswer


class CallBack(_Act, frozen=True):
    call: Call


class Expire(_Act, frozen=True):
    """Nobody answered this call in time."""

    call_id: str


class Cancel(_Act, frozen=True):
    run: Run


class Allow(_Act, frozen=True):
    grant: Grant


class ReplyElsewhere(_Act, frozen=True):
    """Somebody said what a run waited for in a space whose story this is not."""

    call: Call
    by: str
    text: str


Act: TypeAlias = Post | Give | Begin | Answer | Vote | CallBack | Expire | Cancel | Allow | ReplyElsewhere


def acts_of(story: Story, given_runs: set[str], given_messages: set[str]) -> list[Act]:
    told = [one for one in story.runs if one.run.id not in given_runs]
    found: list[Act] = [Allow(grant=grant, at=grant.created_at) for grant in story.grants]
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
    return any(
        payload == {"toolName": call.tool_name, "args": call.args, "result": call.result} for call in late
    )


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
