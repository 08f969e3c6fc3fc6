"""Rows of the audit log as they are made."""

from roomful.app.clock import RandomIds
from roomful.domain.entities import OPERATOR
from roomful.spaces.auditing import AuditLog


class _Stopped:
    def now(self) -> float:
        return 0.0

    def iso(self) -> str:
        return "1970-01-01T00:00:00.000Z"


def test_rows_of_one_millisecond_sort_as_they_were_made() -> None:
    audit = AuditLog(_Stopped(), RandomIds())
    made = [audit(OPERATOR, "space.created").row.id for _ in range(200)]
    assert made == sorted(made)
    assert len(set(made)) == 200
