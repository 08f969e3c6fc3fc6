"""Rows for the audit log, to be committed with what they tell of."""

from typing import Any

from roomful.domain.audit import AuditAction, Audited
from roomful.domain.changes import AddAudit
from roomful.domain.entities import Principal
from roomful.domain.ports import Clock, Ids
from roomful.domain.shape import UNSET


class AuditLog:
    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids
        self._at = ""
        self._number = 0

    def __call__(self, by: Principal, action: AuditAction, **told: Any) -> AddAudit:
        """`told` are fields of Audited. Rows of one millisecond are numbered, to keep their order."""
        at = self._clock.iso()
        self._number = self._number + 1 if at == self._at else 0
        self._at = at
        row = Audited(
            id=f"{at}.{self._number:06}.{self._ids.new('aud')}",
            at=at,
            action=action,
            by=by.entity_id,
            via_admin=True if by.is_acted_for else UNSET,
            **told,
        )
        return AddAudit(row)
