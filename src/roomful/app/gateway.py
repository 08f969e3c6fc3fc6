"""The one place where everything is chosen and wired, by hand."""

import hashlib
import logging
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path

from roomful.app.clock import RandomIds, SystemClock
from roomful.app.configs import Configs, load_agents
from roomful.app.sealing import SecretBox
from roomful.bus import MemoryBus
from roomful.domain.errors import Invalid
from roomful.domain.ports import Clock, Executor, Ids, Store
from roomful.domain.runs import Lease, Run
from roomful.domain.tools import Builtin, Client, Echo, Static
from roomful.executors.builtin import BuiltinExecutor
from roomful.executors.client import ClientExecutor
from roomful.executors.echo import EchoExecutor
from roomful.executors.static import StaticExecutor
from roomful.models import ModelShelf
from roomful.runs.agents import Agents
from roomful.runs.answers import Answers
from roomful.runs.calls import Calls
from roomful.runs.intake import Intake
from roomful.runs.loop import RunLoop
from roomful.runs.worker import Worker
from roomful.settings import Settings, split
from roomful.spaces.access import Access
from roomful.spaces.announcer import Announcer
from roomful.spaces.history import History
from roomful.spaces.voice import Voice
from roomful.store import open_store
from roomful.web import House, make_app
from roomful.web.limits import Limits

log = logging.getLogger("roomful")
ADMIN_DIGEST = "admin_key_sha256"


class Gateway:
    """A whole Roomful: `app` is what a web server serves, `start` and `close` are its life."""

    def __init__(self, house: House, models: ModelShelf, new_admin_key: str | None) -> None:
        self.house = house
        self.app = make_app(house)
        self.new_admin_key = new_admin_key
        """Set once, when the key was made at the first start: print it, it is not kept."""
        self._models = models

    @classmethod
    async def open(
        cls, settings: Settings, *, clock: Clock | None = None, ids: Ids | None = None
    ) -> "Gateway":
        clock, ids = clock or SystemClock(), ids or RandomIds()
        if settings.bus != "memory:":
            raise Invalid(f"--bus {settings.bus!r}: only memory: can be had")
        store = await open_store(settings.database, clock)
        new_key, digest = await _admin_digest(store, settings)
        configs = Configs(settings, SecretBox(settings.secret_key))
        models = ModelShelf(
            resolve_secret=configs.reveal,
            operator_keys={"openai": settings.openai_api_key} if settings.openai_api_key else {},
            script_dirs=_script_dirs(settings),
        )
        house = _wire(settings, store, configs, models, clock, ids, digest)
        if settings.agents is not None:
            await load_agents(store, clock, configs, Path(settings.agents))
        if settings.demo:
            from roomful.app.demo import build_demo

            house = await build_demo(house, configs)
        return cls(house, models, new_key)

    async def start(self) -> None:
        await self._models.warm()
        await self.house.worker.start()

    async def close(self) -> None:
        await self.house.worker.stop()
        await self._models.close()
        await self.house.store.close()


def _wire(
    settings: Settings,
    store: Store,
    configs: Configs,
    models: ModelShelf,
    clock: Clock,
    ids: Ids,
    admin_digest: bytes,
) -> House:
    bus = MemoryBus(clock, lambda: secrets.token_hex(4))
    access = Access(store)
    announcer = Announcer(bus)
    history = History(store, announcer)
    agents = Agents(store)
    calls = Calls(_executors(store, history), ids)
    loop = RunLoop(store=store, agents=agents, models=models, history=history, calls=calls, ids=ids)

    def make_voice(run: Run, lease: Lease) -> Voice:
        return Voice(run, lease, store=store, announcer=announcer, clock=clock, ids=ids)

    worker = Worker(
        ids.new("wrk"),
        loop,
        store=store,
        clock=clock,
        make_voice=make_voice,
        lease_seconds=settings.lease_seconds,
        is_alone=settings.database.startswith("sqlite:"),
    )
    intake = Intake(store=store, access=access, announcer=announcer, worker=worker, clock=clock, ids=ids)
    answers = Answers(store=store, agents=agents, worker=worker, announcer=announcer, clock=clock, ids=ids)
    return House(
        store=store,
        bus=bus,
        clock=clock,
        ids=ids,
        access=access,
        announcer=announcer,
        history=history,
        intake=intake,
        worker=worker,
        answers=answers,
        limits=Limits(settings.limit_posts, settings.limit_streams),
        admin_digest=admin_digest,
        allowed_hosts=frozenset(
            {"localhost", "127.0.0.1", "::1", settings.host.lower(), *split(settings.hosts.lower())}
        ),
        check_config=configs.check,
        is_ready=_readiness(store),
        heartbeat_seconds=settings.heartbeat_seconds,
    )


def _executors(store: Store, history: History) -> dict[type, Executor]:
    return {
        Echo: EchoExecutor(),
        Static: StaticExecutor(),
        Client: ClientExecutor(),
        Builtin: BuiltinExecutor(store, history),
    }


def _readiness(store: Store) -> Callable[[], Awaitable[bool]]:
    async def is_ready() -> bool:
        return await store.get_meta(ADMIN_DIGEST) is not None

    return is_ready


def _script_dirs(settings: Settings) -> list[Path]:
    folders = [Path(settings.agents)] if settings.agents else []
    if settings.demo:
        folders.append(Path(__file__).parent / "demo")
    return [folder / "scripts" for folder in folders]


async def _admin_digest(store: Store, settings: Settings) -> tuple[str | None, bytes]:
    """The operator's own key, or one made at the first start, of which only the digest is kept."""
    if settings.admin_key:
        digest = hashlib.sha256(settings.admin_key.encode()).hexdigest()
        await store.set_meta(ADMIN_DIGEST, digest)
        return None, bytes.fromhex(digest)
    known = await store.get_meta(ADMIN_DIGEST)
    if known is not None:
        return None, bytes.fromhex(known)
    key = secrets.token_urlsafe(32)
    digest = hashlib.sha256(key.encode()).hexdigest()
    await store.set_meta(ADMIN_DIGEST, digest)
    return key, bytes.fromhex(digest)


def digest_of(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
