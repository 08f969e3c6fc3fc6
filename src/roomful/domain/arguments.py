"""A call's arguments as they grow: what is complete, and how far the value now being written has come.

Nothing is ever taken back, so a mark is two numbers, and the arguments as they stood at any mark can be
built later, only if somebody asks.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias, cast

import msgspec

from roomful.domain.shape import Json

Op: TypeAlias = tuple[Literal["append", "set"], str, Json]
"""`append` adds characters to the string at a JSON pointer, making it if need be; `set` puts a value."""


class Growth(msgspec.Struct, frozen=True):
    """An argument that is being written: the one at a JSON pointer, of a call that a run makes."""

    run_id: str
    call_id: str
    path: str


def pointer(key: str) -> str:
    return "/" + key.replace("~", "~0").replace("/", "~1")


def unpointer(path: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]


class Arguments:
    __slots__ = ("_key", "_pairs", "_pieces", "mark")

    def __init__(self) -> None:
        self._pairs: list[tuple[str, Json]] = []
        self._key: str | None = None
        self._pieces: list[str] = []
        self.mark = (0, -1)
        """Where the arguments stand now: how many are complete, and the length of the text that is being
        written; -1 when none is."""

    @staticmethod
    def of(args: dict[str, Json]) -> "Arguments":
        """Those of somebody who came later; each may still grow."""
        arguments = Arguments()
        for key, value in args.items():
            arguments.put(key, value)
        return arguments

    def grow(self, ops: Sequence[Op]) -> None:
        """The same as operations say it."""
        for kind, path, value in ops:
            [key] = unpointer(path)
            if self._key is not None and (kind == "set" or key != self._key):
                self.end_text()
            if kind == "set":
                self.put(key, value)
                continue
            if self._key is None:
                before = dict(self._pairs).get(key, "")
                self.begin_text(key)
                self.append(before)
            self.append(value)

    def begin_text(self, key: str) -> None:
        self._key, self._pieces, self.mark = key, [], (len(self._pairs), 0)

    def append(self, text: str) -> None:
        self._pieces.append(text)
        complete, length = self.mark
        self.mark = complete, length + len(text)

    def end_text(self) -> None:
        assert self._key is not None
        self._pairs.append((self._key, "".join(self._pieces)))
        self._key, self._pieces, self.mark = None, [], (len(self._pairs), -1)

    def put(self, key: str, value: Json) -> None:
        self._pairs.append((key, value))
        self.mark = len(self._pairs), -1

    def at(self, mark: tuple[int, int]) -> dict[str, Json]:
        """The arguments as they stood at a mark."""
        complete, length = mark
        args = dict(self._pairs[:complete])
        if length >= 0:
            if complete < len(self._pairs):
                key, value = self._pairs[complete]
            else:
                assert self._key is not None
                key, value = self._key, "".join(self._pieces)
            args[key] = value[:length]
        return args


def apply_ops(args: Json, ops: Sequence[Op]) -> Json:
    """The same growth on plain values, for a reader who has only the operations."""
    for kind, path, value in ops:
        args = _grown(args, unpointer(path), kind, value)
    return args


def _grown(target: Json, path: list[str], kind: str, value: Json) -> Json:
    if not path:
        return value if kind == "set" else (target or "") + value
    step, rest = path[0], path[1:]
    if isinstance(target, list):
        items = cast("list[Json]", target)
        at = int(step)
        if at == len(items):
            items.append(None)
        items[at] = _grown(items[at], rest, kind, value)
        return items
    fields = cast("dict[str, Json]", target if isinstance(target, dict) else {})
    fields[step] = _grown(fields.get(step), rest, kind, value)
    return fields
