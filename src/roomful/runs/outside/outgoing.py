"""From the spaces to the bus: what happens, for whoever follows, and letters to the agents it is meant for.
Nobody here waits for the bus: what is heard is put into bounded queues, which one task empties."""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from datetime import datetime
from typing import TypeAlias

from roomful.domain.envelopes import MessageEnvelope, Topics, address, chat_topic, stream_topic
from roomful.domain.errors import Unavailable
from roomful.domain.events import Announcement, MessageChanged
from roomful.domain.messages import Message
from roomful.domain.ports import Store
from roomful.domain.shape import UNSET
from roomful.domain.stream_events import encode_event
from roomful.runs.outside.followed import Followed
from roomful.spaces.mentions import who_wakes
from roomful.spaces.narrating import is_new

MOST_EVENTS = 10_000
MOST_BYTES = 16 * 1024 * 1024
MOST_LETTERS = 10_000
AT_ONCE = 500
REMEMBERED = 10_000
RETRY_SECONDS = 0.5

_Place: TypeAlias = tuple[str, str]
"""The ids of a space and of a message in it."""

log = logging.getLogger("roomful.outside")


class Outgoing:
    """An event that cannot be sent is lost, and its topic is emptied: cursors there are unknown from then
    on. A letter is kept and tried again until it was sent, it is one of too many, or the process ends."""

    def __init__(self, topics: Topics, *, store: Store, followed: Followed) -> None:
        self._topics = topics
        self._store = store
        self._followed = followed
        self._events: deque[tuple[str, bytes]] = deque()
        self._bytes = 0
        self._lost: set[str] = set()
        self._messages: deque[_Place] = deque()
        self._doubtful: deque[_Place] = deque(maxlen=MOST_LETTERS)
        """Messages in spaces that were not followed: one may be since a moment ago."""
        self._told: dict[tuple[str, str, str, str], None] = {}
        self._something = asyncio.Event()
        self._nothing = asyncio.Event()
        self._nothing.set()
        self._is_away = False

    def hear(self, announcements: Sequence[Announcement]) -> None:
        for announcement in announcements:
            if announcement.audience is not None or not announcement.space_id:
                continue
            event = announcement.event
            narrator = self._followed.narrators.get(announcement.space_id)
            if narrator is not None and (told := narrator.tell(event)) is not None:
                self._put_event(stream_topic(announcement.space_id), encode_event(told))
            if isinstance(event, MessageChanged) and _may_be_for_agents(event.message):
                place = (announcement.space_id, event.message.id)
                if narrator is not None:
                    self._put_message(place)
                else:
                    self._doubtful.append(place)

    async def look(self) -> None:
        """Finds out which spaces are followed now, and so what became of the messages that were doubtful."""
        doubtful = list(self._doubtful)
        await self._followed.look()
        for place in doubtful:
            if self._doubtful and self._doubtful[0] == place:
                self._doubtful.popleft()
            if place[0] in self._followed.narrators:
                self._put_message(place)

    def was_told(self, space_id: str, author: str, sent_as: str, recipient: str) -> None:
        """Who addresses an agent on the bus writes to it as well."""
        kind, _, name = recipient.partition(":")
        if kind == "agent":
            self._remember((space_id, author, sent_as, name.strip()))

    async def run(self) -> None:
        while True:
            await self._something.wait()
            self._something.clear()
            try:
                while self._messages or self._events or self._lost:
                    await self._send()
                self._nothing.set()
                self._is_away = False
            except Unavailable as error:
                if not self._is_away:
                    log.warning("agents outside have to wait: %s", error.detail)
                self._is_away = True
                await asyncio.sleep(RETRY_SECONDS)
                self._something.set()

    async def sent(self) -> None:
        """Returns when there is nothing left to send."""
        await self._nothing.wait()

    def _put_event(self, topic: str, data: bytes) -> None:
        self._events.append((topic, data))
        self._bytes += len(data)
        while len(self._events) > MOST_EVENTS or self._bytes > MOST_BYTES:
            self._lost.add(self._next_event()[0])
        self._wake()

    def _put_message(self, place: _Place) -> None:
        self._messages.append(place)
        if len(self._messages) > MOST_LETTERS:
            log.warning("agents outside are not told of message %s", self._messages.popleft()[1])
        self._wake()

    def _wake(self) -> None:
        self._nothing.clear()
        self._something.set()

    def _next_event(self) -> tuple[str, bytes]:
        topic, data = self._events.popleft()
        self._bytes -= len(data)
        return topic, data

    async def _send(self) -> None:
        try:
            while self._messages:
                place = self._messages.popleft()
                try:
                    await self._send_letters(*place)
                except Unavailable:
                    self._messages.appendleft(place)
                    raise
                except Exception:  # an outermost seam: one bad message stops no other
                    log.exception("agents outside are not told of message %s", place[1])
        finally:
            await self._send_events()

    async def _send_events(self) -> None:
        batch = [self._next_event() for _ in range(min(AT_ONCE, len(self._events)))]
        forgotten, self._lost = self._lost, set()
        try:
            await self._topics.publish(batch, sorted(forgotten))
        except BaseException:
            self._lost |= forgotten | {topic for topic, _ in batch}
            raise

    async def _send_letters(self, space_id: str, message_id: str) -> None:
        space = await self._store.space(space_id)
        message = await self._store.message(space_id, message_id)
        if space is None or message is None or message.deleted:
            return
        members = await self._store.members(space_id)
        is_agent = any(one.entity_id == message.entity_id and one.kind == "agent" for one in members)
        sender = address("agent" if is_agent else "human", message.entity_id)
        for agent_id in who_wakes(space, members, message.entity_id, message.mentions):
            key = (space_id, message.entity_id, message.client_message_id or message.id, agent_id)
            if key not in self._told and await self._store.agent(agent_id) is None:
                letter = _letter(message, sender, agent_id).model_dump_json().encode()
                await self._topics.publish([(chat_topic(agent_id), letter)])
                self._remember(key)

    def _remember(self, key: tuple[str, str, str, str]) -> None:
        self._told[key] = None
        if len(self._told) > REMEMBERED:
            del self._told[next(iter(self._told))]


def _may_be_for_agents(message: Message) -> bool:
    """What a run writes is for those it mentions; what is posted may wake others too, but only once."""
    if message.run_id is not UNSET:
        return bool(message.mentions) and not message.deleted
    return is_new(message)


def _letter(message: Message, sender: str, agent_id: str) -> MessageEnvelope:
    """Its id says what it is about: who gets it twice knows."""
    return MessageEnvelope(
        id=f"{message.id}.{agent_id}",
        conversation_id=message.space_id,
        sender=sender,
        recipient=address("agent", agent_id),
        content=message.text,
        metadata={"messageId": message.id},
        created_at=datetime.fromisoformat(message.created_at),
    )
