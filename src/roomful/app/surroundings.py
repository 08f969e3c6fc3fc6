"""What is around a gateway. The real things are chosen by the settings; another world may be put in their
place, where time, chance and faults come from a seed."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from roomful.domain.neighbours import Link
from roomful.domain.outbound import Egress
from roomful.domain.ports import Clock, Models, Store
from roomful.store import open_store


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What is left out is real."""

    steady: Callable[[], float] = time.monotonic
    """Seconds by a clock that nobody can set."""
    open_store: Callable[[str, Clock], Awaitable[Store]] = open_store
    models: Models | None = None
    egress: Egress | None = None
    """Takes the requests of HTTP tools and webhooks."""
    link: Link | None = None


REAL = Surroundings()
