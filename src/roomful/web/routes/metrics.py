"""Figures of this process in Prometheus' text format."""

import asyncio
import contextlib
import resource
import time
from pathlib import Path

from starlette.responses import Response
from starlette.types import ASGIApp

from roomful.web.ask import AnyRoute, Ask, Route
from roomful.web.desk import Desk
from roomful.web.headers import API_HEADERS
from roomful.web.queries import NoQuery
from roomful.web.rules import OBSERVES

TEXT = "text/plain; version=0.0.4; charset=utf-8"


async def get_metrics(ask: Ask[None, NoQuery, None]) -> ASGIApp:
    text = "".join(_lines(*figure) for figure in _figures(ask.desk))
    return Response(text, 200, {**API_HEADERS, "content-type": TEXT})


def _lines(name: str, says: str, value: float) -> str:
    kind = "counter" if name.endswith("_total") else "gauge"
    return f"# HELP {name} {says}\n# TYPE {name} {kind}\n{name} {value}\n"


def _figures(desk: Desk) -> list[tuple[str, str, float]]:
    store = desk.house.store.figures()
    figures: list[tuple[str, str, float]] = [
        ("roomful_runs_active", "Runs that this process drives now.", desk.house.worker.driving),
        ("roomful_streams_open", "Event streams that are open.", len(desk.readers)),
        ("roomful_messages_stored_total", "Messages stored since the start.", store.messages_stored),
        ("roomful_store_commits_waiting", "Commits that are not stored yet.", store.commits_waiting),
        ("roomful_tasks", "Tasks on the event loop.", len(asyncio.all_tasks())),
        ("process_cpu_seconds_total", "User and system time spent.", round(time.process_time(), 3)),
    ]
    if (memory := _resident_bytes()) is not None:
        figures.append(("process_resident_memory_bytes", "Resident memory.", memory))
    return figures


def _resident_bytes() -> int | None:
    """Linux says it; elsewhere the figure is left out."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    return None


ROUTES: tuple[AnyRoute, ...] = (
    Route("GET", "/metrics", get_metrics, OBSERVES, "Figures for Prometheus", answer=bytes),
)
