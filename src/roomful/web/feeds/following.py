"""How a reader follows: from where, in which form, and what it may hear."""

from typing import Literal

import msgspec
from starlette.datastructures import Headers

from roomful.domain.entities import Principal
from roomful.domain.events import Announcement, Position, RunChanged
from roomful.domain.ports import Subscription
from roomful.domain.runs import ENDED
from roomful.domain.wire import Form
from roomful.web.queries import Query

TRIES = 5
"""How often a snapshot is taken anew when the stream ran away while it was read."""


class StreamQuery(Query, frozen=True):
    last_event_id: str | None = None
    """Where to go on from; the header Last-Event-ID counts more."""
    args: Literal["ops"] | None = None
    events: Literal["v1"] | None = None


class Following(msgspec.Struct, frozen=True):
    principal: Principal
    after: Position | None
    form: int

    @property
    def viewer(self) -> str | None:
        return viewer_of(self.principal)

    def hears(self, announcement: Announcement) -> bool:
        return announcement.audience is None or announcement.audience == self.viewer


def ends_skipped(before: Subscription | None, now: Position) -> list[Announcement]:
    """Runs whose end was told after a reader was stopped and before it begins anew. What they said is in the
    snapshot; that they ended is told, for somebody may wait for it."""
    entries = before.take() if before is not None else []
    skipped = [entry.announcement for entry in entries if entry.offset <= now.offset]
    return [one for one in skipped if isinstance(one.event, RunChanged) and one.event.status in ENDED]


def viewer_of(principal: Principal) -> str | None:
    """Whose private parts are shown. The operator's key has none."""
    return None if principal.is_admin else principal.entity_id


def following(principal: Principal, headers: Headers, query: StreamQuery) -> Following:
    last = headers.get("last-event-id") or query.last_event_id or ""
    form = Form.PLAIN
    if query.args == "ops":
        form |= Form.OPS
    if query.events == "v1":
        form |= Form.V1
    return Following(principal, Position.parse(last), form)
