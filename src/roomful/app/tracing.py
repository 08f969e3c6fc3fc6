"""Who collects spans, and which services outside are told in which one they are asked."""

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager

import msgspec

from roomful.domain.errors import Invalid
from roomful.domain.outbound import Egress, EgressRefused, OutboundRequest, OutboundResponse, OutboundStream
from roomful.domain.tracing import UNTRACED, Tracer
from roomful.egress.urls import parse_allowed, parse_url


def find_tracer(how: str) -> Tracer:
    """Nothing is loaded where nothing is traced."""
    if not how:
        return UNTRACED
    try:
        from roomful.telemetry import OtlpTracer
    except ImportError:
        missing = f"ROOMFUL_TRACES={how} needs another package: pip install 'roomful[telemetry]'"
        raise Invalid(missing) from None
    return OtlpTracer()


def trace_to(pairs: Iterable[str], tracer: Tracer, egress: Egress) -> Egress:
    """The same way out; where it leads to one of the operator's `host:port` pairs, with a traceparent."""
    try:
        hosts = frozenset(parse_allowed(pair) for pair in pairs)
    except ValueError as error:
        raise Invalid(f"ROOMFUL_TRACE_HOSTS: {error}") from None
    return _TracedEgress(hosts, tracer, egress) if hosts else egress


class _TracedEgress:
    def __init__(self, hosts: frozenset[str], tracer: Tracer, egress: Egress) -> None:
        self._hosts = hosts
        self._tracer = tracer
        self._egress = egress

    async def send(self, request: OutboundRequest) -> OutboundResponse:
        return await self._egress.send(self._named(request))

    def stream(self, request: OutboundRequest) -> AbstractAsyncContextManager[OutboundStream]:
        return self._egress.stream(self._named(request))

    def _named(self, request: OutboundRequest) -> OutboundRequest:
        here = self._tracer.here()
        if not here or not self._is_told(request.url):
            return request
        headers = {name: value for name, value in request.headers.items() if name.lower() != "traceparent"}
        return msgspec.structs.replace(request, headers={**headers, "traceparent": here})

    def _is_told(self, url: str) -> bool:
        """What is no URL is refused by the way out itself."""
        try:
            return parse_url(url).authority in self._hosts
        except EgressRefused:
            return False
