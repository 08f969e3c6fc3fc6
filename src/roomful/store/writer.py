"""The one that writes: it takes what waits, stores it in one transaction and announces it in order."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from roomful.domain.errors import RoomfulError, Unavailable
from roomful.domain.watch import SHORT, Histogram
from roomful.store.announced import Announced
from roomful.store.database import Collided, Database, Write, WritingEnded
from roomful.store.hand import Hand, ThreadHand

MOST_WAITING = 10_000
ATTEMPTS = 4
PAUSE_SECONDS = 0.1
SIZES = (1.0, 4.0, 16.0, 64.0)
"""Commits that are stored together."""

Then: TypeAlias = Callable[[list[Any]], None]
log = logging.getLogger("roomful.store")

_SEEN = """
INSERT INTO writers (id, number, seen) VALUES (?, ?, moment())
ON CONFLICT (id) DO UPDATE SET number = excluded.number, seen = excluded.seen"""
_LAST = """
INSERT INTO writers (id, number, seen) VALUES (?, 0, moment())
ON CONFLICT (id) DO UPDATE SET seen = excluded.seen RETURNING number"""
_LOCK_SPACES = "SELECT 1 FROM spaces WHERE id IN ({marks}) ORDER BY id FOR NO KEY UPDATE"
_LOCK_RUNS = "SELECT 1 FROM runs WHERE id IN ({marks}) ORDER BY id FOR NO KEY UPDATE"


@dataclass(slots=True, eq=False)
class Ticket:
    """One commit on its way."""

    writes: Sequence[Write]
    spaces: Sequence[str]
    then: Then | None
    future: asyncio.Future[list[Any]]
    runs: Sequence[str]
    after: "Ticket | None" = None
    """One handed in before that this one builds on, until this one is done."""
    results: list[Any] = field(default_factory=list[Any])
    error: Exception | None = None


class Writer:
    """`submit` and what follows a batch happen on the event loop, everything between them by the hand."""

    def __init__(
        self, db: Database, name: str, announced: Announced, hand: "Hand[Ticket] | None" = None
    ) -> None:
        self._db = db
        self._name = name
        self._announced = announced
        self._loop = asyncio.get_running_loop()
        self._under_way: dict[Awaitable[list[Any]], Ticket] = {}
        self.waiting = 0
        self.messages_stored = 0
        self.batch_sizes = Histogram(SIZES)
        self.batch_seconds = Histogram(SHORT)
        self._number = 0
        self.is_over = False
        """The database takes no writes until it is opened anew."""
        self._failing = False
        self._is_closed = False
        self._hand: Hand[Ticket] = hand or ThreadHand[Ticket]()
        self._hand.start(self._serve)

    def submit(
        self,
        writes: Sequence[Write],
        then: Then | None = None,
        spaces: Sequence[str] = (),
        runs: Sequence[str] = (),
        after: Awaitable[list[Any]] | None = None,
    ) -> asyncio.Future[list[Any]]:
        """`spaces` are those whose order the writes change, `runs` those that others may write to as well;
        without the commit that it comes `after`, nothing of it is written."""
        future: asyncio.Future[list[Any]] = self._loop.create_future()
        if self._is_closed:
            future.set_exception(Unavailable("The store is closed."))
        elif self.waiting >= MOST_WAITING:
            future.set_exception(Unavailable(f"{MOST_WAITING} commits are waiting already; try again."))
        elif (failure := _failure_of(after)) is not None:
            future.set_exception(failure)
        else:
            self.waiting += 1
            before = self._under_way.get(after) if after is not None else None
            self._under_way[future] = ticket = Ticket(writes, spaces, then, future, runs, before)
            self._hand.give(ticket)
        return future

    async def close(self) -> None:
        """Stores what is waiting, then ends."""
        self._is_closed = True
        await self._hand.close()

    def _serve(self, batch: list[Ticket]) -> None:
        began = time.monotonic()
        try:
            number = self._store(batch)
        except Exception as error:  # noqa: BLE001 - the thread's outermost seam: the house goes on
            self._refuse(batch, error)
        else:
            self._note(None)
            self.batch_sizes.note(len(batch))
            self.batch_seconds.note(time.monotonic() - began)
            self._deliver(number, batch)

    def _store(self, batch: list[Ticket]) -> int | None:
        """Answers with the batch's number, or None when nothing was written."""
        for _ in range(ATTEMPTS):
            try:
                return self._transaction(batch)
            except Collided as error:
                log.info("a batch of %d commits runs again: %s", len(batch), error)
            finally:
                self._db.rollback()
        raise Unavailable("Other processes write the same rows all the time; try again.")

    def _transaction(self, batch: list[Ticket]) -> int | None:
        self._begin(batch)
        try:
            for ticket in batch:
                self._perform(ticket)
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001 - somebody's fault: when they run apart it shows whose
            self._db.rollback()
            if len(batch) == 1:
                self._note(error)
                batch[0].error = error
                return None
            self._begin(batch)
            self._run_apart(batch)
        if not any(ticket.writes for ticket in batch if ticket.error is None):
            return None
        self._number += 1
        self._db.count(_SEEN, (self._name, self._number))
        self._commit(self._number)
        return self._number

    def _begin(self, batch: list[Ticket]) -> None:
        """Processes that share a database take a batch's spaces, then its runs, in one order: none waits in a
        circle."""
        self._db.begin()
        if self._db.shared:
            self._take_rows(_LOCK_SPACES, {id for ticket in batch for id in ticket.spaces})
            self._take_rows(_LOCK_RUNS, {id for ticket in batch for id in ticket.runs})

    def _take_rows(self, sql: str, ids: set[str]) -> None:
        if ids:
            self._db.rows(sql.format(marks=", ".join("?" * len(ids))), sorted(ids))

    def _perform(self, ticket: Ticket) -> None:
        ticket.error = ticket.after.error if ticket.after is not None else None
        ticket.results = [write(self._db) for write in ticket.writes] if ticket.error is None else []

    def _run_apart(self, batch: list[Ticket]) -> None:
        """Each commit behind a savepoint, so that a failing one takes back only itself."""
        for ticket in batch:
            self._db.rows("SAVEPOINT apart")
            try:
                self._perform(ticket)
            except Unavailable:
                raise
            except Exception as error:  # noqa: BLE001 - whatever it was, it belongs to this caller alone
                self._note(error)
                ticket.error = error
                self._db.rows("ROLLBACK TO SAVEPOINT apart")
            self._db.rows("RELEASE SAVEPOINT apart")

    def _commit(self, number: int) -> None:
        try:
            self._db.commit()
        except Unavailable:
            self._db.rollback()
            if not self._landed(number):
                raise

    def _landed(self, number: int) -> bool:
        """Whether a commit that was never confirmed took place. Its callers wait until that is known.

        The server may still be at it. Writing the row that the commit wrote waits for its end.
        """
        while True:
            try:
                self._db.begin()
                return self._db.rows(_LAST, (self._name,)) == [(number,)]
            except WritingEnded:
                return False
            except Unavailable as error:
                self._refuse(self._hand.waiting(), error)
            finally:
                self._db.rollback()
            if self._hand.pause(PAUSE_SECONDS):
                return False

    def _refuse(self, tickets: Iterable[Ticket], error: Exception) -> None:
        self._note(error)
        refused = list(tickets)
        for ticket in refused:
            ticket.error = Unavailable(error.detail) if isinstance(error, Unavailable) else error
        self._deliver(None, refused)

    def _note(self, error: Exception | None) -> None:
        """An outage is logged when it begins and when it ends, however many commits it costs."""
        self.is_over = self.is_over or isinstance(error, WritingEnded)
        if error is None or isinstance(error, Unavailable):
            if error is not None and not self._failing:
                log.error("the database cannot be written: %s", error)
            elif error is None and self._failing:
                log.warning("the database can be written again")
            self._failing = error is not None
        elif not isinstance(error, RoomfulError):
            log.error("a commit failed in an unforeseen way", exc_info=error)

    def _deliver(self, number: int | None, batch: list[Ticket]) -> None:
        try:
            self._hand.tell(self._loop, partial(self._finish, number, batch))
        except RuntimeError:
            log.warning("the event loop is closed: %d commits have nobody to tell", len(batch))

    def _finish(self, number: int | None, batch: list[Ticket]) -> None:
        """On the event loop: first every `then` in order, then whoever waits for this moment."""
        self.waiting -= len(batch)
        self.messages_stored += sum(len(ticket.spaces) for ticket in batch if ticket.error is None)
        if number is not None:
            self._announced.before_next(number)
        for ticket in batch:
            ticket.after = None
            del self._under_way[ticket.future]
            _tell(ticket)
        if number is not None:
            self._announced.after(number)


def _failure_of(commit: Awaitable[list[Any]] | None) -> BaseException | None:
    if not isinstance(commit, asyncio.Future) or not commit.done() or commit.cancelled():
        return None
    return commit.exception()


def _tell(ticket: Ticket) -> None:
    if ticket.error is None and ticket.then is not None:
        try:
            ticket.then(ticket.results)
        except (Exception, asyncio.CancelledError):
            log.exception("what follows a commit failed; the commit stands")
    if ticket.future.done():
        return
    if ticket.error is None:
        ticket.future.set_result(ticket.results)
    else:
        ticket.future.set_exception(ticket.error)
