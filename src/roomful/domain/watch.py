"""What this process did since it began, in figures. To note one is an addition, and nothing is noted for each
delta. What figures are told apart by is a short list of words: never somebody's id, never a text."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import datetime
from time import monotonic

from roomful.domain.runs import WAITING, Run
from roomful.domain.shape import UNSET
from roomful.domain.usage import Usage

SHORT = (0.005, 0.025, 0.1, 0.5, 2.5)
"""Seconds that a request or a commit takes."""
MIDDLE = (0.1, 0.5, 1.0, 2.5, 10.0, 30.0)
"""Seconds until a model or a tool answers."""
LONG = (1.0, 5.0, 15.0, 60.0, 300.0, 1800.0)
"""Seconds that a run takes."""
REASONS = frozenset(
    {
        *("conflict", "forbidden", "internal", "invalid", "limit", "not_found", "timeout", "unavailable"),
        *("model_cut", "model_error", "model_garbage", "model_refused", "model_rejected", "model_silent"),
        *("model_rate_limited", "model_too_large", "model_unavailable", "model_unreachable"),
    }
)
"""The codes of errors that runs end with by themselves; a script may have others."""


class Histogram:
    """How many values were at most so large, for a few sizes."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        """Between each bound and the one before; the last is above all of them."""
        self.total = 0.0

    def note(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Watch:
    def __init__(self, steady: Callable[[], float] = monotonic) -> None:
        """`steady` is the time in seconds by a clock that nobody can set."""
        self.steady = steady
        self.runs_ended = Counter[tuple[str, str]]()
        """By status and reason."""
        self.runs_waited = Counter[str]()
        self.run_seconds = Histogram(LONG)
        self.leases_lost = 0
        self.steps = Counter[str]()
        """By what became of them."""
        self.first_seconds = Histogram(MIDDLE)
        """Until a model says the first thing."""
        self.tokens = Counter[str]()
        self.calls = Counter[tuple[str, str]]()
        """By kind of executor and outcome."""
        self.call_seconds = defaultdict[str, Histogram](lambda: Histogram(MIDDLE))
        self.egress_refused = 0
        self.streams_cut = Counter[str]()
        self.requests = Counter[str]()
        """By class of status."""
        self.request_seconds = Histogram(SHORT)

    def left(self, run: Run) -> None:
        """A run ended here, or began to wait."""
        if run.status in WAITING:
            self.runs_waited[run.status.removeprefix("waiting_")] += 1
        elif run.ended_at is not UNSET:
            code = run.error.code if run.error is not UNSET else ""
            self.runs_ended[run.status, code if code in REASONS else "other" if code else "none"] += 1
            took = datetime.fromisoformat(run.ended_at) - datetime.fromisoformat(run.created_at)
            self.run_seconds.note(max(0.0, took.total_seconds()))

    def spent(self, usage: Usage) -> None:
        self.tokens["input"] += usage.input_tokens
        self.tokens["output"] += usage.output_tokens

    def answered(self, status: int, began: float) -> None:
        self.requests[f"{status // 100}xx"] += 1
        self.request_seconds.note(self.steady() - began)

    def refused(self) -> None:
        """A tool's request was not let out."""
        self.egress_refused += 1
