"""What a run says, on its way out in order: what must be durable is stored first, and what was said behind
it waits for it. Every write carries the run's lease."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from roomful.domain.changes import Change
from roomful.domain.events import Announcement
from roomful.domain.ports import Store
from roomful.domain.run_changes import Guard
from roomful.domain.runs import Lease


class Speaker(Protocol):
    def learn(self, changes: Sequence[Change], results: list[Any]) -> None:
        """What the store answered, before anybody hears of it."""
        ...

    def release(self, announcements: Sequence[Announcement]) -> None:
        """Lets readers hear."""
        ...


class Outbox:
    """Whoever speaks comes along with what is said. Were they known here, neither would go when the run is
    over, but only with the garbage collector, which holds everybody up."""

    def __init__(self, lease: Lease, store: Store, is_sure: Callable[[], bool] | None) -> None:
        """`is_sure` tells whether the lease holds without asking the store; None: nobody else could have
        it."""
        self._lease = lease
        self._store = store
        self._is_sure = is_sure
        self.is_clear = is_sure is None
        """Whatever is said now is not held. If it is not clear, `holds` is asked."""
        self._waiting: list[list[Announcement]] = []
        self._commits: set[asyncio.Future[Any]] = set()
        self._last: asyncio.Future[Any] | None = None
        self._failure: BaseException | None = None

    def holds(self, by: Speaker, announcement: Announcement) -> bool:
        """Whether it is not to be heard at once: it is let go when all before it is stored. After a failure
        nothing is heard any more."""
        if self._failure is not None:
            return True
        if not self._waiting and self._is_sure is not None and not self._is_sure():
            self.keep(by, ())
        if self._waiting:
            self._waiting[-1].append(announcement)
            return True
        return False

    def keep(
        self, by: Speaker, changes: Sequence[Change], heard: Sequence[Announcement] = ()
    ) -> asyncio.Future[Any]:
        """Stores, then lets everybody hear. Whoever must know that it happened awaits `settled`."""
        behind: list[Announcement] = []
        self._waiting.append(behind)
        self.is_clear = False

        def then(results: list[Any]) -> None:
            by.learn(changes, results[1:])
            self._waiting = [each for each in self._waiting if each is not behind]
            self._look()
            by.release([*heard, *behind])

        return self._commit(changes, then)

    async def kept(self, by: Speaker, changes: Sequence[Change], heard: Sequence[Announcement] = ()) -> None:
        """The same, and returns when it is done. Canceling the caller does not take it back: it is canceled
        once this is done."""
        await to_its_end(self.keep(by, changes, heard))

    async def tried(
        self,
        by: Speaker,
        changes: Sequence[Change],
        heard: Callable[[], Sequence[Announcement]],
        then: Callable[[list[Any]], None],
    ) -> None:
        """Stores what the store may refuse, which is the caller's to mend and spoils nothing here. A caller
        that is canceled is so once this is done."""

        def done(results: list[Any]) -> None:
            by.learn(changes, results[1:])
            by.release([*heard()])
            then(results[1:])

        commit = self._store.commit([Guard(self._lease), *changes], done, after=self._last)
        await to_its_end(asyncio.ensure_future(commit))

    def save(self, changes: Sequence[Change]) -> None:
        """Stores what was heard already; nobody waits for it."""
        self._commit(changes, None)

    async def settled(self) -> None:
        """Returns when everything is stored and heard; raises what went wrong."""
        while self._commits:
            await asyncio.wait(self._commits)
        if self._failure is not None:
            raise self._failure

    def _commit(
        self, changes: Sequence[Change], then: Callable[[list[Any]], None] | None
    ) -> asyncio.Future[Any]:
        """Whatever is said later builds on it: what the store had to refuse has no sequel."""
        committing = self._store.commit([Guard(self._lease), *changes], then, after=self._last)
        self._last = commit = asyncio.ensure_future(committing)
        self._commits.add(commit)
        commit.add_done_callback(self._done)
        return commit

    def _done(self, commit: asyncio.Future[Any]) -> None:
        self._commits.discard(commit)
        if not commit.cancelled() and (error := commit.exception()) is not None:
            self._failure = self._failure or error
            self._look()

    def _look(self) -> None:
        self.is_clear = not self._waiting and self._failure is None and self._is_sure is None


async def to_its_end(commit: asyncio.Future[Any]) -> None:
    """Whoever is canceled meanwhile, and be it twice, knows afterwards whether it was stored."""
    try:
        await asyncio.shield(commit)
    except asyncio.CancelledError:
        while not commit.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([commit])
        if not commit.cancelled():
            commit.exception()  # Or asyncio says that nobody asked for it.
        raise
