"""How a reader follows: from where, in which form, and what it may hear."""

from collections.abc import Iterable
from typing import Literal

import msgspec
from starlette.datastructures import Headers

from roomful.domain.entities import Principal
from roomful.domain.events import Announcement, Position
from roomful.domain.wire import Form, frame
from roomful.spaces.announcer import Announcer
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
    form: Form

    @property
    def viewer(self) -> str | None:
        return viewer_of(self.principal)

    def hears(self, announcement: Announcement) -> bool:
        return announcement.audience is None or announcement.audience == self.viewer


class MissedEnds:
    """Runs that ended while nobody here heard of it: each is told once to a reader who begins anew."""

    def __init__(self, announcer: Announcer, form: Form) -> None:
        self._announcer = announcer
        self._form = form
        self._told: set[str] = set()

    def frames(self, space_ids: Iterable[str]) -> bytes:
        missed = [one for space_id in space_ids for one in self._announcer.ends_missed(space_id)]
        untold = [one for one in missed if one.run_id and f"{one.space_id} {one.run_id}" not in self._told]
        self._told |= {f"{one.space_id} {one.run_id}" for one in untold}
        return b"".join([frame(one, self._form) + b"\n" for one in untold])


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
