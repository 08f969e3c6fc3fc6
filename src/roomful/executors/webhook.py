"""A call forwarded to a service, signed. The service answers at once, or says 202 and calls back."""

from collections.abc import Callable, Sequence
from typing import Final

from roomful.domain.errors import RoomfulError
from roomful.domain.outbound import Egress, OutboundRequest
from roomful.domain.outcomes import Failed, Outcome, Waiting
from roomful.domain.ports import CallContext, Clock
from roomful.domain.runs import Call
from roomful.domain.shape import Json, encode_json
from roomful.domain.tools import ToolSpec, Webhook
from roomful.executors.http import encoded, overridden
from roomful.executors.masking import Masker
from roomful.executors.replies import outcome_of
from roomful.executors.signing import ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, signature
from roomful.tools.templates import Env, expand_headers, expand_text
from roomful.tools.urls import expand_url

DEFAULT_TIMEOUT: Final = 30.0


class WebhookExecutor:
    """`callback_url` makes the address where a call's late result is taken; without it there are none."""

    has_effects = True

    def __init__(
        self,
        egress: Egress,
        env: Env,
        *,
        signing_keys: Callable[[], Sequence[bytes]],
        clock: Clock,
        callback_url: Callable[[Call], str] | None = None,
    ) -> None:
        self._egress = egress
        self._env = env
        self._keys = signing_keys
        self._clock = clock
        self._callback_url = callback_url

    def can(self, spec: ToolSpec) -> bool:
        return True

    async def execute(self, context: CallContext) -> Outcome:
        masker = Masker(self._env)
        try:
            response = await self._egress.send(self._request(context, masker))
        except RoomfulError as error:
            return Failed(masker.text(error.detail))
        if response.status != 202:
            return outcome_of(response, masker)
        if self._callback_url is None:
            return Failed("the service wants to answer later, but this gateway takes no callbacks")
        return Waiting(on="callback")

    def _request(self, context: CallContext, masker: Masker) -> OutboundRequest:
        spec = context.spec.executor
        assert isinstance(spec, Webhook)
        body = encode_json(self._message(context))
        timestamp = int(self._clock.now())
        ours = {
            "Content-Type": "application/json",
            ID_HEADER: context.call.id,
            TIMESTAMP_HEADER: str(timestamp),
            SIGNATURE_HEADER: ",".join(
                signature(key, context.call.id, timestamp, body) for key in self._keys_of(spec, masker)
            ),
            "Idempotency-Key": context.call.id,
        }
        headers = overridden(expand_headers(spec.headers, context.args, masker.read), ours)
        url = encoded(expand_url(spec.url, context.args, masker.read))
        return OutboundRequest(
            spec.method.upper(), url, headers, body, timeout=context.spec.timeout or DEFAULT_TIMEOUT
        )

    def _message(self, context: CallContext) -> dict[str, Json]:
        message: dict[str, Json] = {
            "id": context.call.id,
            "tool": context.spec.name,
            "input": dict(context.args),
            "agentId": context.agent_id,
            "runId": context.run.id,
        }
        if self._callback_url is not None:
            message["callbackUrl"] = self._callback_url(context.call)
        return message

    def _keys_of(self, spec: Webhook, masker: Masker) -> Sequence[bytes]:
        """The tool's own key, else the gateway's: several while one replaces another."""
        if spec.secret is None:
            return self._keys()
        secret = expand_text(spec.secret, {}, masker.read)
        masker.learn(secret)
        return [secret.encode("utf-8", "replace")]
