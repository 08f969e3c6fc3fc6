"""Two processes tell what they stored one after the other, and whoever hears both may hear it the other way
round: of members who come and go, and of texts that people change or delete. The last one heard is held
against the store, where the order is."""

from typing import TypeAlias

from roomful.domain.events import MemberJoined, MemberLeft, MessageChanged, SpaceEvent
from roomful.domain.ports import Store
from roomful.domain.shape import UNSET

Overtakable: TypeAlias = MemberJoined | MemberLeft | MessageChanged


def overtakable(event: SpaceEvent) -> Overtakable | None:
    """The event, if another process may tell of the same thing. A run's message has one driver, and what
    others say of its cards is held against what was told (`Known.is_past`)."""
    match event:
        case MemberJoined() | MemberLeft():
            return event
        case MessageChanged(message=message):
            is_changed = message.run_id is UNSET and message.updated_at != message.created_at
            return event if is_changed or message.deleted else None
        case _:
            return None


async def is_overtaken(store: Store, event: Overtakable) -> bool:
    """Whether it is stored otherwise by now."""
    match event:
        case MemberJoined(space_id=space_id, member=member):
            return await store.role(space_id, member.entity_id) != member.role
        case MemberLeft(space_id=space_id, member=member):
            return await store.role(space_id, member.entity_id) is not None
        case MessageChanged(space_id=space_id, message=message):
            return await store.message(space_id, message.id) != message
