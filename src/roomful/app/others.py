"""Whether this process is alone, and how it reaches the others if it is not."""

import hashlib
from collections.abc import Callable, Sequence

from roomful.app.surroundings import Surroundings
from roomful.bus import MemoryBus, RedisTopics
from roomful.domain.errors import Invalid
from roomful.domain.events import Announcement
from roomful.domain.neighbours import Link
from roomful.domain.news import News
from roomful.domain.ports import Clock, Store
from roomful.runs.worker import Worker
from roomful.settings import Settings
from roomful.spaces.announcer import SETTLING, Announcer
from roomful.spaces.sharing import Sharing


class Alone:
    """A database of its own: there is nobody to tell."""

    def tell(self, news: News) -> None:
        pass

    def listen(self, listener: Callable[[News], None]) -> None:
        pass

    async def start(self) -> None:
        pass

    async def close(self) -> None:
        pass


class NoLink:
    """Others may share the database, but there is no bus: what they write is found by looking."""

    is_up = False
    on_parcel: Callable[[str, bytes], None] | None = None
    on_change: Callable[[bool], None] | None = None

    async def start(self) -> None:
        pass

    def send(self, parcels: Sequence[tuple[str, bytes]]) -> None:
        pass

    async def ask(self, channel: str, parcel: bytes) -> int:
        return 0

    async def follow(self, channel: str) -> None:
        pass

    def leave(self, channel: str) -> None:
        pass

    async def close(self) -> None:
        pass


def check_bus(url: str) -> None:
    if not url.startswith(("redis://", "rediss://")) and url != "memory:":
        raise Invalid(
            f"--bus {url.partition('://')[0]!r}: a bus is memory: or begins with redis:// or rediss://"
        )
    if url != "memory:":
        RedisTopics(url)


def deployment(secret: str) -> str:
    """What deployments on one server are kept apart by."""
    return "roomful:" + hashlib.sha256(secret.encode()).hexdigest()[:16]


def find_others(
    settings: Settings,
    secret: str,
    *,
    store: Store,
    announcer: Announcer,
    bus: MemoryBus,
    worker: Worker,
    clock: Clock,
    around: Surroundings,
) -> Alone | Sharing:
    if settings.database.startswith("sqlite:"):
        return Alone()

    def fold_own(announcement: Announcement) -> None:
        voice = worker.voice(announcement.run_id or "")
        if voice is not None and isinstance(announcement.event, SETTLING):
            voice.fold([announcement])

    sharing = Sharing(
        around.link or _link(settings.bus, secret),
        store=store,
        announcer=announcer,
        bus=bus,
        clock=clock,
        fold_own=fold_own,
        steady=around.steady,
    )
    bus.on_follow, bus.on_leave = sharing.follow, sharing.leave
    sharing.listen(worker.hear)
    worker.tell_others = sharing.tell
    return sharing


def _link(url: str, secret: str) -> Link:
    """Deployments on one server do not meet: each has channels of its own."""
    if url == "memory:":
        return NoLink()
    from roomful.bus.redis_link import RedisLink

    return RedisLink(url, deployment(secret))
