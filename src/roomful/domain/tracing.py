"""Where time goes, told as spans to whoever collects them. A span holds ids, names and numbers: never what
somebody said, an argument, a result or a secret."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol, TypeAlias

Facts: TypeAlias = Mapping[str, str | int | float]


class Span(Protocol):
    def note(self, facts: Facts) -> None: ...
    def fail(self, code: str) -> None:
        """What it stands for went wrong; `code` is one of the house's own."""
        ...


class Tracer(Protocol):
    """A span lies in the one that its task is in, or the task that started it; or in one from elsewhere whose
    name is `under`, a traceparent of the W3C. What is no such name is as if there were none. Nothing here
    raises or waits."""

    def span(self, name: str, facts: Facts, under: str = "") -> AbstractContextManager[Span]: ...
    def here(self) -> str:
        """The name, for elsewhere, of the span that this task is in; empty when there is none."""
        ...

    async def close(self) -> None:
        """Sends what was not sent yet, if that takes little time."""
        ...


class _Nothing:
    def __enter__(self) -> Span:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def note(self, facts: Facts) -> None:
        pass

    def fail(self, code: str) -> None:
        pass


class NoTracer:
    """Tells nobody."""

    _nothing = _Nothing()

    def span(self, name: str, facts: Facts, under: str = "") -> AbstractContextManager[Span]:
        return self._nothing

    def here(self) -> str:
        return ""

    async def close(self) -> None:
        pass


UNTRACED = NoTracer()
