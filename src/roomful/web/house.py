"""What the web room is given: the services of the house, made and wired in `app`."""

import dataclasses
from collections.abc import Awaitable, Callable

from roomful.domain.neighbours import Others
from roomful.domain.ports import Bus, Clock, Ids, McpServers, Store
from roomful.domain.shape import Noun
from roomful.domain.tracing import UNTRACED, Tracer
from roomful.domain.watch import Watch
from roomful.runs.answers import Answers
from roomful.runs.inspecting import Inspecting
from roomful.runs.intake import Intake
from roomful.runs.outside.envelopes import Envelopes
from roomful.runs.worker import Worker
from roomful.spaces.access import Access
from roomful.spaces.announcer import Announcer
from roomful.spaces.auditing import AuditLog
from roomful.spaces.blobs import Blobs
from roomful.spaces.history import History
from roomful.web.limits import Limits


@dataclasses.dataclass(frozen=True)
class House:
    store: Store
    bus: Bus
    others: Others
    clock: Clock
    ids: Ids
    access: Access
    announcer: Announcer
    audit: AuditLog
    history: History
    blobs: Blobs
    intake: Intake
    envelopes: Envelopes
    worker: Worker
    answers: Answers
    inspecting: Inspecting
    mcp: McpServers
    limits: Limits
    admin_digest: Callable[[], bytes]
    """Of the operator's key, as it is now."""
    allowed_hosts: frozenset[str]
    check_config: Callable[[dict[str, object], str], dict[str, object]]
    """Checks an agent's configuration and gives it as it is to be stored (secrets sealed). Raises Invalid."""
    is_ready: Callable[[], Awaitable[bool]]
    check_callback: Callable[[str, str], Awaitable[bool]]
    """Whether this is the key of the address that was given out for a call."""
    demo_people: tuple[dict[str, str], ...] = ()
    demo_stories: tuple[Noun, ...] = ()
    public_url: str = ""
    """Where others reach this gateway; empty: where each caller did."""
    oauth_issuers: tuple[str, ...] = ()
    """Who gives out tokens of this gateway by OAuth, if the operator has somebody do it."""
    heartbeat_seconds: float = 15.0
    """How long a stream may be silent before it says so."""
    watch: Watch = dataclasses.field(default_factory=Watch)
    tracer: Tracer = UNTRACED
