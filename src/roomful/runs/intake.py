"""A person's message comes in: it is stored, the agents it wakes get their runs, all in one commit."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from roomful.domain.agents import Agent
from roomful.domain.changes import AddMessage, Change, Recall, ShowBlob
from roomful.domain.entities import Principal
from roomful.domain.errors import Conflict, Invalid, NotFound, OverBound, RateLimited
from roomful.domain.events import Announcement, MessageChanged
from roomful.domain.messages import Message, TextPart
from roomful.domain.ports import Clock, Ids, KnownAnswer, Store
from roomful.domain.runs import Call, Handed, Run, Trigger
from roomful.domain.shape import UNSET, Json, Noun, check_id, clean_text, encode_json
from roomful.domain.spaces import Member
from roomful.runs.bounds import Bounds
from roomful.runs.replies import Replies, Said
from roomful.runs.starting import NewRun, Starting
from roomful.runs.waking import Waking
from roomful.spaces.access import Access
from roomful.spaces.announcer import Announcer
from roomful.spaces.mentions import check_mentions, find_mentions, who_wakes

TEXT_LIMIT = 100_000
MOST_ATTACHMENTS = 16


class Posted(msgspec.Struct):
    message: Message
    runs: list[Run]
    replayed: bool = False


class _Remembered(Noun):
    message_id: str
    run_ids: list[str]


class Intake:
    def __init__(
        self,
        *,
        store: Store,
        access: Access,
        announcer: Announcer,
        starting: Starting,
        waking: Waking,
        replies: Replies,
        bounds: Bounds,
        clock: Clock,
        ids: Ids,
        admit: Callable[[Principal, str], None] = lambda principal, space_id: None,
    ) -> None:
        """`admit` raises RateLimited for one post too many in a space, by somebody who may post there."""
        self._admit = admit
        self._store = store
        self._access = access
        self._announcer = announcer
        self._starting = starting
        self._waking = waking
        self._replies = replies
        self._bounds = bounds
        self._clock = clock
        self._ids = ids

    async def post(
        self,
        principal: Principal,
        space_id: str,
        *,
        text: str,
        mentions: Sequence[str] = (),
        client_message_id: str | None = None,
        reply_to: str | None = None,
        attachments: Sequence[str] = (),
        key: str | None = None,
        digest: bytes = b"",
    ) -> Posted:
        space, members = await self._access.company(principal, space_id)
        if key is not None and (known := await self._store.known_answer(principal.entity_id, key)):
            return await self._again(space_id, known, digest)
        self._admit(principal, space_id)
        message = self._message(
            principal.entity_id, space_id, checked_text(text, attachments), members, mentions
        )
        if client_message_id is not None:
            message.client_message_id = client_message_id
        if reply_to is not None:
            await self._check_reply(space_id, reply_to)
            message.reply_to = reply_to
        message.attachments = await self._attached(principal, attachments)
        woken = who_wakes(space, members, principal.entity_id, message.mentions)
        kind = next((one.kind for one in members if one.entity_id == principal.entity_id), "human")
        while True:
            try:
                return await self._store_all(message, kind, woken, key, digest)
            except OverBound as bound:
                raise RateLimited(f"agents that talk with each other have a bound: {bound.detail}") from None
            except Conflict as conflict:
                known = await self._store.known_answer(principal.entity_id, key) if key else None
                if known is not None:
                    return await self._again(space_id, known, digest)
                if not isinstance(conflict.outcome, Call | Handed):
                    raise

    async def trigger(
        self,
        principal: Principal,
        agent_id: str,
        payload: Json,
        also: Callable[[Run], Sequence[Change]] = lambda _: (),
    ) -> Run:
        """A run that no message starts: it is in no space until it enters or names one. `also` is stored
        with it."""
        agent = await self._store.agent(agent_id)
        if agent is None:
            raise NotFound(f"there is no agent {agent_id!r}")
        new = self._starting.new(
            agent, Trigger(type="service", entity_id=principal.entity_id, payload=payload)
        )
        await self._store.commit([new.change, *also(new.run)], lambda _: self._starting.began(new))
        return new.run

    async def retry(self, failed: Run, also: Callable[[Run], Sequence[Change]] = lambda _: ()) -> Run:
        """What started a failed run starts a new one. `also` is stored with it."""
        agent = await self._check_retry(failed)
        new = self._starting.new(agent, msgspec.structs.replace(failed.trigger))
        stored = new.stored
        await self._store.commit([new.change, *also(stored)], lambda _: self._starting.began(new))
        return stored

    async def ask_again(self, principal: Principal, message: Message, agent_id: str | None) -> Run | None:
        """A message that was said before starts a new run of the agent, or of the first one it woke."""
        space, members = await self._access.company(principal, message.space_id)
        woken = [agent_id] if agent_id else who_wakes(space, members, message.entity_id, message.mentions)
        agent = await self._store.agent(woken[0]) if woken else None
        if agent is None or message.deleted:
            return None
        new = self._starting.new(agent, _trigger(message, agent))
        stored = new.stored
        await self._store.commit([new.change], lambda _: self._starting.began(new))
        return stored

    async def message_by_key(self, principal: Principal, space_id: str, key: str) -> Message | None:
        """The message that was posted with this key."""
        known = await self._store.known_answer(principal.entity_id, key)
        if known is None:
            return None
        remembered = msgspec.json.decode(known.answer, type=_Remembered)
        return await self._store.message(space_id, remembered.message_id)

    async def _check_retry(self, run: Run) -> Agent:
        if run.status != "failed":
            raise Conflict(f"this run is {run.status}: only a failed one can be retried")
        if run.parent_call_id is not UNSET:
            raise Conflict("another run called this one and was told that it failed: retry that one")
        agent = await self._store.agent(run.agent_id)
        if agent is None:
            raise Conflict(f"the agent {run.agent_id!r} is no more")
        space_id, message_id = run.trigger.space_id, run.trigger.message_id
        if not space_id:
            return agent
        if await self._store.role(space_id, run.agent_id) is None:
            raise Conflict(f"the agent {run.agent_id!r} is not in {space_id!r} any more")
        message = await self._store.message(space_id, message_id) if message_id else None
        if message_id and (message is None or message.deleted):
            raise Conflict("the message that started this run was deleted")
        return agent

    async def _store_all(
        self, message: Message, kind: str, agents: Sequence[str], key: str | None, digest: bytes
    ) -> Posted:
        """The message, the runs that waited for it, and those it starts. An agent whose run waited for it is
        not woken once more. Conflict, with what was in the way, when that has changed: try again."""
        said = Said(message.space_id, message.id, message.entity_id, kind, message.text)
        replies = await self._replies.to(said)
        resumed = {reply.run.agent_id for reply in replies}
        woken = [
            await self._waking.wake(agent, _trigger(message, agent))
            for who in agents
            if who not in resumed and (agent := await self._store.agent(who))
        ]
        message.woke = [one.note for one in woken if one.note is not None] or UNSET
        changes = self._replies.changes(replies)
        runs = [*(reply.run for reply in replies), *(one.run for one in woken)]
        if key is not None:
            changes.append(self._recalled(message, runs, key, digest))
        if kind == "agent":
            changes += [self._started_outside(message.entity_id, one.new) for one in woken if one.new]
        changes += [one.change for one in woken]
        changes += [ShowBlob(blob_id, message.space_id) for blob_id in message.attachments]
        changes.append(AddMessage(message))

        def then(results: list[Any]) -> None:
            message.seq = results[-1]
            self._announce(message)
            self._replies.came(replies, results)
            self._waking.began(*woken)

        await self._store.commit(changes, then)
        return Posted(message=message, runs=runs)

    def _started_outside(self, agent_id: str, new: NewRun) -> Change:
        """Agents are counted, wherever they are: two that answer each other stop at some time."""
        new.run.started_by = agent_id
        return self._bounds.room_for_outside(agent_id, new.run)

    def _recalled(self, message: Message, runs: Sequence[Run], key: str, digest: bytes) -> Recall:
        remembered = _Remembered(message_id=message.id, run_ids=[run.id for run in runs])
        return Recall(
            owner=message.entity_id, key=key, digest=digest, status=201, answer=encode_json(remembered)
        )

    def _announce(self, message: Message) -> None:
        event = MessageChanged(space_id=message.space_id, message=msgspec.structs.replace(message))
        self._announcer([Announcement(event=event, space_id=message.space_id)])

    def _message(
        self, author: str, space_id: str, text: str, members: Sequence[Member], mentions: Sequence[str]
    ) -> Message:
        named = check_mentions(mentions, members) + find_mentions(text, members)
        now = self._clock.iso()
        return Message(
            id=self._ids.new("msg"),
            space_id=space_id,
            entity_id=author,
            seq=0,
            status="final",
            role="user",
            parts=[TextPart(id=self._ids.new("prt"), text=text)] if text.strip() else [],
            created_at=now,
            updated_at=now,
            mentions=list(dict.fromkeys(named)),
        )

    async def _attached(self, principal: Principal, blob_ids: Sequence[str]) -> list[str]:
        """Each once, and only what the author may have: from now on the whole space may."""
        if len(blob_ids) > MOST_ATTACHMENTS:
            raise Invalid(f"attachments: {len(blob_ids)} are too many; the limit is {MOST_ATTACHMENTS}")
        for blob_id in blob_ids:
            check_id(blob_id, "attachments:")
            try:
                await self._access.blob(principal, blob_id)
            except NotFound:
                raise Invalid(f"attachments: there is no file {blob_id!r} that you may see") from None
        return list(dict.fromkeys(blob_ids))

    async def _check_reply(self, space_id: str, reply_to: str) -> None:
        answered = await self._store.message(space_id, reply_to)
        if answered is None:
            raise Invalid(f"replyTo: there is no message {reply_to!r} in this space")
        if answered.role == "assistant" and not answered.text:
            raise Invalid("replyTo: a tool call cannot be replied to; reply to a text")

    async def _again(self, space_id: str, known: KnownAnswer, digest: bytes) -> Posted:
        """The same key again: the same answer, if it was the same question."""
        if known.digest != digest:
            raise Conflict("this idempotency key was used for a different request: use a new key")
        remembered = msgspec.json.decode(known.answer, type=_Remembered)
        message = await self._store.message(space_id, remembered.message_id)
        if message is None:
            raise NotFound(f"the message that this key made is not in {space_id!r}")
        runs = [await self._store.run(run_id) for run_id in remembered.run_ids]
        return Posted(message=message, runs=[run for run in runs if run is not None], replayed=True)


def _trigger(message: Message, agent: Agent) -> Trigger:
    return Trigger(
        type="mention" if agent.id in message.mentions else "message",
        space_id=message.space_id,
        message_id=message.id,
        entity_id=message.entity_id,
    )


def client_key(space_id: str, client_message_id: str) -> str:
    """What a message that its client has named is posted with, once."""
    return f"client:{space_id}:{client_message_id}"


def checked_text(text: str, attachments: Sequence[Any]) -> str:
    """The words of a message as they are kept. Raises Invalid."""
    if len(text) > TEXT_LIMIT:
        raise Invalid(f"text: {len(text)} characters are too many; the limit is {TEXT_LIMIT}")
    text = clean_text(text)
    if not text.strip() and not attachments:
        raise Invalid("text: say something, or attach a file")
    return text
