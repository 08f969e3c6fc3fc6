"""The one place where everything is chosen and wired, by hand."""

import hashlib
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path

from roomful.app.callbacks import Callbacks
from roomful.app.clock import RandomIds, SharedClock, SystemClock
from roomful.app.configs import Configs, load_agents, load_functions
from roomful.app.conversations import Conversations
from roomful.app.others import check_bus, find_others
from roomful.app.sealing import SecretBox
from roomful.app.toolkit import Toolkit
from roomful.app.workshop import Workshop
from roomful.bus import MemoryBus
from roomful.domain.ports import Clock, Ids, Store
from roomful.domain.runs import Lease, Run
from roomful.executors.python import PythonTool
from roomful.models import ModelShelf
from roomful.runs.worker import Worker
from roomful.settings import Settings, split
from roomful.spaces.access import Access
from roomful.spaces.announcer import Announcer
from roomful.spaces.blobs import Blobs
from roomful.spaces.history import History
from roomful.spaces.voice import Voice
from roomful.store import open_store
from roomful.web import House, WebApp, make_app
from roomful.web.limits import Limits

log = logging.getLogger("roomful")
ADMIN_DIGEST = "admin_key_sha256"
SECRET = "house_secret"


class Gateway:
    """A whole Roomful: `app` is what a web server serves, `start` and `close` are its life."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        admin_digest: bytes,
        secret: str,
        clock: Clock,
        ids: Ids,
        functions: Mapping[str, PythonTool],
    ) -> None:
        self._configs = configs = Configs(settings, SecretBox(settings.secret_key))
        self._models = models = ModelShelf(
            resolve_secret=configs.reveal,
            operator_keys={"openai": settings.openai_api_key} if settings.openai_api_key else {},
            script_dirs=_script_dirs(settings),
        )
        bus = MemoryBus(clock, lambda: secrets.token_hex(4))
        access = Access(store)
        announcer = Announcer(bus)
        history = History(store, announcer)
        blobs = Blobs(store, clock, ids)
        callbacks = Callbacks(settings, secret)

        worker = _worker(settings, store, announcer, clock, ids)
        self._others = find_others(
            settings, secret, store=store, announcer=announcer, bus=bus, worker=worker, clock=clock
        )
        self._toolkit = Toolkit(
            settings,
            store=store,
            history=history,
            blobs=blobs,
            configs=configs,
            clock=clock,
            callbacks=callbacks,
            functions=functions,
            stop=worker.cancel,
        )
        workshop = Workshop(
            self._toolkit,
            store=store,
            access=access,
            announcer=announcer,
            history=history,
            blobs=blobs,
            configs=configs,
            models=models,
            worker=worker,
            clock=clock,
            ids=ids,
        )
        self.conversations = Conversations(
            settings.bus, secret, store=store, access=access, announcer=announcer, intake=workshop.intake
        )
        self.house = House(
            store=store,
            bus=bus,
            others=self._others,
            clock=clock,
            ids=ids,
            access=access,
            announcer=announcer,
            history=history,
            blobs=blobs,
            intake=workshop.intake,
            envelopes=self.conversations.envelopes,
            worker=worker,
            answers=workshop.answers,
            limits=Limits(settings.limit_posts, settings.limit_streams),
            admin_digest=admin_digest,
            allowed_hosts=_own_names(settings),
            check_config=configs.check,
            is_ready=_readiness(store),
            check_callback=callbacks.check,
            public_url=settings.public_url,
            oauth_issuers=tuple(split(settings.oauth_issuers)),
            heartbeat_seconds=settings.heartbeat_seconds,
        )
        self.new_admin_key: str | None = None
        """Set once, when the key was made at the first start: print it, it is not kept."""

    @classmethod
    async def open(
        cls, settings: Settings, *, clock: Clock | None = None, ids: Ids | None = None
    ) -> "Gateway":
        check_bus(settings.bus)
        clock = clock or (SystemClock() if settings.database.startswith("sqlite:") else SharedClock())
        store = await open_store(settings.database, clock)
        new_key, digest = await _admin_digest(store, settings)
        await store.set_meta(SECRET, secrets.token_hex(32))
        secret = await store.get_meta(SECRET) or ""
        functions = load_functions(Path(settings.agents)) if settings.agents else {}
        gateway = cls(settings, store, digest, secret, clock, ids or RandomIds(), functions)
        gateway.new_admin_key = new_key
        if isinstance(clock, SharedClock):
            await clock.agree(store)
            gateway.house.worker.each_tick(partial(clock.agree, store))
        if settings.agents is not None:
            await load_agents(store, clock, gateway._configs, Path(settings.agents))
        if settings.demo:
            from roomful.app.demo import build_demo

            gateway.house = await build_demo(gateway.house, gateway._configs)
        return gateway

    @property
    def app(self) -> WebApp:
        return make_app(self.house)

    async def start(self) -> None:
        await self._models.warm()
        await self._others.start()
        await self.house.worker.start()
        self.conversations.start()

    async def close(self) -> None:
        await self.house.worker.stop()
        await self.conversations.close()
        await self._others.close()
        await self._models.close()
        await self._toolkit.close()
        await self.house.store.close()


def _worker(settings: Settings, store: Store, announcer: Announcer, clock: Clock, ids: Ids) -> Worker:
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
    )
    return worker


def _own_names(settings: Settings) -> frozenset[str]:
    """The names under which a browser may reach this gateway."""
    return frozenset({"localhost", "127.0.0.1", "::1", settings.host.lower(), *split(settings.hosts.lower())})


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
    """The operator's own key, or one made at the first start, of which only the digest is kept. Of several
    gateways that start at once, one made the key, and only that one has it to show."""
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
    kept = await store.get_meta(ADMIN_DIGEST) or digest
    return key if kept == digest else None, bytes.fromhex(kept)
