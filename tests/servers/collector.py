"""A collector of traces on loopback, as OTLP over HTTP knows one.

with Collector() as collector:
    Roomful(folder, **collector.environment)
    collector.spans                     # everything that came so far, decoded
    collector.raw                       # the same as it came
"""

import contextlib
import gzip
import http.server
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from tests.servers.roomful import PATIENCE


@dataclass
class Span:
    name: str
    trace_id: str
    id: str
    parent_id: str
    """Empty where a trace begins."""
    facts: dict[str, Any]
    has_failed: bool
    code: str
    service: str
    began: int
    children: list["Span"] = field(default_factory=list["Span"])

    @property
    def label(self) -> str:
        """What it is about, in one word for a tree."""
        return str(self.facts.get("roomful.tool") or self.facts.get("roomful.agent.id") or "")

    def tree(self) -> Any:
        """Its name and label, with those below it."""
        return (f"{self.name} {self.label}".strip(), [child.tree() for child in self.children])


class Collector:
    def __init__(self) -> None:
        self.raw: list[bytes] = []
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                if self.path == "/v1/traces":
                    collector.raw.append(body)
                with contextlib.suppress(OSError):
                    self.send_response(200)
                    self.send_header("content-type", "application/x-protobuf")
                    self.send_header("content-length", "0")
                    self.end_headers()

            def log_request(self, *_: object, **__: object) -> None:
                """Quiet."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def environment(self) -> dict[str, str]:
        """Of a gateway that sends its spans here, soon."""
        return {
            "ROOMFUL_TRACES": "otlp",
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self._server.server_address[1]}",
            "OTEL_BSP_SCHEDULE_DELAY": "50",
        }

    @property
    def spans(self) -> list[Span]:
        """In the order of their beginning."""
        came = [span for body in list(self.raw) for span in _decoded(body)]
        return sorted(came, key=lambda span: span.began)

    def roots(self) -> list[Span]:
        """Those whose parent did not come, each with all that is below it."""
        spans = self.spans
        known = {span.id: span for span in spans}
        for span in spans:
            if (parent := known.get(span.parent_id)) is not None:
                parent.children.append(span)
        return [span for span in spans if span.parent_id not in known]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE)


def _decoded(body: bytes) -> Iterator[Span]:
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        [service] = [a.value.string_value for a in resource.resource.attributes if a.key == "service.name"]
        for span in [span for scope in resource.scope_spans for span in scope.spans]:
            yield Span(
                name=span.name,
                trace_id=span.trace_id.hex(),
                id=span.span_id.hex(),
                parent_id=span.parent_span_id.hex(),
                facts={a.key: getattr(a.value, str(a.value.WhichOneof("value"))) for a in span.attributes},
                has_failed=span.status.code == Status.STATUS_CODE_ERROR,
                code=span.status.message,
                service=service,
                began=span.start_time_unix_nano,
            )
