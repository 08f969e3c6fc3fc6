"""What an operator is shown of runs: figures always, spans where somebody collects them, and in the log which
run something is about."""

from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from roomful.domain.agents import ModelRef
from roomful.domain.deltas import ModelFailed
from roomful.domain.outcomes import Failed, Outcome
from roomful.domain.runs import Call, Run
from roomful.domain.shape import UNSET
from roomful.domain.tools import ToolSpec
from roomful.domain.tracing import UNTRACED, Span, Tracer
from roomful.domain.usage import Usage
from roomful.domain.watch import Watch
from roomful.routing.router import StepSaid
from roomful.spaces.voice import Voice

AT_WORK: ContextVar[Run | None] = ContextVar("run at work", default=None)
"""The run that a task is driving."""


class Watching:
    def __init__(self, watch: Watch | None = None, tracer: Tracer = UNTRACED) -> None:
        self.watch = watch or Watch()
        self.tracer = tracer

    def driven(self, drive: Callable[[Voice], Awaitable[None]]) -> Callable[[Voice], Awaitable[None]]:
        """The same, seen. A run that waited goes on as another span with the same one above it."""

        async def watched(voice: Voice) -> None:
            run = voice.run
            AT_WORK.set(run)
            with self.tracer.span("run", about(run), run.trace or "") as span:
                if run.trace is UNSET:
                    run.trace = self.tracer.here() or UNSET
                await drive(voice)
                span.note({"roomful.run.status": run.status})
                if run.error is not UNSET:
                    span.fail(run.error.code)

        return watched

    @contextmanager
    def asked(self, run: Run, model: ModelRef, step: int) -> Generator["Asked"]:
        """A model is being asked."""
        facts = {**about(run), "roomful.step": step, "gen_ai.request.model": model.name}
        with self.tracer.span("model", facts) as span:
            try:
                yield Asked(self.watch, span)
            except ModelFailed as failure:
                self.watch.steps["failed"] += 1
                span.fail(failure.code)
                raise
            self.watch.steps["answered"] += 1

    def said(self, said: StepSaid, tools: Mapping[str, ToolSpec]) -> None:
        """A step is over. Those of its calls that wait for people are executed nowhere, or later."""
        self.watch.spent(said.usage)
        for call in said.calls:
            if call.status == "waiting" and (spec := tools.get(call.tool_name)) is not None:
                self.watch.calls[_kind(spec), "waiting"] += 1

    @contextmanager
    def called(self, call: Call, spec: ToolSpec, run: Run) -> Generator["Called"]:
        """A tool is being executed, and what it leads to is begun."""
        facts = {**about(run), "roomful.call.id": call.id, "roomful.tool": spec.name}
        with self.tracer.span("tool", facts) as span:
            yield Called(self.watch, span, spec)


class Asked:
    def __init__(self, watch: Watch, span: Span) -> None:
        self._watch = watch
        self._span = span
        self._began = watch.steady()

    def heard(self) -> None:
        """The first of what it says."""
        seconds = self._watch.steady() - self._began
        self._watch.first_seconds.note(seconds)
        self._span.note({"roomful.first_seconds": seconds})

    def used(self, usage: Usage) -> None:
        self._span.note(
            {
                "gen_ai.usage.input_tokens": usage.input_tokens,
                "gen_ai.usage.output_tokens": usage.output_tokens,
            }
        )


class Called:
    def __init__(self, watch: Watch, span: Span, spec: ToolSpec) -> None:
        self._watch = watch
        self._span = span
        self._kind = _kind(spec)
        self._began = watch.steady()

    def came(self, outcome: Outcome) -> None:
        what = type(outcome).__name__.lower()
        self._watch.calls[self._kind, what] += 1
        self._watch.call_seconds[self._kind].note(self._watch.steady() - self._began)
        self._span.note({"roomful.executor": self._kind, "roomful.outcome": what})
        if isinstance(outcome, Failed):
            self._span.fail("failed")


def _kind(spec: ToolSpec) -> str:
    return str(spec.executor.__struct_config__.tag)


def about(run: Run) -> dict[str, str | int | float]:
    """Who is at work, and where."""
    facts: dict[str, str | int | float] = {"roomful.run.id": run.id, "roomful.agent.id": run.agent_id}
    if space_id := run.active_space_id or run.trigger.space_id:
        facts["roomful.space.id"] = space_id
    return facts
