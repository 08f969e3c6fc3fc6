"""Which run of the story is which run of the house. They are matched by what started them: an agent, a
message or a call, never by words."""

from roomful.domain.ports import ALL, Store
from roomful.domain.runs import Run
from roomful.recall.story.plot import Plot
from roomful.recall.story.records import ToldRun


class Cast:
    def __init__(self, plot: Plot, store: Store) -> None:
        self._plot = plot
        self._store = store
        self._parts: dict[str, ToldRun] = {}
        self.names: dict[str, str] = {}
        """What a run of the story is called here."""

    async def of(self, run_id: str) -> ToldRun | None:
        """The run of the story that this one plays; None for one that is not in it."""
        if run_id not in self._parts:
            run = await self._store.run(run_id)
            free = (told for told in self._plot.story.runs if told.run.id not in self.names)
            told = next((one for one in free if run is not None and _is_like(one.run, run)), None)
            if told is None:
                return None
            self._parts[run_id] = told
            self.names[told.run.id] = run_id
        return self._parts[run_id]

    async def find(self, recorded: Run) -> Run | None:
        """The run that plays this one, if it has begun."""
        if recorded.id not in self.names:
            for run in reversed(await self._store.runs(agent_id=recorded.agent_id, limit=ALL)):
                await self.of(run.id)
        name = self.names.get(recorded.id)
        return await self._store.run(name) if name is not None else None

    def renamed(self, text: str) -> str:
        """Words that may name runs of the story, as they are said here."""
        for recorded, name in self.names.items():
            text = text.replace(recorded, name)
        return text


def _is_like(recorded: Run, run: Run) -> bool:
    told, here = recorded.trigger, run.trigger
    return (
        recorded.agent_id == run.agent_id
        and recorded.parent_call_id == run.parent_call_id
        and (told.type, told.message_id) == (here.type, here.message_id)
        and (bool(run.parent_call_id) or told.payload == here.payload)
    )
