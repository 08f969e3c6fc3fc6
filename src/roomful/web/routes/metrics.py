"""Figures of this process in Prometheus' text format."""

import asyncio
import contextlib
import resource
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from starlette.responses import Response
from starlette.types import ASGIApp

from roomful.domain.errors import RoomfulError
from roomful.domain.watch import Histogram
from roomful.web.ask import AnyRoute, Ask, Route
from roomful.web.desk import Desk
from roomful.web.headers import API_HEADERS
from roomful.web.queries import NoQuery
from roomful.web.rules import OBSERVES

TEXT = "text/plain; version=0.0.4; charset=utf-8"


async def get_metrics(ask: Ask[None, NoQuery, None]) -> ASGIApp:
    lines = [*_of_now(ask.desk), *await _queued(ask.desk), *_since_the_start(ask.desk), *_of_the_process()]
    return Response("\n".join([*lines, ""]), 200, {**API_HEADERS, "content-type": TEXT})


def _of_now(desk: Desk) -> Iterator[str]:
    waiting = desk.house.store.figures().commits_waiting
    yield from _one("roomful_runs_active", "Runs that this process drives now.", desk.house.worker.driving)
    yield from _one("roomful_streams_open", "Event streams that are open.", len(desk.readers))
    yield from _one("roomful_store_commits_waiting", "Commits that are not stored yet.", waiting)
    yield from _one("roomful_tasks", "Tasks on the event loop.", len(asyncio.all_tasks()))


async def _queued(desk: Desk) -> list[str]:
    """Left out while the database does not answer."""
    with contextlib.suppress(RoomfulError):
        count = len(await desk.house.store.unowned_runs())
        return list(_one("roomful_runs_queued", "Runs that no process drives yet, up to a bound.", count))
    return []


def _since_the_start(desk: Desk) -> Iterator[str]:
    watch, store = desk.house.watch, desk.house.store.figures()
    runs = {f'status="{status}",reason="{reason}"': n for (status, reason), n in watch.runs_ended.items()}
    calls = {f'executor="{kind}",outcome="{what}"': n for (kind, what), n in watch.calls.items()}
    by_kind = {f'executor="{kind}"': seconds for kind, seconds in watch.call_seconds.items()}
    yield from _counts("roomful_runs_ended_total", "Runs that ended here.", runs)
    yield from _counts(
        "roomful_runs_waited_total", "Times a run began to wait.", _by("reason", watch.runs_waited)
    )
    yield from _histogram("roomful_run_seconds", "From trigger to end, waiting included.", watch.run_seconds)
    yield from _one("roomful_leases_lost_total", "Runs that another process took over.", watch.leases_lost)
    yield from _counts("roomful_model_steps_total", "Requests to models.", _by("outcome", watch.steps))
    yield from _histogram(
        "roomful_model_first_seconds", "Until a model says its first word.", watch.first_seconds
    )
    yield from _counts("roomful_tokens_total", "Tokens that models told of.", _by("kind", watch.tokens))
    yield from _counts("roomful_tool_calls_total", "Tools executed.", calls)
    yield from _histograms("roomful_tool_seconds", "Until a tool gives its outcome.", by_kind)
    yield from _one("roomful_egress_refused_total", "Tool requests not let out.", watch.egress_refused)
    yield from _counts("roomful_streams_cut_total", "Streams ended here.", _by("reason", watch.streams_cut))
    yield from _counts("roomful_http_requests_total", "Requests answered.", _by("status", watch.requests))
    yield from _histogram(
        "roomful_http_seconds", "Until an answer is ready or a stream opens.", watch.request_seconds
    )
    yield from _counts(
        "roomful_rate_limited_total", "Requests over a limit.", _by("limit", desk.house.limits.refused)
    )
    yield from _one("roomful_messages_stored_total", "Messages stored.", store.messages_stored)
    yield from _histogram("roomful_store_batch_commits", "Commits stored together.", store.batch_sizes)
    yield from _histogram("roomful_store_batch_seconds", "Until a batch is synced.", store.batch_seconds)


def _of_the_process() -> Iterator[str]:
    yield from _one("process_cpu_seconds_total", "User and system time spent.", round(time.process_time(), 3))
    if (memory := _resident_bytes()) is not None:
        yield from _one("process_resident_memory_bytes", "Resident memory.", memory)


def _by(label: str, counts: Mapping[str, int]) -> dict[str, int]:
    return {f'{label}="{value}"': count for value, count in counts.items()}


def _head(name: str, says: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {says}"
    yield f"# TYPE {name} {kind}"


def _one(name: str, says: str, value: float) -> Iterator[str]:
    yield from _head(name, says, "counter" if name.endswith("_total") else "gauge")
    yield f"{name} {value}"


def _counts(name: str, says: str, counts: Mapping[str, int]) -> Iterator[str]:
    yield from _head(name, says, "counter")
    for labels, count in counts.items():
        yield f"{name}{{{labels}}} {count}"


def _histogram(name: str, says: str, histogram: Histogram) -> Iterator[str]:
    return _histograms(name, says, {"": histogram})


def _histograms(name: str, says: str, histograms: Mapping[str, Histogram]) -> Iterator[str]:
    yield from _head(name, says, "histogram")
    for labels, histogram in histograms.items():
        count = 0
        for bound, more in zip((*histogram.bounds, "+Inf"), histogram.counts, strict=True):
            count += more
            yield f'{name}_bucket{{{labels + "," if labels else ""}le="{bound}"}} {count}'
        braced = f"{{{labels}}}" if labels else ""
        yield f"{name}_sum{braced} {round(histogram.total, 6)}"
        yield f"{name}_count{braced} {count}"


def _resident_bytes() -> int | None:
    """Linux says it; elsewhere the figure is left out."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    return None


ROUTES: tuple[AnyRoute, ...] = (
    Route("GET", "/metrics", get_metrics, OBSERVES, "Figures for Prometheus", answer=bytes),
)
