"""Takes a decoded JSON object apart field by field: asks for types, refuses what it does not know."""

import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar, cast

from roomful.domain.errors import Invalid
from roomful.domain.shape import Json, check_id
from roomful.tools.problems import Problems

T = TypeVar("T")

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def as_object(value: Json) -> dict[str, Json] | None:
    """The value as a JSON object, or None when it is something else."""
    return cast("dict[str, Json]", value) if isinstance(value, dict) else None


def as_list(value: Json) -> list[Json] | None:
    return cast("list[Json]", value) if isinstance(value, list) else None


def children_of(value: Json) -> list[Json]:
    """What an object or a list holds; nothing for other values."""
    inner = as_object(value)
    return list(inner.values()) if inner is not None else as_list(value) or []


def kind_of(value: Json) -> str:
    """What a value is, in an author's words."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return f"a {type(value).__name__}"


def one_of(words: Iterable[str]) -> str:
    *rest, last = [f'"{word}"' for word in words]
    return f"{', '.join(rest)} or {last}" if rest else last


class Fields:
    """One object of a configuration. A wrong value is noted as a problem and read as absent."""

    def __init__(
        self,
        values: Mapping[str, Json],
        problems: Problems,
        *,
        tool: str = "",
        path: str = "",
        at: str = "",
    ) -> None:
        """`path` leads here from the tool, or from the agent, `at` from the root of the file."""
        self.values = values
        self.problems = problems
        self.tool = tool
        self.path = path
        self.at = at

    def refuse(self, key: str, message: str) -> None:
        self.problems.add(self.tool, _joined(self.path, key), message, _joined(self.at, key))

    def below(self, key: str, values: Mapping[str, Json], named: str = "") -> "Fields":
        """An object in here; `named` is how a tool's author knows it better than by its key."""
        path, at = _joined(self.path, named or key), _joined(self.at, key)
        return Fields(values, self.problems, tool=self.tool, path=path, at=at)

    def has(self, key: str) -> bool:
        """Written and not null."""
        return self.values.get(key) is not None

    def only(self, known: Iterable[str], instead: Mapping[str, str] | None = None) -> None:
        """Refuse every other field by its name; `instead` says what to write for well-known wrong ones."""
        names = list(known)
        for key in self.values:
            if key not in names and not self.problems.full:
                self.refuse(key, _unknown(key, names, instead or {}))

    def raw(self, key: str) -> Json:
        return self.values.get(key)

    def text(
        self,
        key: str,
        *,
        required: bool = False,
        longest: int = 2048,
        check: Callable[[str], str | None] | None = None,
        example: str = "",
    ) -> str | None:
        """A string; `check` says what is wrong with it, or None."""
        value = self.values.get(key)
        wanted = f'write a string, as in "{example}"' if example else "write a string"
        if value is None:
            if required:
                self.refuse(key, f"is missing: {wanted}")
            return None
        if not isinstance(value, str):
            return self.refuse(key, f"is {kind_of(value)}: write a string, in quotes")
        if required and not value.strip():
            return self.refuse(key, f"is empty: {wanted}")
        if len(value) > longest:
            return self.refuse(key, f"is {len(value)} characters long: write at most {longest}")
        if _CONTROL.search(value):
            return self.refuse(key, "has a control character in it: write it without")
        wrong = check(value) if check else None
        return self.refuse(key, wrong) if wrong else value

    def identifier(self, key: str) -> str | None:
        return self.text(key, check=wrong_id)

    def flag(self, key: str) -> bool | None:
        value = self.values.get(key)
        if value is None or isinstance(value, bool):
            return value
        return self.refuse(key, f"is {kind_of(value)}: write true or false")

    def number(
        self, key: str, *, most: float, whole: bool = False, unit: str = "", or_zero: bool = False
    ) -> float | None:
        """Above zero, or zero where that says something, and at most `most`."""
        value = self.values.get(key)
        if value is None:
            return None
        least = "of 0 or more" if or_zero else "above 0"
        wanted = f"write a {'whole ' if whole else ''}number{f' of {unit}' if unit else ''}"
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return self.refuse(key, f"is {kind_of(value)}: {wanted}")
        is_too_small = value < 0 or (value == 0 and not or_zero)
        if not math.isfinite(value) or is_too_small or value > most or (whole and value != int(value)):
            return self.refuse(
                key, f"is out of range: {wanted} {least} and at most {most:,g}".replace(",", " ")
            )
        return value

    def choice(self, key: str, words: Mapping[str, T], instead: Mapping[str, str] | None = None) -> T | None:
        """What the word stands for; `instead` says what to write for well-known wrong ones."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            return self.refuse(key, f"is {kind_of(value)}: write {one_of(words)}")
        if value not in words:
            advice = (instead or {}).get(
                _plain(value[:60])
            ) or f"write {one_of(words)}{did_you_mean(value, words)}"
            return self.refuse(key, f"is {value[:60]!r}: {advice}")
        return words[value]

    def inner(self, key: str) -> "Fields | None":
        value = self.values.get(key)
        if value is None:
            return None
        inner = as_object(value)
        if inner is None:
            return self.refuse(key, f"is {kind_of(value)}: write an object")
        return self.below(key, inner)

    def items(self, key: str, of: str = "") -> list[Json]:
        """A list; `of` says of what, to somebody who wrote something else."""
        value = self.values.get(key)
        if value is None:
            return []
        items = as_list(value)
        if items is None:
            self.refuse(key, f"is {kind_of(value)}: write a list{f' of {of}' if of else ''}")
        return items or []

    def texts(self, key: str, check: Callable[[str], str | None] | None = None) -> tuple[str, ...] | None:
        """A list of strings that is not empty."""
        if self.values.get(key) is None:
            return None
        items = as_list(self.values[key])
        if not items or not all(isinstance(item, str) and item for item in items):
            return self.refuse(key, 'is not a list of strings: write at least one, as in ["a", "b"]')
        wrong = next((wrong for item in items if check and (wrong := check(item))), None)
        return self.refuse(key, wrong) if wrong else tuple(items)

    def text_map(self, key: str) -> dict[str, str]:
        """An object of strings."""
        inner = self.inner(key)
        if inner is None:
            return {}
        return {name: text for name in inner.values if (text := inner.text(name, longest=8192)) is not None}


def wrong_id(value: str) -> str | None:
    try:
        check_id(value)
    except Invalid as error:
        return error.detail
    return None


def _unknown(key: str, known: list[str], instead: Mapping[str, str]) -> str:
    plain = {_plain(name): advice for name, advice in instead.items()}
    if _plain(key[:80]) in plain:
        return f"is not a field here: {plain[_plain(key)]}"
    hint = did_you_mean(key, known)
    return f"is not a field here{hint or ': leave it out. Known are ' + ', '.join(known)}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The nearest of the known words, or the one that the word begins."""
    plain = {_plain(name): name for name in known}
    written = _plain(word[:80])
    close = difflib.get_close_matches(written, plain, n=1, cutoff=0.65)
    close += [name for name in plain if len(written) > 2 and name.startswith(written)]
    return f'. Did you mean "{plain[close[0]]}"?' if close else ""


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path and key else path or key


def _plain(word: str) -> str:
    return word.replace("_", "").replace("-", "").lower()
