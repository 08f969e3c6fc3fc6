"""Spans over OTLP/HTTP, by the SDK of OpenTelemetry, which reads where to from its own OTEL_* variables.

Nothing of it is global: a library that traces by itself neither sees these spans nor sends their names on.
"""

import asyncio
import contextlib
import re
import threading
from collections.abc import Generator
from contextvars import ContextVar

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from roomful.domain.tracing import Facts

CLOSE_SECONDS = 3.0
"""How long the last spans have to be sent."""
_NAME = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_CURRENT: ContextVar[trace.Span | None] = ContextVar("span", default=None)


class OtlpTracer:
    def __init__(self) -> None:
        who = Resource({SERVICE_NAME: "roomful"}).merge(OTELResourceDetector().detect())
        self._provider = TracerProvider(resource=who, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("roomful")

    @contextlib.contextmanager
    def span(self, name: str, facts: Facts, under: str = "") -> Generator["OtlpSpan"]:
        span = self._tracer.start_span(name, _above(under), attributes=dict(facts))
        token = _CURRENT.set(span)
        try:
            yield OtlpSpan(span)
        finally:
            _CURRENT.reset(token)
            span.end()

    def here(self) -> str:
        if (span := _CURRENT.get()) is None:
            return ""
        known = span.get_span_context()
        return f"00-{known.trace_id:032x}-{known.span_id:016x}-{known.trace_flags:02x}"

    async def close(self) -> None:
        """By a thread that nobody has to wait for: a collector that is away is asked again and again."""
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def shut_down() -> None:
            self._provider.shutdown()
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(done.set)

        threading.Thread(target=shut_down, name="roomful-traces", daemon=True).start()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(done.wait(), CLOSE_SECONDS)


class OtlpSpan:
    __slots__ = ("_span",)

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def note(self, facts: Facts) -> None:
        self._span.set_attributes(dict(facts))

    def fail(self, code: str) -> None:
        self._span.set_status(trace.StatusCode.ERROR, code)


def _above(under: str) -> Context:
    """What a new span lies in. Empty for one that begins a trace."""
    if (found := _NAME.fullmatch(under)) is not None:
        flags = trace.TraceFlags(int(found[3], 16) & trace.TraceFlags.SAMPLED)
        known = trace.SpanContext(int(found[1], 16), int(found[2], 16), is_remote=True, trace_flags=flags)
        if known.is_valid:
            return trace.set_span_in_context(trace.NonRecordingSpan(known), Context())
    here = _CURRENT.get()
    return Context() if here is None else trace.set_span_in_context(here, Context())
