"""Who takes part: people, agents, and services that call the API."""

from typing import Literal

from roomful.domain.shape import Frozen, Noun

EntityKind = Literal["human", "agent", "service"]
ADMIN = "admin"


class Entity(Noun):
    id: str
    name: str
    kind: EntityKind
    created_at: str


class Token(Noun):
    """A key's record. The key itself is shown once and never stored."""

    id: str
    entity_id: str
    created_at: str


class Principal(Frozen):
    """Who a request speaks for. `is_admin` is the operator's key; it may read everything and say nothing."""

    entity_id: str
    kind: EntityKind | Literal["admin"]
    token_id: str
    is_admin: bool = False

    @property
    def is_acted_for(self) -> bool:
        """The operator's key speaks for this entity."""
        return self.token_id == ADMIN and not self.is_admin


OPERATOR = Principal(entity_id=ADMIN, kind=ADMIN, token_id=ADMIN, is_admin=True)
