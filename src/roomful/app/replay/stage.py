"""A house for one story: everything real but the models, the way out, the clock and the ids."""

from collections.abc import Awaitable, Callable

from roomful.app.configs import Configs
from roomful.app.replay.acting import Actors
from roomful.app.replay.cast import Cast
from roomful.app.replay.gates import RUN, Gates, StoryClock, StoryIds
from roomful.app.replay.model import RecordedModels
from roomful.app.replay.tools import RecordedTools
from roomful.app.sealing import SecretBox
from roomful.app.toolkit import own_executors
from roomful.app.workshop import Workshop
from roomful.bus import MemoryBus
from roomful.domain.blobs import Blob
from roomful.domain.changes import AddBlob, AddEntity, AddSpace, Change, PutAgent, PutMember
from roomful.domain.entities import Entity
from roomful.domain.errors import Invalid
from roomful.domain.ports import Store
from roomful.domain.runs import Lease, Run
from roomful.domain.tools import ToolSpec
from roomful.recall.story.plot import Plot
from roomful.recall.story.records import Story
from roomful.runs.worker import Worker
from roomful.settings import Settings
from roomful.spaces.access import Access
from roomful.spaces.announcer import Announcer
from roomful.spaces.blobs import Blobs
from roomful.spaces.history import History
from roomful.spaces.voice import Voice
from roomful.store import open_store
from roomful.tools import configure

LONG_AGO = "1970-01-01T00:00:00.000Z"


class WatchedWorker(Worker):
    """Knows when it is about to take a run, and lets what is done in a run's task know whose it is."""

    claiming = 0

    def use(self, drive: Callable[[Voice], Awaitable[None]]) -> None:
        async def drive_by_name(voice: Voice) -> None:
            RUN.set(voice.run.id)
            await drive(voice)

        super().use(drive_by_name)

    async def claim(self, run_id: str) -> bool:
        self.claiming += 1
        try:
            return await super().claim(run_id)
        finally:
            self.claiming -= 1


class Stage:
    def __init__(self, plot: Plot, store: Store, clock: StoryClock) -> None:
        ids, bus = StoryIds(), MemoryBus(clock, lambda: "story")
        announcer = Announcer(bus)
        history, blobs = History(store, announcer), Blobs(store, clock, ids)
        configs = Configs(Settings(), SecretBox(None))

        def make_voice(run: Run, lease: Lease) -> Voice:
            return Voice(run, lease, store=store, announcer=announcer, clock=clock, ids=ids)

        self.store = store
        self.clock = clock
        self.gates = Gates()
        self.cast = Cast(plot, store)
        self.worker = worker = WatchedWorker("story", store=store, make_voice=make_voice, is_alone=True)
        self.models = RecordedModels(
            plot, self.cast, self.gates, voice=worker.voice, text_tools=_text_tools(plot.story, configs)
        )
        workshop = Workshop(
            RecordedTools(plot, self.gates, own_executors(store, history, clock, worker.cancel)),
            store=store,
            access=Access(store),
            announcer=announcer,
            history=history,
            blobs=blobs,
            configs=configs,
            models=self.models,
            worker=worker,
            clock=clock,
            ids=ids,
        )
        self.actors = Actors(
            {entity.id: entity for entity in plot.story.entities},
            plot.story.space_id,
            store=store,
            workshop=workshop,
            worker=worker,
            cast=self.cast,
            clock=clock,
        )

    async def close(self) -> None:
        await self.worker.stop()
        await self.store.close()


async def set_stage(plot: Plot) -> Stage:
    """With everybody in their spaces, before the first word."""
    clock = StoryClock(LONG_AGO)
    store = await open_store("sqlite://:memory:", clock)
    try:
        await store.commit(_company(plot.story))
        return Stage(plot, store, clock)
    except BaseException:
        await store.close()
        raise


def _company(story: Story) -> list[Change]:
    known = {entity.id for entity in story.entities}
    unnamed = [agent for agent in story.agents if agent.id not in known]
    changes: list[Change] = [AddEntity(entity) for entity in story.entities]
    changes += [
        AddEntity(Entity(id=one.id, name=one.name, kind="agent", created_at=one.created_at))
        for one in unnamed
    ]
    changes += [PutAgent(agent) for agent in story.agents]
    for told in story.spaces:
        changes.append(AddSpace(told.space))
        there = [one for one in told.members if one.entity_id not in told.joined]
        changes += [PutMember(told.space.id, one.entity_id, one.role) for one in there]
    changes += [PutMember(space_id, who, "member") for space_id, who in _gone(story)]
    for message in story.messages:
        files = [Blob(id=one, owner_id=message.entity_id, media_type="application/octet-stream", size=0,
                      created_at=message.created_at) for one in message.attachments]  # fmt: skip
        changes += [AddBlob(blob, b"") for blob in files]
    return changes


def _gone(story: Story) -> list[tuple[str, str]]:
    """People who spoke or answered in a space and are not in it any more."""
    there = {(told.space.id, member.entity_id) for told in story.spaces for member in told.members}
    kinds = {entity.id: entity.kind for entity in story.entities}
    acted = [(message.space_id, message.entity_id) for message in story.messages]
    for told in story.runs:
        for call in told.calls:
            who = [call.answered_by, *(vote.entity_id for vote in call.answers or ())]
            acted += [(place.space_id, one) for place in call.places[:1] for one in who if one]
    spaces = {told.space.id for told in story.spaces}
    return [
        (space_id, who)
        for space_id, who in dict.fromkeys(acted)
        if (space_id, who) not in there and space_id in spaces and kinds.get(who) in ("human", "service")
    ]


def _text_tools(story: Story, configs: Configs) -> dict[str, ToolSpec]:
    found: dict[str, ToolSpec] = {}
    for agent in story.agents:
        try:
            spec = configure(configs.ready(agent.config), agent_id=agent.id, trusted=True)
        except Invalid as error:
            raise Invalid(f"the agent {agent.id!r} of this story is not valid: {error.detail}") from None
        if speaking := [tool for tool in spec.tools if tool.shape_is_text]:
            found[agent.id] = speaking[0]
    return found
