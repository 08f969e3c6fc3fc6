"""Which executor serves which kind of tool, and what each is given to work with."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from roomful.app.callbacks import Callbacks
from roomful.app.configs import Configs
from roomful.app.tracing import trace_to
from roomful.domain.errors import Invalid
from roomful.domain.outbound import Egress
from roomful.domain.ports import Clock, Executor, Store
from roomful.domain.runs import Run
from roomful.domain.tools import (
    Builtin,
    Client,
    Compute,
    Echo,
    Http,
    Image,
    Mcp,
    PythonFunction,
    Static,
    SubAgent,
    Webhook,
)
from roomful.domain.tracing import Tracer
from roomful.domain.watch import Watch
from roomful.egress import HttpEgress
from roomful.executors.agent import AgentExecutor
from roomful.executors.builtin import BuiltinExecutor
from roomful.executors.client import ClientExecutor
from roomful.executors.compute import ComputeExecutor
from roomful.executors.echo import EchoExecutor
from roomful.executors.http import HttpExecutor
from roomful.executors.image import ImageExecutor
from roomful.executors.leaving import Leaving
from roomful.executors.mcp import DEFAULT_TIMEOUT, McpExecutor
from roomful.executors.mcp_pins import StoredPins
from roomful.executors.planning import Planning
from roomful.executors.python import PythonExecutor, PythonTool
from roomful.executors.remembering import Remembering
from roomful.executors.static import StaticExecutor
from roomful.executors.webhook import WebhookExecutor
from roomful.settings import Settings, split
from roomful.spaces.blobs import Blobs
from roomful.spaces.history import History

if TYPE_CHECKING:
    from roomful.app.demo.outside import Outside


def own_executors(
    store: Store, history: History, clock: Clock, stop: Callable[[str], Awaitable[Run]]
) -> dict[type, Executor]:
    """Of the tools that reach nothing but the house itself."""
    return {
        Echo: EchoExecutor(),
        Static: StaticExecutor(),
        Client: ClientExecutor(),
        SubAgent: AgentExecutor(store),
        Builtin: BuiltinExecutor(
            store,
            history,
            Leaving(store, stop).operations,
            Planning(store, clock).operations,
            Remembering(store, clock).operations,
        ),
    }


class Toolkit:
    def __init__(
        self,
        settings: Settings,
        *,
        store: Store,
        history: History,
        blobs: Blobs,
        configs: Configs,
        clock: Clock,
        callbacks: Callbacks,
        signing_keys: Callable[[], Sequence[bytes]],
        functions: Mapping[str, PythonTool],
        stop: Callable[[str], Awaitable[Run]],
        watch: Watch,
        tracer: Tracer,
        egress: Egress | None = None,
    ) -> None:
        allow = split(settings.allow_hosts)
        try:
            self._egress = HttpEgress(allow=allow, on_refused=watch.refused)
            self._patient_egress = HttpEgress(allow=allow, on_refused=watch.refused, idle=DEFAULT_TIMEOUT)
        except ValueError as error:
            raise Invalid(f"ROOMFUL_ALLOW_HOSTS: {error}") from None
        traced = partial(trace_to, split(settings.trace_hosts), tracer)
        way_out = traced(egress or self._egress)
        self._outside = _outside_of_the_demo(way_out) if settings.demo else None
        self._compute = ComputeExecutor()
        self._python = PythonExecutor(functions)
        env = configs.variable
        self.mcp = McpExecutor(traced(self._patient_egress), env, pins=StoredPins(store))
        self.executors: dict[type, Executor] = {
            **own_executors(store, history, clock, stop),
            Compute: self._compute,
            Http: HttpExecutor(self._outside or way_out, env),
            Webhook: WebhookExecutor(
                way_out, env, signing_keys=signing_keys, clock=clock, callback_url=callbacks.url
            ),
            Image: ImageExecutor(blobs.keep_for, keys=settings.provider_key),
            Mcp: self.mcp,
            PythonFunction: self._python,
        }
        self.more_tools = self.mcp.offered
        self.complete = self._python.complete

    async def warm(self) -> None:
        await self._egress.warm()

    async def close(self) -> None:
        await self._compute.close()
        await self.mcp.close()
        if self._outside is not None:
            await self._outside.close()
        self._egress.close()
        self._patient_egress.close()


def _outside_of_the_demo(egress: Egress) -> "Outside":
    from roomful.app.demo.outside import Outside

    return Outside(egress)
