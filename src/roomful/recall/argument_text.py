"""A call's arguments as JSON text that only ever grows, for protocols that stream it so.

What is left open can be closed by any reader who repairs unfinished JSON: the last string and the object.
"""

from collections.abc import Mapping, Sequence

from roomful.domain.arguments import Op, unpointer
from roomful.domain.shape import Json, encode_json


class ArgumentText:
    """The same arguments always give the same text, in whatever pieces they came."""

    __slots__ = ("_is_empty", "_writing")

    def __init__(self) -> None:
        self._is_empty = True
        self._writing: str | None = None
        """The key of the string that may still grow."""

    def begin(self, args: Mapping[str, Json]) -> str:
        """The text of those that are there already."""
        return "{" + "".join([self._put(key, value) for key, value in args.items()])

    def grow(self, ops: Sequence[Op]) -> str:
        pieces: list[str] = []
        for kind, path, value in ops:
            [key] = unpointer(path)
            is_more = kind == "append" and key == self._writing
            pieces.append(_inside(value) if is_more else self._put(key, value))
        return "".join(pieces)

    def end(self) -> str:
        return self._close() + "}"

    def _put(self, key: str, value: Json) -> str:
        head = self._close() + ("" if self._is_empty else ",") + encode_json(key).decode() + ":"
        self._is_empty = False
        if isinstance(value, str):
            self._writing = key
            return f'{head}"{_inside(value)}'
        return head + encode_json(value).decode()

    def _close(self) -> str:
        is_open, self._writing = self._writing is not None, None
        return '"' if is_open else ""


def _inside(text: str) -> str:
    return encode_json(text).decode()[1:-1]
