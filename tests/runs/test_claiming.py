"""A run that was claimed is driven, whatever goes wrong at that moment."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from roomful.domain.changes import PutAgent
from roomful.domain.errors import Unavailable
from roomful.domain.news import Taken
from roomful.domain.ports import Store
from roomful.domain.run_changes import AddRun
from roomful.domain.runs import Lease, Run
from roomful.runs.worker import Worker
from roomful.spaces.voice import Voice
from roomful.store import open_store
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
