"""What a text leads to: those it mentions start to work, those who waited for it go on, and whoever said it
may wait for a reply. All of it is stored with the text's own outcome, or none."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias, cast

import msgspec

from roomful.domain.agents import Limits
from roomful.domain.changes import Change, SaveMessage
from roomful.domain.errors import Conflict, OverBound
from roomful.domain.events import Announcement
from roomful.domain.messages import Message, TextPart
from roomful.domain.ports import Store
from roomful.domain.runs import Awaited, Call, Run, Trigger
from roomful.domain.shape import Json
from roomful.domain.tools import Starts, TextShape, ToolSpec
from roomful.runs.bounds import Bounds
from roomful.runs.replies import Replies, Reply, Said, awaited_by, nobody_can
from roomful.runs.showing import show_bound
from roomful.runs.waking import Waking, Woken
from roomful.spaces.mentions import named_in
from roomful.spaces.voice import Voice


class Text(msgspec.Struct, frozen=True):
    """Something that a run said in a space."""

    space_id: str
    message_id: str
    words: str
    mentions: Sequence[str]
    named: Sequence[str] = ()
    """Whom it was meant for, members or not."""
    starts: Starts = "others"
    wait: Json = None


class Led(msgspec.Struct):
    """What it leads to, ready to be stored."""

    woken: list[Woken]
    replies: list[Reply]
    changes: list[Change]
    message: Message | None
    """The message, when it has to say what became of it."""
    result: dict[str, Json]
    awaited: Awaited | None


Settle: TypeAlias = Callable[[Led], list[Change]]


class Posting:
    def __init__(self, *, store: Store, waking: Waking, replies: Replies, bounds: Bounds) -> None:
        self._store = store
        self._waking = waking
        self._replies = replies
        self._bounds = bounds

    async def leads_nowhere(self, text: Text) -> bool:
        """Nobody is addressed, nobody waited for it, and it waits for nobody."""
        if text.mentions or text.named or text.wait:
            return False
        return not await self._store.replies_awaited(text.space_id)

    async def post(
        self, voice: Voice, text: Text, limits: Limits, settle: Settle, first: Sequence[Change] = ()
    ) -> None:
        """`settle` is given what came of the text and answers with the changes that go with it."""
        refused: dict[str, OverBound] = {}
        await voice.settled()
        while True:
            led = await self._lead(voice, text, limits, refused)
            changes = [*led.changes, *first, *settle(led)]
            try:
                await voice.try_kept(changes, lambda led=led: _news(voice, led), self._then(led))
            except OverBound as bound:
                refused[bound.whom or [w.run.agent_id for w in led.woken][-1]] = bound
                continue
            except Conflict:
                continue
            break
        for bound in {bound.bound: bound for bound in refused.values()}.values():
            await show_bound(voice, self._bounds, bound, text.space_id)

    async def _lead(self, voice: Voice, text: Text, limits: Limits, refused: dict[str, OverBound]) -> Led:
        run = voice.run
        said = Said(text.space_id, text.message_id, run.agent_id, "agent", text.words, run.id)
        replies = await self._replies.to(said)
        woken: list[Woken] = []
        changes = self._replies.changes(replies)
        for agent_id in self._to_start(text, replies):
            try:
                room = self._bounds.room_for(limits, run, agent_id)
            except OverBound as bound:
                room = []
                refused.setdefault(agent_id, bound)
            agent = None if agent_id in refused else await self._store.agent(agent_id)
            if agent is not None:
                trigger = Trigger(
                    type="mention",
                    space_id=text.space_id,
                    message_id=text.message_id,
                    entity_id=run.agent_id,
                )
                one = await self._waking.wake(agent, trigger, by=run)
                woken.append(one)
                changes += [*(room if one.new is not None else ()), one.change]
        noted = await self._noted(voice, text, woken)
        if noted is not None:
            changes.append(noted)
        result = self._result(text, woken, replies, refused)
        awaited = await self._awaited(run, text, result, refused)
        return Led(woken, replies, changes, noted and noted.message, result, awaited)

    def _to_start(self, text: Text, replies: Sequence[Reply]) -> list[str]:
        resumed = {one.run.agent_id for one in replies} if text.starts == "others" else frozenset[str]()
        return [who for who in text.mentions if who not in resumed] if text.starts != "nobody" else []

    async def _noted(self, voice: Voice, text: Text, woken: Sequence[Woken]) -> SaveMessage | None:
        notes = [one.note for one in woken if one.note is not None]
        if not notes:
            return None
        if (own := voice.note_woken(text.message_id, notes)) is not None:
            return SaveMessage(own)
        was = await self._store.message(text.space_id, text.message_id)
        return SaveMessage(msgspec.structs.replace(was, woke=notes), was) if was is not None else None

    async def _awaited(
        self, run: Run, text: Text, result: dict[str, Json], refused: Collection[str]
    ) -> Awaited | None:
        """Nobody waits for somebody who may not start."""
        if not text.wait:
            return None
        awaited = awaited_by(text.wait, text.space_id, text.mentions)
        members = await self._store.members(text.space_id)
        may_speak = [member for member in members if member.entity_id not in refused]
        why = nobody_can(awaited, may_speak, run.agent_id)
        if why is None:
            awaited.of_people = any(
                awaited.includes(member.entity_id, member.kind)
                for member in members
                if member.kind == "human"
            )
            return awaited
        result |= {"reply": None, "reason": why}
        return None

    def _result(
        self,
        text: Text,
        woken: Sequence[Woken],
        replies: Sequence[Reply],
        refused: Mapping[str, OverBound],
    ) -> dict[str, Json]:
        """What the model is told of it."""
        result: dict[str, Json] = {"sent": True, "messageId": text.message_id}
        if woken:
            result["started"] = [
                {
                    "agentId": one.run.agent_id,
                    "runId": one.run.id,
                    **({"how": one.note.how} if one.note else {}),
                }
                for one in woken
            ]
        if replies:
            result["resumed"] = [{"agentId": one.run.agent_id, "runId": one.run.id} for one in replies]
        not_there = [who for who in text.named if who not in text.mentions]
        failed = {who: refused[who].detail for who in text.mentions if who in refused}
        failed |= dict.fromkeys(not_there, "is not a member of this space whom you can address")
        if text.starts == "nobody":
            resumed = {one.run.agent_id for one in replies}
            silent = [who for who in text.mentions if who not in resumed]
            failed |= dict.fromkeys(silent, "has no run that waits for you; send a message to start one")
        if failed:
            result["notStarted"] = [{"entityId": who, "reason": why} for who, why in failed.items()]
        return result

    def _then(self, led: Led) -> Callable[[list[Any]], None]:
        def then(results: list[Any]) -> None:
            self._replies.came(led.replies, results)
            self._waking.began(*led.woken)

        return then


def _news(voice: Voice, led: Led) -> list[Announcement]:
    """The words alone: other parts may be for one member, or grow at this moment."""
    if led.message is None:
        return []
    words = [part for part in led.message.parts if isinstance(part, TextPart)]
    return voice.whole(msgspec.structs.replace(led.message, parts=words))


def text_of(call: Call, spec: ToolSpec) -> Text:
    """The text that a call says. It has a place: somebody heard it."""
    assert isinstance(spec.shape, TextShape)
    shape, args = spec.shape, cast("dict[str, Json]", call.args)
    place = call.places[0]
    return Text(
        space_id=place.space_id,
        message_id=place.message_id,
        words=str(args.get(shape.from_arg, "")),
        mentions=call.mentions,
        named=named_in(args.get(shape.mentions_arg)) if shape.mentions_arg else (),
        starts=shape.starts,
        wait=args.get(shape.wait_arg) if shape.wait_arg else None,
    )


def reply_seconds(text: Text) -> float | None:
    wait: Json = text.wait
    if not isinstance(wait, dict):
        return None
    seconds = cast("dict[str, Json]", wait).get("timeout")
    return float(seconds) if seconds else None
