"""Who answered, allowed, changed and removed what."""

from typing import Annotated

import msgspec
from starlette.types import ASGIApp

from roomful.domain.audit import AuditAction, Audited, AuditQuery
from roomful.domain.errors import Forbidden
from roomful.domain.shape import UNSET, Noun
from roomful.web.ask import AnyRoute, Ask, Route, json_answer
from roomful.web.queries import Limit, Query
from roomful.web.rules import READS_AUDIT

Cursor = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class AuditAsked(Query, frozen=True):
    after: Cursor | None = None
    """The id of a row, or a time as ISO 8601 in UTC: what came behind it, the oldest first."""
    before: Cursor | None = None
    limit: Limit = 50
    space_id: str | None = None
    entity_id: str | None = None
    """Who did it, or whom it is about."""
    action: AuditAction | None = None


class AuditPage(Noun):
    rows: list[Audited]
    has_more: bool


async def read_audit(ask: Ask[None, AuditAsked, None]) -> ASGIApp:
    query, me = ask.query, ask.principal
    if not me.is_admin:
        if query.space_id is None:
            raise Forbidden("only the admin reads the whole log: name a space that you own in spaceId")
        await ask.house.access.space(me, query.space_id, "own")
    wanted = AuditQuery(
        query.after, query.before, query.space_id, query.entity_id, query.action, query.limit + 1
    )
    rows = await ask.house.store.audit(wanted)
    page = rows[: query.limit] if query.after is not None else rows[-query.limit :]
    shown = page if me.is_admin else [_in_space(row, query.space_id or "") for row in page]
    return json_answer(AuditPage(shown, has_more=len(rows) > query.limit))


def _in_space(row: Audited, space_id: str) -> Audited:
    """As an owner may know it: other spaces are not theirs, nor is what was meant for one member."""
    row = msgspec.structs.replace(row, space_ids=(space_id,))
    if row.is_private is not True:
        return row
    return msgspec.structs.replace(row, args_digest=UNSET, edited_from=UNSET, result_digest=UNSET)


ROUTES: tuple[AnyRoute, ...] = (
    Route(
        "GET",
        "/api/audit",
        read_audit,
        READS_AUDIT,
        "The audit log: the newest rows, or those after an id or a time",
        query=AuditAsked,
        answer=AuditPage,
    ),
)
