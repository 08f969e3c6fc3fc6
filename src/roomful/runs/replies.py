"""A message is the reply that a run waits for: the first that matches, in that space, by one of those."""

from collections.abc import Sequence
from typing import Any, cast, get_args

import msgspec

from roomful.domain.changes import Change
from roomful.domain.entities import EntityKind
from roomful.domain.events import Announcement
from roomful.domain.ports import Clock, Store
from roomful.domain.run_changes import ExpectCall, SaveCalls, Unblock
from roomful.domain.runs import Awaited, Call, Run
from roomful.domain.shape import UNSET, Json
from roomful.domain.spaces import Member
from roomful.runs.worker import Worker
from roomful.spaces.announcer import Announcer
from roomful.spaces.run_news import run_event

_KINDS: tuple[EntityKind, ...] = get_args(EntityKind)


class Said(msgspec.Struct, frozen=True):
    """A message that may be a reply."""

    space_id: str
    message_id: str
    entity_id: str
    kind: str
    text: str
    run_id: str | None = None


class Reply(msgspec.Struct, frozen=True):
    """A call that a message settles."""

    call: Call
    run: Run


class Replies:
    def __init__(self, *, store: Store, worker: Worker, announcer: Announcer, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._worker = worker
        self._announcer = announcer

    async def to(self, said: Said) -> list[Reply]:
        """What the message settles; nothing is stored yet."""
        found: list[Reply] = []
        for call in await self._store.replies_awaited(said.space_id):
            if call.run_id == said.run_id or call.awaited is UNSET:
                continue
            run = await self._store.run(call.run_id)
            is_there = run is not None and await self._store.role(said.space_id, run.agent_id) is not None
            if run is not None and is_there and _matches(call.awaited, said, run):
                reply = {"messageId": said.message_id, "from": said.entity_id, "text": said.text}
                found.append(Reply(_settled(call, reply).settled(self._clock.iso()), run))
        return found

    def changes(self, replies: Sequence[Reply]) -> list[Change]:
        """Conflict, with the call as its outcome, when another message was first. Three for each reply."""
        found: list[Change] = []
        for reply in replies:
            found += [ExpectCall(reply.call.id), SaveCalls((reply.call,)), Unblock(reply.run.id)]
        return found

    def came(self, replies: Sequence[Reply], results: Sequence[Any]) -> None:
        """They are stored; `results` are what the store answered to their changes."""
        for index, reply in enumerate(replies):
            now: Run | None = results[3 * index + 2]
            if now is None:
                continue
            self._announcer(
                [
                    Announcement(event=run_event(now, space_id), space_id=space_id, run_id=now.id)
                    for space_id in now.shown_in
                ]
            )
            if now.status == "queued":
                self._worker.claim_soon(reply.run.id)


def _matches(awaited: Awaited, said: Said, run: Run) -> bool:
    if said.entity_id == run.agent_id:
        return said.entity_id in awaited.entity_ids
    return awaited.includes(said.entity_id, said.kind)


def without_reply(call: Call, **why: Json) -> Call:
    """None came, or none can."""
    return _settled(call, None, **why)


def _settled(call: Call, reply: Json, **more: Json) -> Call:
    sent = call.places[0].message_id if call.places else None
    result: dict[str, Json] = {"sent": True, "messageId": sent, "reply": reply, **more}
    settled = msgspec.structs.replace(call, status="complete", result=result, deadline=UNSET)
    if reply is not None:
        settled.read(*(place.space_id for place in call.places))
    return settled


def awaited_by(wait: Json, space_id: str, mentions: Sequence[str]) -> Awaited:
    """Who may reply: as the call says, else whom it mentions, else anybody."""
    given = cast("dict[str, Json]", wait) if isinstance(wait, dict) else {}
    rules: list[dict[str, Json]] = given.get("for") or []
    if not rules:
        if mentions:
            return Awaited(space_id=space_id, entity_ids=list(mentions))
        return Awaited(space_id=space_id, kinds=[*_KINDS])
    kinds: list[Any] = []
    for rule in rules:
        if rule["type"] == "any":
            kinds += _KINDS
        elif rule["type"] in _KINDS:
            kinds.append(rule["type"])
    named = [str(rule["entityId"]) for rule in rules if rule.get("entityId")]
    return Awaited(space_id=space_id, kinds=list(dict.fromkeys(kinds)), entity_ids=named)


def nobody_can(awaited: Awaited, members: Sequence[Member], own_id: str) -> str | None:
    """Why no reply can ever come, or None."""
    others = [member for member in members if member.entity_id != own_id and member.role != "reader"]
    if any(awaited.includes(member.entity_id, member.kind) for member in others):
        return None
    return "nobody whose reply you wait for is in this space"
