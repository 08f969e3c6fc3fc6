"""A run that was claimed is driven, whatever goes wrong at that moment."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from roomful.domain.changes import PutAgent
from roomful.domain.errors import Unavailable
from roomful.domain.ports import Store
from roomful.domain.run_changes import AddRun
from roomful.domain.runs import Lease, Run
from roomful.runs.worker import Worker
from roomful.spaces.voice import Voice
from roomful.store import open_store
from tests.store.things import HandClock, agent, run


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

        def make_voice(run: Run, lease: Lease) -> Voice:
            return cast(Voice, SimpleNamespace(run=run, lease=lease))

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
