"""The one place where everything is chosen and wired, by hand."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

from roomful.app.callbacks import Callbacks
from roomful.app.clock import RandomIds, SharedClock, SystemClock
from roomful.app.configs import Configs, load_agents, load_functions, put_agents, read_given
from roomful.app.conversations import Conversations
from roomful.app.furnishing import make_person, make_space
from roomful.app.keys import ADMIN_DIGEST, SECRET, Keys, keep_admin_key
from roomful.app.others import check_bus, find_others
from roomful.app.sealing import SecretBox
from roomful.app.served import served
from roomful.app.servers import ServersOfAgents
from roomful.app.surroundings import REAL, Surroundings
from roomful.app.toolkit import Toolkit
from roomful.app.tracing import find_tracer
from roomful.app.workshop import Workshop
from roomful.bus import MemoryBus
from roomful.domain.entities import Principal
from roomful.domain.errors import Invalid
from roomful.domain.ports import Clock, Ids, Store
from roomful.domain.runs import Lease, Run
from roomful.domain.shape import UNSET, Json
from roomful.domain.spaces import Role, Space, Wake
from roomful.domain.watch import Watch
from roomful.executors.python import PythonTool, tools_of
from roomful.models import ModelShelf, load_script
from roomful.runs.watching import Watching
from roomful.runs.worker import Worker
from roomful.settings import Settings, check_settings, split
from roomful.spaces.access import Access
from roomful.spaces.announcer import Announcer
from roomful.spaces.auditing import AuditLog
from roomful.spaces.blobs import Blobs
from roomful.spaces.history import History
from roomful.spaces.voice import Voice
from roomful.web import House, WebApp, make_app
from roomful.web.limits import Limits

log = logging.getLogger("roomful")
FAREWELL_SECONDS = 3.0
"""How long the readers of open streams have to take the last words."""
EPOCH = 8
"""Characters of chance in a stream's epoch."""


class Gateway:
    """A whole Roomful: `app` is what a web server serves, `start` and `close` are its life. A program that
    has one inside takes `opened`."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        keys: Keys,
        clock: Clock,
        ids: Ids,
        functions: Mapping[str, PythonTool],
        around: Surroundings = REAL,
    ) -> None:
        self._settings = settings
        self._configs = configs = Configs(settings, SecretBox(settings.secret_key))
        self._models = models = ModelShelf(
            resolve_secret=configs.reveal,
            operator_keys={"openai": settings.openai_api_key} if settings.openai_api_key else {},
            script_dirs=_script_dirs(settings),
        )
        bus = MemoryBus(clock, lambda: ids.secret()[:EPOCH])
        access = Access(store)
        announcer = Announcer(bus)
        history = History(store, announcer)
        blobs = Blobs(store, clock, ids)
        self._callbacks = callbacks = Callbacks(settings, keys)
        limits = Limits(
            settings.limit_posts,
            settings.limit_streams,
            space_posts_per_second=settings.space_posts,
            wrong_tokens_per_minute=settings.limit_wrong_tokens,
        )

        def admit(principal: Principal, space_id: str) -> None:
            if principal.token_id:  # what an agent outside sent was taken by the bus already
                limits.check_space(space_id, clock.now())

        watching = Watching(Watch(around.steady), find_tracer(settings.traces))
        worker = _worker(settings, store, announcer, clock, ids, watching.watch)
        worker.each_tick(keys.refresh)
        self._others = find_others(
            settings,
            keys.house_secret,
            store=store,
            announcer=announcer,
            bus=bus,
            worker=worker,
            clock=clock,
            around=around,
        )
        self._toolkit = Toolkit(
            settings,
            store=store,
            history=history,
            blobs=blobs,
            configs=configs,
            clock=clock,
            callbacks=callbacks,
            signing_keys=keys.webhooks,
            functions=functions,
            stop=worker.cancel,
            watch=watching.watch,
            tracer=watching.tracer,
            egress=around.egress,
        )
        workshop = Workshop(
            self._toolkit,
            store=store,
            access=access,
            announcer=announcer,
            history=history,
            blobs=blobs,
            configs=configs,
            models=around.models or models,
            worker=worker,
            clock=clock,
            ids=ids,
            watching=watching,
            admit=admit,
        )
        self.conversations = Conversations(
            settings.bus,
            keys.house_secret,
            store=store,
            access=access,
            announcer=announcer,
            intake=workshop.intake,
        )
        self.house = House(
            store=store,
            bus=bus,
            others=self._others,
            clock=clock,
            ids=ids,
            access=access,
            announcer=announcer,
            audit=AuditLog(clock, ids),
            history=history,
            blobs=blobs,
            intake=workshop.intake,
            envelopes=self.conversations.envelopes,
            worker=worker,
            answers=workshop.answers,
            inspecting=workshop.inspecting,
            mcp=ServersOfAgents(workshop.agents, self._toolkit.mcp),
            limits=limits,
            admin_digest=lambda: keys.admin_digest,
            allowed_hosts=_own_names(settings),
            check_config=configs.check,
            is_ready=_readiness(store),
            check_callback=callbacks.check,
            public_url=settings.public_url,
            oauth_issuers=tuple(split(settings.oauth_issuers)),
            heartbeat_seconds=settings.heartbeat_seconds,
            watch=watching.watch,
            tracer=watching.tracer,
        )
        self.new_admin_key: str | None = None
        """Set once, when the key was made at the first start: print it, it is not kept."""

    @classmethod
    @contextlib.asynccontextmanager
    async def opened(
        cls,
        *,
        tools: Iterable[Callable[..., Any]] = (),
        agents: Iterable[Mapping[str, Any]] | str | Path = (),
        scripts: Mapping[str, str | Mapping[str, Json]] | None = None,
        **settings: Any,
    ) -> AsyncGenerator[Self]:
        """A gateway inside a program of one's own, from its start to its close.

        `tools` are functions marked with `@roomful.tool`, `agents` are configurations as in files, or a
        folder of such files; `scripts` are what scripted models say, by name. `settings` are those of
        `roomful.settings.Settings`; nothing is read from the environment or from `roomful.toml`. At the end
        open streams are told, and runs stay in the database for whoever opens it next.
        """
        if isinstance(agents, str | Path):
            settings["agents"], agents = str(agents), ()
        checked = check_settings(settings)
        if checked.workers != 1:
            raise Invalid("settings: workers: start as many processes as you want, each with its own gateway")
        gateway = await cls.open(checked, tools=tools, agents=agents, scripts=scripts)
        try:
            await gateway.start()
            yield gateway
        finally:
            await gateway.close()

    @classmethod
    async def open(
        cls,
        settings: Settings,
        *,
        clock: Clock | None = None,
        ids: Ids | None = None,
        around: Surroundings = REAL,
        tools: Iterable[Callable[..., Any]] = (),
        agents: Iterable[Mapping[str, Any]] = (),
        scripts: Mapping[str, str | Mapping[str, Json]] | None = None,
    ) -> Self:
        check_bus(settings.bus)
        functions = load_functions(Path(settings.agents)) if settings.agents else {}
        functions |= tools_of(tools)
        spoken = {name: load_script(script, name) for name, script in (scripts or {}).items()}
        given = read_given(agents)
        clock = clock or (SystemClock() if settings.database.startswith("sqlite:") else SharedClock())
        ids = ids or RandomIds()
        store = await around.open_store(settings.database, clock)
        async with contextlib.AsyncExitStack() as unless_it_opens:
            unless_it_opens.push_async_callback(store.close)
            new_key = await keep_admin_key(store, settings, ids)
            await store.set_meta(SECRET, ids.secret())
            keys = Keys(settings, store, clock, await store.get_meta(SECRET) or "")
            await keys.refresh()
            gateway = cls(settings, store, keys, clock, ids, functions, around)
            gateway.new_admin_key = new_key
            unless_it_opens.pop_all()
            unless_it_opens.push_async_callback(gateway.close)
            for name, script in spoken.items():
                gateway._models.add_script(name, script)
            await gateway._furnish(settings, given)
            unless_it_opens.pop_all()
        return gateway

    async def _furnish(self, settings: Settings, given: Iterable[tuple[str, dict[str, Any]]]) -> None:
        store, clock = self.house.store, self.house.clock
        if isinstance(clock, SharedClock):
            await clock.agree(store)
            self.house.worker.each_tick(partial(clock.agree, store))
        if settings.agents is not None:
            await load_agents(self.house, self._configs, Path(settings.agents))
        await put_agents(self.house, self._configs, given)
        if settings.demo:
            from roomful.app.demo import build_demo

            self.house = await build_demo(self.house, self._configs)

    @cached_property
    def app(self) -> WebApp:
        """An ASGI application, to be served as it is or mounted in another one."""
        return make_app(self.house)

    async def person(self, id: str, *, name: str = "") -> str:
        """A new token of this person, who is made if there is none of that id. Whoever has the gateway in
        their program is its operator: nobody is asked."""
        return await make_person(self.house, id, name or id)

    async def space(
        self,
        id: str,
        *members: str,
        name: str = "",
        role: Role = "member",
        admin_agent_id: str | None = None,
        wake: Wake = "none",
    ) -> None:
        """Brings these people and agents into the space, in this role, as the operator. A space that is not
        there is made; of one that is, nothing else is changed."""
        space = Space(
            id=id,
            name=name or id,
            created_at=self.house.clock.iso(),
            admin_agent_id=admin_agent_id or UNSET,
            wake=wake,
        )
        await make_space(self.app.desk, space, members, role)

    def served(self) -> contextlib.AbstractAsyncContextManager[str]:
        """Serves `app` at the host and port of the settings while it is open, and gives the address; port 0
        is any free one. For programs without a server of their own: signals stay theirs."""
        return served(self.app, self._settings, self._callbacks)

    def drain(self) -> None:
        """Tells every open stream that it ends here, and hands over the runs: for a server that is asked to
        stop and waits for its connections before it lets go of the gateway. `close` does it too."""
        self.app.drain()

    async def warm(self) -> None:
        """Does ahead, beside whatever is asked, what the first model and the first tool would wait for."""
        await self._models.warm()
        await self._toolkit.warm()

    async def start(self) -> None:
        await self._others.start()
        await self.house.worker.start()
        self.conversations.start()

    async def close(self) -> None:
        if "app" in self.__dict__:
            self.app.drain()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.app.desk.readers.gone(), FAREWELL_SECONDS)
        await self.house.worker.stop()
        await self.conversations.close()
        await self._others.close()
        await self._models.close()
        await self._toolkit.close()
        await self.house.store.close()
        await self.house.tracer.close()


def _worker(
    settings: Settings,
    store: Store,
    announcer: Announcer,
    clock: Clock,
    ids: Ids,
    watch: Watch,
) -> Worker:
    def make_voice(run: Run, lease: Lease) -> Voice:
        return Voice(
            run, lease, store=store, announcer=announcer, clock=clock, ids=ids, is_sure=worker.trust()
        )

    worker = Worker(
        ids.new("wrk"),
        store=store,
        make_voice=make_voice,
        lease_seconds=settings.lease_seconds,
        is_alone=settings.database.startswith("sqlite:"),
        steady=watch.steady,
        watch=watch,
    )
    return worker


def _own_names(settings: Settings) -> frozenset[str]:
    """The names under which a browser may reach this gateway."""
    return frozenset({"localhost", "127.0.0.1", "::1", settings.host.lower(), *split(settings.hosts.lower())})


def _readiness(store: Store) -> Callable[[], Awaitable[bool]]:
    async def is_ready() -> bool:
        if store.figures().is_writing_over:
            return False
        return await store.get_meta(ADMIN_DIGEST) is not None

    return is_ready


def _script_dirs(settings: Settings) -> list[Path]:
    folders = [Path(settings.agents)] if settings.agents else []
    if settings.demo:
        folders.append(Path(__file__).parent / "demo")
    return [folder / "scripts" for folder in folders]
