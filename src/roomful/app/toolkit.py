"""Which executor serves which kind of tool, and what each is given to work with."""

import hashlib
import hmac
from collections.abc import Callable

from roomful.app.configs import Configs
from roomful.domain.errors import Invalid
from roomful.domain.ports import CallContext, Clock, Executor, Store
from roomful.domain.runs import Call
from roomful.domain.tools import Builtin, Client, Compute, Echo, Http, Static, Webhook
from roomful.egress import HttpEgress
from roomful.executors.builtin import BuiltinExecutor
from roomful.executors.client import ClientExecutor
from roomful.executors.compute import ComputeExecutor
from roomful.executors.echo import EchoExecutor
from roomful.executors.http import HttpExecutor
from roomful.executors.static import StaticExecutor
from roomful.executors.webhook import WebhookExecutor
from roomful.settings import Settings, split
from roomful.spaces.history import History


class Toolkit:
    def __init__(
        self,
        settings: Settings,
        *,
        store: Store,
        history: History,
        configs: Configs,
        clock: Clock,
        callback_url: Callable[[Call], str] | None = None,
    ) -> None:
        try:
            self._egress = HttpEgress(allow=split(settings.allow_hosts))
        except ValueError as error:
            raise Invalid(f"ROOMFUL_ALLOW_HOSTS: {error}") from None
        self._compute = ComputeExecutor()

        def env(context: CallContext) -> Callable[[str], str]:
            return configs.variable

        self.executors: dict[type, Executor] = {
            Echo: EchoExecutor(),
            Static: StaticExecutor(),
            Client: ClientExecutor(),
            Compute: self._compute,
            Http: HttpExecutor(self._egress, env),
            Webhook: WebhookExecutor(
                self._egress, env, signing_key=_signing_key(settings), clock=clock, callback_url=callback_url
            ),
            Builtin: BuiltinExecutor(store, history),
        }

    async def close(self) -> None:
        await self._compute.close()
        self._egress.close()


def _signing_key(settings: Settings) -> bytes:
    """The operator's secret signs webhooks; without one a tool needs a `secret` of its own."""
    return hmac.digest((settings.secret_key or "").encode(), b"webhooks", hashlib.sha256)
