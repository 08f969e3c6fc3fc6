"""A run that was claimed is driven, whatever goes wrong at that moment."""

import asyncio
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

from roomful.domain.changes import PutAgent
from roomful.domain.errors import Unavailable
from roomful.domain.news import Behind, Taken
from roomful.domain.ports import Store
from roomful.domain.run_changes import AddRun, SaveRun, TakeOver
from roomful.domain.runs import Lease, Run
from roomful.runs.worker import Worker
from roomful.spaces.voice import Voice
from roomful.store import open_store
from tests.servers.roomful import PATIENCE
from tests.store.things import HandClock, agent, run


def make_voice(run: Run, lease: Lease) -> Voice:
    return cast(Voice, SimpleNamespace(run=run, lease=lease, abandon=lambda: None))


class WrittenOnly:
    """A database that takes writes again and cannot be read yet."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def commit(self, *given: Any, **more: Any) -> Any:
        return self._store.commit(*given, **more)

    async def run(self, _: str) -> Run | None:
        raise Unavailable("The database is asked again in a moment.")


def test_a_run_that_was_claimed_is_driven_although_nothing_can_be_read() -> None:
    async def story() -> None:
        store = await open_store("sqlite://:memory:", HandClock())
        await store.commit([PutAgent(agent("bot")), AddRun(run("r1", agent_id="bot", status="queued"))])
        driven: list[tuple[str, str, int]] = []

        async def drive(voice: Voice) -> None:
            driven.append((voice.run.id, voice.run.status, voice.lease.fence))
            voice.run.status = "completed"

        worker = Worker("w", store=cast(Store, WrittenOnly(store)), make_voice=make_voice)
        worker.use(drive)
        assert await worker.claim("r1")
        await worker.idle()
        assert driven == [("r1", "running", 1)]
        await store.close()

    asyncio.run(story())


def test_late_news_of_one_who_had_a_run_before_does_not_stop_who_has_it_now() -> None:
    async def story() -> None:
        store = await open_store("sqlite://:memory:", HandClock())
        await store.commit([PutAgent(agent("bot")), AddRun(run("r1", agent_id="bot", status="queued"))])
        heard, ended = asyncio.Event(), list[str]()

        async def drive(voice: Voice) -> None:
            await heard.wait()
            voice.run.status = "completed"
            ended.append(voice.run.id)

        worker = Worker("w", store=store, make_voice=make_voice)
        worker.use(drive)
        assert await worker.claim("r1")
        await asyncio.sleep(0)
        worker.hear(Taken("r1", fence=1))
        heard.set()
        await worker.idle()
        assert ended == ["r1"]
        await store.close()

    asyncio.run(story())


def test_a_run_that_was_taken_while_nobody_was_heard_is_given_up_and_no_other() -> None:
    async def story() -> None:
        store = await open_store("sqlite://:memory:", HandClock())
        runs = [run(name, agent_id="bot", status="queued") for name in ("r1", "r2")]
        await store.commit([PutAgent(agent("bot")), *map(AddRun, runs)])
        left = {name: asyncio.Event() for name in ("r1", "r2")}
        abandoned: list[str] = []

        async def drive(voice: Voice) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                left[voice.run.id].set()

        def voice_of(run: Run, lease: Lease) -> Voice:
            abandon = partial(abandoned.append, run.id)
            return cast(Voice, SimpleNamespace(run=run, lease=lease, abandon=abandon))

        worker = Worker("w", store=store, make_voice=voice_of)
        worker.use(drive)
        await worker.start()
        assert worker.driving == 2
        await store.commit(
            [TakeOver("r1", owner="another"), SaveRun(run("r1", agent_id="bot", status="canceled"))]
        )

        worker.hear(Behind())

        await asyncio.wait_for(left["r1"].wait(), PATIENCE)
        assert abandoned == ["r1"]
        assert not left["r2"].is_set()
        await worker.stop()
        await store.close()

    asyncio.run(story())
