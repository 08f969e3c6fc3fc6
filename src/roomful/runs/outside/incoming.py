"""From the bus into the spaces: an envelope is done when its message is stored, or when it lies among the
dead letters."""

import asyncio
import logging

from roomful.domain.envelopes import Delivery, Topics, chat_topic, dead_letter_topic
from roomful.domain.errors import RoomfulError, Unavailable
from roomful.domain.shape import encode_json
from roomful.runs.outside.envelopes import Envelopes
from roomful.runs.outside.followed import Followed
from roomful.runs.outside.outgoing import Outgoing

RETRY_SECONDS = 0.5
LARGEST = 1024 * 1024
"""Bytes of a dead letter as JSON."""
SHORT = 1000
"""Characters that are left of one that is larger."""

log = logging.getLogger("roomful.outside")


class Incoming:
    def __init__(
        self, topics: Topics, *, followed: Followed, envelopes: Envelopes, outgoing: Outgoing
    ) -> None:
        self._topics = topics
        self._followed = followed
        self._envelopes = envelopes
        self._outgoing = outgoing
        self._is_lost = False

    async def run(self) -> None:
        while True:
            await self._followed.any()
            try:
                deliveries = await self._topics.receive(self._followed.topics)
            except Unavailable as error:
                await self._wait(error)
                continue
            self._is_back()
            by_topic: dict[str, list[Delivery]] = {}
            for delivery in deliveries:
                by_topic.setdefault(delivery.topic, []).append(delivery)
            async with asyncio.TaskGroup() as group:
                for of_one in by_topic.values():
                    group.create_task(self._take(of_one))

    async def _take(self, deliveries: list[Delivery]) -> None:
        """One after the other, however long that takes: what waits meanwhile is still the bus's."""
        for delivery in deliveries:
            while True:
                try:
                    await self._take_one(delivery)
                    break
                except Unavailable as error:
                    await self._wait(error)

    async def _take_one(self, delivery: Delivery) -> None:
        conversation_id = delivery.topic.removeprefix(chat_topic(""))
        why = await self._posted(conversation_id, delivery)
        if why is not None:
            letter = (dead_letter_topic(conversation_id), _dead_letter(why, delivery))
            await self._topics.publish([letter])
        await self._topics.done(delivery)

    async def _posted(self, conversation_id: str, delivery: Delivery) -> str | None:
        """None, or why it was not."""
        try:
            principal, envelope = await self._envelopes.read(conversation_id, delivery.payload)
            self._outgoing.was_told(conversation_id, principal.entity_id, envelope.id, envelope.recipient)
            await self._envelopes.post(principal, envelope)
        except Unavailable:
            raise
        except RoomfulError as error:
            return error.detail
        except Exception:  # an outermost seam: one bad envelope stops no other
            log.exception("an envelope on %s could not be read", delivery.topic)
            return "something went wrong inside the gateway"
        return None

    async def _wait(self, error: Unavailable) -> None:
        if not self._is_lost:
            log.warning("envelopes have to wait: %s", error.detail)
        self._is_lost = True
        await asyncio.sleep(RETRY_SECONDS)

    def _is_back(self) -> None:
        if self._is_lost:
            log.info("envelopes are read again")
        self._is_lost = False


def _dead_letter(why: str, delivery: Delivery) -> bytes:
    letter = {"reason": why, "topic": delivery.topic, "id": delivery.id}
    data = encode_json({**letter, "payload": delivery.payload})
    if len(data) > LARGEST:
        beginning = encode_json(delivery.payload).decode()[:SHORT]
        data = encode_json({**letter, "payload": {"truncated": beginning}})
    return data
