"""Drives the runs of this process, takes up those that nobody drives, and stops them when asked."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from roomful.domain.changes import Change
from roomful.domain.errors import LeaseLost, NotFound, RoomfulError, Unavailable
from roomful.domain.news import Behind, Look, News, Taken
from roomful.domain.ports import Store
from roomful.domain.run_changes import Claimed, ClaimRun, EndLeases, Guard, KeepAlive, Leave, Release
from roomful.domain.runs import WAITING, Lease, Run, RunError
from roomful.domain.shape import UNSET, Unset
from roomful.domain.watch import Watch
from roomful.runs.canceling import Canceling
from roomful.spaces.outbox import to_its_end
from roomful.spaces.voice import Voice

log = logging.getLogger("roomful.runs")
T = TypeVar("T")
STOP_SECONDS = 5.0
RIVAL_SECONDS = 0.05
"""How long one who is not the only one to cancel a run lets the other one do it."""


class Worker:
    def __init__(
        self,
        worker_id: str,
        *,
        store: Store,
        make_voice: Callable[[Run, Lease], Voice],
        lease_seconds: float = 8.0,
        is_alone: bool = False,
        most: int = 2000,
        steady: Callable[[], float] = time.monotonic,
        watch: Watch | None = None,
    ) -> None:
        """`steady` is the time in seconds by a clock that nobody can set."""
        self.id = worker_id
        self._drive_to: Callable[[Voice], Awaitable[None]] | None = None
        self._after: list[Callable[[Run], Awaitable[None]]] = []
        self._store = store
        self._make_voice = make_voice
        self._canceling = Canceling(store, owner=worker_id, cancel=self.cancel)
        self._lease_seconds = lease_seconds
        self._is_alone = is_alone
        self._most = most
        self._steady = steady
        self._figures = watch or Watch()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._voices: dict[str, Voice] = {}
        self._stopping: dict[str, tuple[RunError | Unset, Sequence[Change]]] = {}
        self._errands: set[asyncio.Future[Any]] = set()
        self._left: dict[str, Voice] = {}
        self._keeper: asyncio.Task[None] | None = None
        self._chores: list[Callable[[], Awaitable[None]]] = []
        self._look = asyncio.Event()
        self._is_draining = False
        self._sure_until = 0.0
        self._lives = 0
        self._taken: set[str] = set()
        self._is_behind = False
        self.tell_others: Callable[[News], None] = lambda _: None

    def use(self, drive: Callable[[Voice], Awaitable[None]]) -> None:
        """What takes a run as far as it goes."""
        self._drive_to = drive

    def after_each(self, hook: Callable[[Run], Awaitable[None]]) -> None:
        """Called with every run that ended or began to wait here."""
        self._after.append(hook)

    def look(self) -> None:
        """There may be a run that nobody drives: do not wait for the next tick."""
        self._look.set()

    def each_tick(self, chore: Callable[[], Awaitable[None]]) -> None:
        """Something else to look after, as often as for runs that nobody drives."""
        self._chores.append(chore)

    async def start(self) -> None:
        if self._is_alone:
            await self._store.commit([EndLeases(but=self.id)])
        await self._keep_alive()
        await self._take_up()
        self._keeper = asyncio.create_task(self._watch())

    def drain(self) -> None:
        """Takes no more runs, and hands over those it has: whoever comes next goes on from their rows."""
        self._is_draining = True
        for task in self._under_way():
            task.cancel()

    async def stop(self) -> None:
        """Waits until everything is handed over, and leaves. What does not end in time loses its run all the
        same, and its fence keeps it from writing."""
        if not self._is_draining:
            self.drain()
        if ending := [*self._under_way(), *self._errands]:
            await asyncio.wait(ending, timeout=STOP_SECONDS)
        try:
            await self._store.commit([Leave(self.id)])
        except RoomfulError as error:
            log.warning("the worker could not say that it leaves: %s", error.detail)
        self.tell_others(Look())

    def _under_way(self) -> list[asyncio.Task[None]]:
        return [*self._tasks.values(), *([self._keeper] if self._keeper else [])]

    def trust(self) -> Callable[[], bool] | None:
        """Tells of a lease that is taken now whether nobody else can have taken it since: not any more once
        this worker was silent for longer than it had said, although it is heard again. None: there is nobody
        else."""
        life = self._lives
        return None if self._is_alone else lambda: self._lives == life and self._steady() < self._sure_until

    def reserve(self, run_id: str) -> Lease | None:
        """The first lease of a run that is about to be stored and started here."""
        if self._is_draining or len(self._tasks) >= self._most:
            return None
        return Lease(run_id=run_id, owner=self.id, fence=1)

    def launch(self, run: Run, lease: Lease, *, in_its_turn: bool = False) -> None:
        """`in_its_turn` when it had to wait for others until now."""
        if self._is_draining:
            self._in_background(self._hand_over(lease))
            return
        voice = self._voices[run.id] = self._make_voice(run, lease)
        task = asyncio.create_task(self._drive(voice, in_its_turn))
        self._tasks[run.id] = task
        task.add_done_callback(lambda _: self._done(voice, task))

    def voice(self, run_id: str) -> Voice | None:
        """The voice of a run that is driven here now."""
        return self._voices.get(run_id)

    @property
    def driving(self) -> int:
        """How many runs are driven here now."""
        return len(self._tasks)

    @property
    def is_idle(self) -> bool:
        """Nothing is driven here, and nothing is on its way to be."""
        return not self._tasks and not self._errands

    async def idle(self) -> None:
        """Returns when nothing is driven here any more."""
        while not self.is_idle:
            await asyncio.wait([*self._tasks.values(), *self._errands])

    def claim_soon(self, run_id: str) -> None:
        """For whoever cannot wait."""
        self._in_background(self._claim_or_leave(run_id))

    def _in_background(self, errand: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        task = asyncio.create_task(errand)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)
        return task

    async def _claim_or_leave(self, run_id: str) -> None:
        """If the store cannot be reached now, the run is found at a later tick."""
        with contextlib.suppress(RoomfulError):
            await self.claim(run_id)

    async def claim(self, run_id: str) -> bool:
        """Takes a run that nobody drives and goes on with it."""
        if self._is_draining:
            self.tell_others(Look())
        if self._is_draining or run_id in self._tasks:
            return False
        claimed: Claimed | None
        [claimed] = await self._store.commit([ClaimRun(run_id=run_id, owner=self.id)])
        if claimed is None:
            return False
        run = claimed.run
        self.launch(run, claimed.lease, in_its_turn=bool(run.in_turn) and claimed.was_queued)
        return True

    async def cancel(self, run_id: str, why: RunError | Unset = UNSET, also: Sequence[Change] = ()) -> Run:
        """Stops a run for good, and those it called. When this returns it has ended, and its spaces were
        told. That is done also when the one who asks for it is among those that are stopped. `also` is
        committed with the step that stops it, if it had not ended; perhaps twice."""
        return await asyncio.shield(self._in_background(self._cancel(run_id, why, also)))

    async def _cancel(self, run_id: str, why: RunError | Unset, also: Sequence[Change]) -> Run:
        if (task := self._tasks.get(run_id)) is not None:
            self._stopping[run_id] = why, also
            task.cancel()
            await asyncio.wait([task])
        while True:
            try:
                return await self._cancel_stored(run_id, why, also)
            except LeaseLost:
                log.info("another worker cancels run %s too", run_id)
                await asyncio.sleep(RIVAL_SECONDS)

    async def _cancel_stored(self, run_id: str, why: RunError | Unset, also: Sequence[Change]) -> Run:
        run = await self._store.run(run_id)
        if run is None:
            raise NotFound(f"there is no run {run_id!r}")
        if run.ended:
            return run
        taken = await self._canceling.take(run_id, why, also)
        if taken is None:
            ended = await self._store.run(run_id)
            assert ended is not None
            return ended
        self.tell_others(Taken(run_id, taken.lease.fence))
        voice = self._make_voice(taken.run, taken.lease)
        try:
            await self._canceling.end(voice, why)
        except Unavailable:
            self._left[run_id] = voice
            raise
        except LeaseLost:
            voice.withdraw()
            raise
        await self._left_alone(voice.run)
        return voice.run

    def hear(self, news: News) -> None:
        """What another worker said."""
        match news:
            case Look():
                self.look()
            case Taken(run_id, fence):
                voice = self._voices.get(run_id)
                if voice is not None and voice.lease.fence < fence:
                    self._give_up(voice)
            case Behind():
                self._is_behind = True
                self.look()
            case _:
                pass

    def _give_up(self, voice: Voice) -> None:
        """Another worker has its run; unless it is stopped here too, which finds that out by itself."""
        run_id = voice.run.id
        if run_id not in self._stopping:
            self._taken.add(run_id)
            voice.abandon()
            self._tasks[run_id].cancel()

    async def _drive(self, voice: Voice, in_its_turn: bool) -> None:
        run = voice.run
        try:
            run.status = "running"
            if in_its_turn:
                voice.takes_its_turn()
            if run.is_canceling:
                await self._could_end_canceled(voice, run.error, ())
            else:
                assert self._drive_to is not None
                await self._drive_to(voice)
        except asyncio.CancelledError:
            if run.id in self._taken:
                return
            if run.id in self._stopping:
                if not run.ended and not await self._could_end_canceled(voice, *self._stopping[run.id]):
                    self._left[run.id] = voice
                    return
            else:
                await self._hand_over(voice.lease)
                raise
        if not run.ended and run.status not in WAITING:
            self._left[run.id] = voice
        await self._left_alone(run)

    async def _left_alone(self, run: Run) -> None:
        """Whoever waits for this run is told; if that fails now, a later tick does it."""
        self._figures.left(run)
        for hook in self._after:
            try:
                await hook(run)
            except RoomfulError as error:
                log.warning("what follows run %s has to wait: %s", run.id, error.detail)

    async def _could_end_canceled(self, voice: Voice, why: RunError | Unset, also: Sequence[Change]) -> bool:
        """Not while the store is away: whoever asked for it is told so, and the run goes on."""
        try:
            await self._canceling.end(voice, why, also)
        except LeaseLost:
            voice.abandon()
            self._figures.leases_lost += 1
        except Unavailable as error:
            log.warning("run %s could not be canceled: %s", voice.run.id, error.detail)
            return False
        return True

    async def _hand_over(self, lease: Lease) -> None:
        try:
            changes: list[Change] = [Guard(lease), Release(lease.run_id)]
            await to_its_end(asyncio.ensure_future(self._store.commit(changes)))
            self.tell_others(Look())
        except RoomfulError as error:
            log.warning("run %s was not handed over: %s", lease.run_id, error.detail)

    def _done(self, voice: Voice, task: "asyncio.Task[None]") -> None:
        run = voice.run
        if self._tasks.get(run.id) is task:
            del self._tasks[run.id]
            self._voices.pop(run.id, None)
        self._stopping.pop(run.id, None)
        self._taken.discard(run.id)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("run %s was left by its driver", run.id, exc_info=error)
            self._left[run.id] = voice
        if self._keeper is not None and (run.id in self._left or run.in_turn):
            self._look.set()

    async def _watch(self) -> None:
        """Stays alive, and looks for runs that nobody drives."""
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._look.wait(), self._lease_seconds / 4)
            self._look.clear()
            try:
                await self._keep_alive()
                if self._is_behind:
                    await self._give_up_taken()
                for voice in list(self._left.values()):
                    await self._let_go(voice)
                await self._take_up()
                for chore in self._chores:
                    await chore()
            except RoomfulError as error:
                log.warning("the worker could not reach the store: %s", error.detail)
            except Exception:  # an outermost seam: without this task leases end and nothing is taken up
                log.exception("something that the worker looks after failed; it looks again")

    async def _give_up_taken(self) -> None:
        """Somebody may have told that they took a run, and was not heard here."""
        self._is_behind = False
        driven = list(self._voices.values())
        try:
            held = await asyncio.gather(*map(self._is_held, driven))
        except Unavailable:
            self._is_behind = True
            raise
        for voice, is_held in zip(driven, held, strict=True):
            if not is_held and self._is_at_work(voice):
                self._figures.leases_lost += 1
                log.info("run %s is driven by another worker now", voice.run.id)
                self._give_up(voice)

    async def _is_held(self, voice: Voice) -> bool:
        try:
            await self._store.commit([Guard(voice.lease)])
        except LeaseLost:
            return False
        return True

    def _is_at_work(self, voice: Voice) -> bool:
        """It has not ended, begun to wait or been given up here in the meantime."""
        run = voice.run
        return self._voices.get(run.id) is voice and run.status == "running" and run.id not in self._left

    async def _let_go(self, voice: Voice) -> None:
        """Whoever takes the run up goes on with what is stored of it, if nobody has already."""
        with contextlib.suppress(LeaseLost):
            await self._store.commit([Guard(voice.lease), Release(voice.run.id)])
        voice.abandon()
        self._left.pop(voice.run.id, None)

    async def _keep_alive(self) -> None:
        began = self._steady()
        await self._store.commit([KeepAlive(worker=self.id, seconds=self._lease_seconds)])
        if self._steady() >= self._sure_until:
            self._lives += 1
        self._sure_until = began + self._lease_seconds

    async def _take_up(self) -> None:
        for run_id in await self._store.unowned_runs():
            await self.claim(run_id)
