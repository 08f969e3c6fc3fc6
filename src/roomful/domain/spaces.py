"""Where people and agents meet."""

from typing import Literal

import msgspec

from roomful.domain.entities import EntityKind
from roomful.domain.shape import UNSET, Noun, Unset

Role = Literal["owner", "member", "reader"]
Wake = Literal["none", "all"]
Flow = Literal["open", "guarded"]


class Space(Noun):
    id: str
    name: str
    created_at: str
    admin_agent_id: str | Unset = UNSET
    wake: Wake = "none"
    flow: Flow = "open"
    alias: str | Unset = UNSET
    """What a client called it, where that could not be its id."""


class Member(Noun):
    entity_id: str
    name: str
    kind: EntityKind
    role: Role

    @property
    def may_write(self) -> bool:
        return self.role != "reader"


class Company(msgspec.Struct, frozen=True):
    """A space that somebody is in, as what, and all who are."""

    space: Space
    role: Role
    members: list[Member]


class MySpace(Noun):
    """A space in somebody's list, with what they have not read yet."""

    space: Space
    role: Role
    unread: int
    last_seq: int
