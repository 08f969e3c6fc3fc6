"""`{{name}}` and `${env.NAME}` in an author's text, filled in once.

Only the author's text is ever searched for them. A value is put in as it is and never looked at again, so
nothing that a model writes can name another argument or a secret. A path walks through objects and lists by
key and index, never through attributes.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from roomful.domain.errors import Invalid
from roomful.domain.shape import Json, encode_json
from roomful.tools.reading import as_list, as_object, children_of

Env: TypeAlias = Callable[[str], str]
"""Gives the value of a name the operator listed for this tool; raises for every other name."""

LARGEST_EXPANDED = 10 * 1024 * 1024
LONGEST_HEADER = 8 * 1024

_STEP = r"[\w$-]+"
_TOKEN = re.compile(
    r"\{\{[ \t]*(?P<path>"
    + _STEP
    + r"(?:\."
    + _STEP
    + r")*)[ \t]*\}\}|\$\{env\.(?P<env>[A-Za-z_][A-Za-z0-9_]*)\}"
)
_LEFTOVER = re.compile(r"\{\{|\$\{")
_NOT_IN_HEADER = re.compile("[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")


class TemplateError(Invalid):
    """What came out may not be sent. Names the place, never a value."""


class Argument(NamedTuple):
    written: str
    path: tuple[str, ...]


class Secret(NamedTuple):
    written: str
    name: str


Piece: TypeAlias = str | Argument | Secret


def pieces(text: str) -> tuple[Piece, ...]:
    """The text cut into what stands there and what is to be filled in."""
    found: list[Piece] = []
    end = 0
    for match in _TOKEN.finditer(text):
        if match.start() > end:
            found.append(text[end : match.start()])
        found.append(_placeholder(match))
        end = match.end()
    if end < len(text):
        found.append(text[end:])
    return tuple(found)


def _placeholder(match: re.Match[str]) -> Argument | Secret:
    if match["env"] is not None:
        return Secret(match[0], match["env"])
    path = tuple(match["path"].split("."))
    return Argument(match[0], path[1:] if path[0] == "input" else path)


def texts_in(value: Json) -> Iterator[str]:
    """Every string of a template, the keys of its objects left out."""
    if isinstance(value, str):
        yield value
    for child in children_of(value):
        yield from texts_in(child)


def keys_in(value: Json) -> Iterator[str]:
    yield from as_object(value) or {}
    for child in children_of(value):
        yield from keys_in(child)


def arguments_in(value: Json) -> list[Argument]:
    """All that a template takes from the input."""
    return [piece for text in texts_in(value) for piece in pieces(text) if isinstance(piece, Argument)]


def secrets_in(value: Json) -> list[Secret]:
    """All that a template takes from the environment."""
    return [piece for text in texts_in(value) for piece in pieces(text) if isinstance(piece, Secret)]


def broken_in(value: Json) -> str | None:
    """The beginning of something that looks like a placeholder and is none, or None."""
    for text in texts_in(value):
        for piece in pieces(text):
            if isinstance(piece, str) and (match := _LEFTOVER.search(piece)):
                return piece[match.start() : match.start() + 24]
    return None


def expand(value: Json, args: Mapping[str, Json], env: Env) -> Json:
    """A body or an output. A string that is one placeholder alone becomes the value itself, with its type;
    inside a longer string it is written as text. What is missing is null."""
    return _expand(value, Filling(args, env))


def expand_text(text: str, args: Mapping[str, Json], env: Env) -> str:
    """Always a string; what is missing or null is empty."""
    filling = Filling(args, env)
    return "".join(filling.text(piece, none="") for piece in pieces(text))


def expand_headers(headers: Mapping[str, str], args: Mapping[str, Json], env: Env) -> dict[str, str]:
    """Header values; one that would end the header is refused."""
    return {name: _header(name, expand_text(text, args, env)) for name, text in headers.items()}


def _header(name: str, value: str) -> str:
    if _NOT_IN_HEADER.search(value):
        raise TemplateError(f"the header {name} would have a line break or a control character in it")
    if len(value) > LONGEST_HEADER:
        raise TemplateError(f"the header {name} would be longer than {LONGEST_HEADER} characters")
    return value.strip(" \t")


def _expand(value: Json, filling: "Filling") -> Json:
    if isinstance(value, str):
        found = pieces(value)
        if len(found) == 1 and isinstance(found[0], Argument):
            return filling.typed(found[0])
        return "".join(filling.text(piece, none="null") for piece in found)
    inner = as_object(value)
    if inner is not None:
        return {key: _expand(item, filling) for key, item in inner.items()}
    items = as_list(value)
    return [_expand(item, filling) for item in items] if items is not None else value


class Filling:
    """Looks values up and counts what they come to: a short template may name a long value many times."""

    def __init__(self, args: Mapping[str, Json], env: Env) -> None:
        self._args = dict(args)
        self._env = env
        self._left = LARGEST_EXPANDED
        self._sizes: dict[tuple[str, ...], int] = {}

    def typed(self, argument: Argument) -> Json:
        value = self._find(argument)
        if argument.path not in self._sizes:
            self._sizes[argument.path] = _size(argument, value)
        self._spend(self._sizes[argument.path])
        return value

    def text(self, piece: Piece, none: str) -> str:
        match piece:
            case Argument():
                value = self._find(piece)
                text = none if value is None else as_text(value, piece.written)
            case Secret():
                text = self._env(piece.name)
            case _:
                text = piece
        self._spend(len(text))
        return text

    def _find(self, argument: Argument) -> Json:
        value: Json = self._args
        for step in argument.path:
            inner, items = as_object(value), as_list(value)
            if inner is not None and step in inner:
                value = inner[step]
            elif items is not None and step.isdecimal() and len(step) < 7 and int(step) < len(items):
                value = items[int(step)]
            else:
                return None
        return value

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise TemplateError(f"what came out is larger than {LARGEST_EXPANDED // 1024 // 1024} MiB")


def _size(argument: Argument, value: Json) -> int:
    if isinstance(value, str):
        return len(value)
    try:
        return len(encode_json(value))
    except (ValueError, TypeError, OverflowError, RecursionError, UnicodeError):
        raise TemplateError(f"{argument.written} is not a value that can be written as JSON") from None


def as_text(value: Json, written: str = "a value") -> str:
    """A value inside a longer text: a string as it is, everything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise TemplateError(f"{written} is not a number that can be written")
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        raise TemplateError(f"{written} is not a value that can be written as JSON") from None
